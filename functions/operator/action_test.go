package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/shared/mm2"
	"tidemark/shared/operate"
	"tidemark/shared/watermark"
	"tidemark/shared/watermark/watermarktest"
)

// clusters answer about one topic of two partitions.
type clusters struct{}

func (clusters) listed(offset int64) (kadm.ListedOffsets, error) {
	return kadm.ListedOffsets{"orders": {0: {Topic: "orders", Offset: offset}, 1: {Topic: "orders", Partition: 1, Offset: offset}}}, nil
}

func (clusters) ListTopics(context.Context, ...string) (kadm.TopicDetails, error) {
	return kadm.TopicDetails{"orders": {Topic: "orders", Partitions: kadm.PartitionDetails{0: {Topic: "orders"}, 1: {Topic: "orders", Partition: 1}}}}, nil
}

func (c clusters) ListStartOffsets(context.Context, ...string) (kadm.ListedOffsets, error) {
	return c.listed(0)
}

func (c clusters) ListEndOffsets(context.Context, ...string) (kadm.ListedOffsets, error) {
	return c.listed(20)
}

func (c clusters) ListCommittedOffsets(context.Context, ...string) (kadm.ListedOffsets, error) {
	return c.listed(20)
}

var orders = mm2.TopicPartition{Topic: "orders"}

// stalled returns a store with a released partition that is stalled at 10 under epoch 1.
func stalled(t *testing.T) *watermarktest.Memory {
	t.Helper()
	m := &watermarktest.Memory{}
	now := time.Now().Add(-time.Hour)
	g, err := m.Claim(t.Context(), watermark.Claim{Partition: orders, Owner: "a", Producer: 1, Now: now, Deadline: now})
	if err != nil {
		t.Fatal(err)
	}
	s := g.State
	s.Owner, s.OwnerDeadline, s.Producers, s.Next, s.DownstreamNext = "", time.Time{}, nil, 10, 10
	s.Stall = &watermark.Stall{Offset: 10, Kind: watermark.Refused, Reason: "too large"}
	if err := m.Commit(t.Context(), watermark.Commit{Owner: "a", From: watermark.None, State: s}); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestActions plays events against a partition that is stalled at 10 under epoch 1.
func TestActions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, event string
		next        int64
		want        string // what the error says; empty: none
	}{
		{"status", `{"action":"status"}`, 10, ""},
		{"retry", `{"action":"release","how":"retry","topic":"orders","partition":0,"epoch":1}`, 10, ""},
		{"skip", `{"action":"release","how":"skip","topic":"orders","partition":0,"offset":10,"epoch":1}`, 11, ""},
		{"position", `{"action":"set-position","topic":"orders","partition":0,"offset":3,"epoch":1}`, 3, ""},
		{"a state of before", `{"action":"release","how":"retry","topic":"orders","partition":0,"epoch":0}`, 10, "has changed since"},
		{"no epoch", `{"action":"release","how":"retry","topic":"orders","partition":0}`, 10, "needs topic, partition, and the epoch"},
		{"skip without an offset", `{"action":"release","how":"skip","topic":"orders","partition":0,"epoch":1}`, 10, "not known"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := stalled(t)
			var log strings.Builder
			o := operator{
				flow: operate.Flow{
					Source: clusters{}, Target: clusters{}, States: m,
					Topics: func(string) bool { return true }, Remote: func(topic string) (string, error) { return topic, nil },
				},
				task: operate.NewTask(m, audit(slog.New(slog.NewJSONHandler(&log, nil)))),
			}
			var event action
			if err := json.Unmarshal([]byte(test.event), &event); err != nil {
				t.Fatal(err)
			}
			all, err := serve(t.Context(), o, event)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("err = %v, want one that says %q", err, test.want)
			}
			partitions := 1
			if test.name == "status" {
				partitions = 2
			}
			if err == nil && (len(all) != partitions || all[0].Next != test.next) {
				t.Errorf("answer = %+v, want %d partitions, next %d", all, partitions, test.next)
			}
			if changed := err == nil && test.name != "status"; changed != strings.Contains(log.String(), `"msg":"audit"`) {
				t.Errorf("audit = %s, changed %t", log.String(), changed)
			}
		})
	}
}

// broken is a source that answers nothing.
type broken struct{ clusters }

var errDown = errors.New("no broker answers")

func (broken) ListTopics(context.Context, ...string) (kadm.TopicDetails, error) { return nil, errDown }

// TestDoneWithoutStatus: whoever asked must not take a change that was made for one that failed.
func TestDoneWithoutStatus(t *testing.T) {
	t.Parallel()
	m := stalled(t)
	o := operator{flow: operate.Flow{Source: broken{}, States: m}, task: operate.NewTask(m, audit(slog.New(slog.DiscardHandler)))}
	partition, epoch := int32(0), int64(1)
	_, err := serve(t.Context(), o, action{Action: "release", How: "retry", Topic: "orders", Partition: &partition, Epoch: &epoch})
	s, _ := m.Get(t.Context(), orders)
	if !errors.Is(err, errDown) || !strings.Contains(err.Error(), "release orders-0 is done") || s.Epoch != 2 {
		t.Errorf("err = %v, epoch %d, want one that says that it is done, 2", err, s.Epoch)
	}
}

// full is a log that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestAuditTellsOfALostLine(t *testing.T) {
	t.Parallel()
	if err := audit(slog.New(slog.NewJSONHandler(full{}, nil)))(t.Context(), operate.Entry{Action: "skip"}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("audit = %v, want %v", err, io.ErrShortWrite)
	}
}

// serve answers an action about partitions.
func serve(ctx context.Context, o operator, a action) ([]operate.Partition, error) {
	answer, err := o.serve(ctx, a)
	all, _ := answer.([]operate.Partition)
	return all, err
}
