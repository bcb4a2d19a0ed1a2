package main

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"tidemark/infra/local/bed"
	"tidemark/shared/watermark"
)

// TestSetup places a partition anew by the real adapters: embedded brokers, an embedded table.
func TestSetup(t *testing.T) {
	ctx := t.Context()
	b, err := bed.Start(ctx, bed.Options{})
	t.Cleanup(b.Close)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.CreateTopic(ctx, "orders", 2); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL_DYNAMODB": b.DynamoDB} {
		t.Setenv(name, value)
	}
	variables := map[string]string{
		"SOURCE_CLUSTER_ALIAS": "us", "SOURCE_BOOTSTRAP_SERVERS": strings.Join(b.Source, ","),
		"TARGET_CLUSTER_ALIAS": "eu", "TARGET_BOOTSTRAP_SERVERS": strings.Join(b.Target, ","), "STATE_TABLE": b.Table,
	}
	o, err := setup(ctx, func(name string) string { return variables[name] }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}

	now := time.Now()
	g, err := b.State.Claim(ctx, watermark.Claim{Partition: orders, Owner: "a", Producer: 1, Now: now, Deadline: now.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	s := g.State
	s.Owner, s.OwnerDeadline, s.Producers, s.Next, s.DownstreamNext = "", time.Time{}, nil, 10, 10
	if err := b.State.Commit(ctx, watermark.Commit{Owner: "a", From: watermark.None, State: s}); err != nil {
		t.Fatal(err)
	}

	all, err := serve(ctx, o, action{Action: "status"})
	if err != nil || len(all) != 2 || all[0].Next != 10 || all[0].SourceEnd != 0 || all[0].TargetEnd != watermark.None || all[1].Next != watermark.None {
		t.Fatalf("status = %+v, %v, want both partitions, the first at 10, no remote topic", all, err)
	}
	partition, position := int32(0), int64(0)
	all, err = serve(ctx, o, action{Action: "set-position", Topic: "orders", Partition: &partition, Offset: &position, Epoch: &all[0].Epoch})
	if err != nil || len(all) != 1 || all[0].Next != 0 || all[0].Epoch != 2 || all[0].Owner != "" || all[0].Unsettled {
		t.Errorf("set-position = %+v, %v, want the partition at 0, released under epoch 2", all, err)
	}
}
