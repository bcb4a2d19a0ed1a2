package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/bed"
	"tidemark/shared/checkpoint"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// world is both clusters and the table, with a topic of one partition whose records 0 to 9 are on the target at 0 to 9.
type world struct {
	*bed.Bed
	variables      map[string]string
	handler        func(context.Context, checkpoint.Tick) error
	source, target *kgo.Client
	minute         int
}

var orders = mm2.TopicPartition{Topic: "orders"}

func newWorld(t *testing.T, env map[string]string) *world {
	t.Helper()
	b, err := bed.Start(t.Context(), bed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	for name, value := range map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL_DYNAMODB": b.DynamoDB} {
		t.Setenv(name, value)
	}
	variables := map[string]string{
		"SOURCE_CLUSTER_ALIAS": "us", "SOURCE_BOOTSTRAP_SERVERS": strings.Join(b.Source, ","),
		"TARGET_CLUSTER_ALIAS": "eu", "TARGET_BOOTSTRAP_SERVERS": strings.Join(b.Target, ","), "STATE_TABLE": b.Table, "STALL_SECONDS": "1",
	}
	maps.Copy(variables, env)
	w := &world{Bed: b, variables: variables, source: client(t, b.Source), target: client(t, b.Target)}
	w.start(t)
	for _, side := range []struct {
		client *kgo.Client
		topic  string
	}{{w.source, "orders"}, {w.target, "us.orders"}} {
		if _, err := kadm.NewClient(side.client).CreateTopic(t.Context(), 1, 1, nil, side.topic); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if err := side.client.ProduceSync(t.Context(), &kgo.Record{Topic: side.topic, Value: fmt.Append(nil, i)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

// start begins a process of the function.
func (w *world) start(t *testing.T) {
	t.Helper()
	handler, err := setup(t.Context(), func(name string) string { return w.variables[name] }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w.handler = handler
}

func client(t *testing.T, brokers []string) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// mirrored writes the item that mirror leaves when upstream was the last record, at downstream on the target.
func (w *world) mirrored(t *testing.T, upstream, downstream int64) {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	g, err := w.State.Claim(ctx, watermark.Claim{Partition: orders, Owner: fmt.Sprint("mirror-", now.UnixNano()), Now: now, Deadline: now.Add(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	s := g.State
	if !s.Begun() {
		s.Next, s.DownstreamNext = 0, 0
		if err := w.State.Begin(ctx, watermark.Begin{Partition: orders, Epoch: s.Epoch, Owner: s.Owner}); err != nil {
			t.Fatal(err)
		}
	}
	from := s.Next
	owner := s.Owner
	s.Owner, s.OwnerDeadline, s.Producers = "", time.Time{}, nil
	s.Next, s.DownstreamNext, s.DownstreamLast = upstream+1, downstream+1, downstream
	err = w.State.Commit(ctx, watermark.Commit{Owner: owner, From: from, State: s})
	if err != nil {
		t.Fatal(err)
	}
}

// commit puts a group of the source at an offset.
func (w *world) commit(t *testing.T, group string, offset int64) {
	t.Helper()
	var o kadm.Offsets
	o.Add(kadm.Offset{Topic: orders.Topic, At: offset, LeaderEpoch: -1, Metadata: "note"})
	if err := kadm.NewClient(w.source).CommitAllOffsets(t.Context(), group, o); err != nil {
		t.Fatal(err)
	}
}

// tick runs the pass of the next minute.
func (w *world) tick(t *testing.T) {
	t.Helper()
	w.minute++
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := w.handler(ctx, checkpoint.Tick{Time: time.UnixMilli(int64(w.minute) * 60_000)}); err != nil {
		t.Fatalf("tick %d: %v", w.minute, err)
	}
}

// topic reads a topic of the target from its start.
func (w *world) topic(t *testing.T, topic string) []*kgo.Record {
	t.Helper()
	ends, err := kadm.NewClient(w.target).ListEndOffsets(t.Context(), topic)
	end, ok := ends.Lookup(topic, 0)
	if err = errors.Join(err, end.Err); err != nil || !ok {
		t.Fatalf("end of %s: %v", topic, err)
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(w.Target...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var all []*kgo.Record
	for int64(len(all)) < end.Offset {
		fetched := reader.PollFetches(t.Context())
		if err := fetched.Err(); err != nil {
			t.Fatal(err)
		}
		all = append(all, fetched.Records()...)
	}
	return all
}

func (w *world) checkpoints(t *testing.T) []mm2.Checkpoint {
	t.Helper()
	var all []mm2.Checkpoint
	for _, r := range w.topic(t, "us.checkpoints.internal") {
		c, err := mm2.DecodeCheckpoint(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func checkpointOf(group string, upstream, downstream int64) mm2.Checkpoint {
	return mm2.Checkpoint{TopicPartition: mm2.TopicPartition{Topic: "us.orders"}, Group: group, Upstream: upstream, Downstream: downstream, Metadata: "note"}
}

func TestPassesFollowMirrorAndGroups(t *testing.T) {
	w := newWorld(t, map[string]string{"GROUPS_EXCLUDE": "secret.*"})
	w.mirrored(t, 4, 4)
	w.commit(t, "app", 5)
	w.commit(t, "lagging", 2)
	w.commit(t, "secret-app", 5)
	w.commit(t, "tidemark.us+eu.orders", 5)
	w.tick(t)
	want := []mm2.Checkpoint{checkpointOf("app", 5, 5)} // one sync, at 4: what is older cannot be translated
	if diff := cmp.Diff(want, w.checkpoints(t)); diff != "" {
		t.Fatalf("checkpoints after the first pass (-want +got):\n%s", diff)
	}
	w.tick(t) // nothing moved
	w.mirrored(t, 9, 9)
	w.commit(t, "app", 10)
	w.tick(t)
	want = append(want, checkpointOf("app", 10, 10))
	if diff := cmp.Diff(want, w.checkpoints(t)); diff != "" {
		t.Errorf("checkpoints after the third pass (-want +got):\n%s", diff)
	}
	var syncs []mm2.OffsetSync
	for _, r := range w.topic(t, "mm2-offset-syncs.us.internal") {
		s, err := mm2.DecodeOffsetSync(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		syncs = append(syncs, s)
	}
	if diff := cmp.Diff([]mm2.OffsetSync{{TopicPartition: orders, Upstream: 4, Downstream: 4}, {TopicPartition: orders, Upstream: 9, Downstream: 9}}, syncs); diff != "" {
		t.Errorf("syncs (-want +got):\n%s", diff)
	}
	if beats := w.topic(t, "heartbeats"); len(beats) == 0 {
		t.Error("no heartbeat was written")
	}
}

func TestTickIsServedOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.tick(t)
	w.mirrored(t, 4, 4)
	w.commit(t, "app", 5)
	w.minute-- // the same tick again
	w.tick(t)
	if got := w.checkpoints(t); len(got) != 0 {
		t.Errorf("checkpoints %v by a tick that was served already, want none", got)
	}
}

// TestColdProcessReadsWhatTheLastOneWrote replaces the function between two passes.
func TestColdProcessReadsWhatTheLastOneWrote(t *testing.T) {
	w := newWorld(t, nil)
	w.mirrored(t, 4, 4)
	w.commit(t, "app", 5)
	w.tick(t)
	w.start(t)
	w.tick(t)
	w.commit(t, "app", 3) // a group that went back, to where no sync reaches
	w.tick(t)
	if diff := cmp.Diff([]mm2.Checkpoint{checkpointOf("app", 5, 5)}, w.checkpoints(t)); diff != "" {
		t.Errorf("checkpoints (-want +got):\n%s", diff)
	}
}
