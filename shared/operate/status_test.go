package operate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/shared/operate"
	"tidemark/shared/watermark"
	"tidemark/shared/watermark/watermarktest"
)

// admin answers about one topic of two partitions. The second one's leader does not answer.
type admin struct {
	topic              string
	start, stable, end int64
	err                error // of the first one
}

func (a admin) listed(offset int64) (kadm.ListedOffsets, error) {
	return kadm.ListedOffsets{a.topic: {0: {Topic: a.topic, Offset: offset, Err: a.err}}}, &kadm.ShardErrors{Name: "ListOffsets"}
}

func (a admin) ListTopics(_ context.Context, topics ...string) (kadm.TopicDetails, error) {
	if len(topics) > 0 && topics[0] != a.topic {
		return kadm.TopicDetails{topics[0]: {Topic: topics[0], Err: kerr.UnknownTopicOrPartition}}, nil
	}
	all := kadm.PartitionDetails{0: {Topic: a.topic, Partition: 0}, 1: {Topic: a.topic, Partition: 1}}
	return kadm.TopicDetails{a.topic: {Topic: a.topic, Partitions: all}}, nil
}

func (a admin) ListStartOffsets(context.Context, ...string) (kadm.ListedOffsets, error) {
	return a.listed(a.start)
}

func (a admin) ListEndOffsets(context.Context, ...string) (kadm.ListedOffsets, error) {
	return a.listed(a.end)
}

func (a admin) ListCommittedOffsets(context.Context, ...string) (kadm.ListedOffsets, error) {
	return a.listed(a.stable)
}

func flow(m *watermarktest.Memory) operate.Flow {
	return operate.Flow{
		Source: admin{"orders", 2, 50, 60, nil}, Target: admin{"us.orders", 0, 0, 110, nil}, States: m,
		Topics: func(topic string) bool { return topic == "orders" }, Remote: func(topic string) (string, error) { return "us." + topic, nil },
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	m := begun(t, func(s *watermark.State) { s.Skips, s.Lost = 3, 4 })
	item, _ := m.Get(t.Context(), orders)
	stall := item.Stall
	want := []operate.Partition{{
		Topic: "orders", SourceStart: 2, SourceEnd: 50, Next: 10, Lag: 40, TargetEnd: 110, Epoch: 1, Skips: 3, Lost: 4,
		Stall: &operate.Stall{Offset: 10, Since: stall.Since, Kind: "refused", Reason: "too large", Attempts: 1, RetryAt: &stall.RetryAt},
	}, {
		Topic: "orders", Partition: 1, SourceStart: -1, SourceEnd: -1, Next: -1, Lag: -1, TargetEnd: -1, Error: "its leader does not answer",
	}}
	for _, topic := range []string{"", "orders"} {
		got, err := flow(m).Status(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i].Error, _, _ = strings.Cut(got[i].Error, "\n")
			got[i].Do = ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Status(%q) (-want +got):\n%s", topic, diff)
		}
	}
}

func TestStatusOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	f := flow(&watermarktest.Memory{})
	if got, err := f.Status(t.Context(), "order"); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("Status of a topic that does not exist = %+v, %v, want %v", got, err, kerr.UnknownTopicOrPartition)
	}
	f.Topics = func(string) bool { return false }
	if got, err := f.Status(t.Context(), ""); err != nil || got == nil || len(got) != 0 {
		t.Errorf("Status of a flow that selects nothing = %#v, %v, want an empty list", got, err)
	}
	f = flow(&watermarktest.Memory{})
	f.Source = admin{topic: "orders", err: kerr.NotLeaderForPartition}
	got, err := f.Status(t.Context(), "orders")
	if err != nil || len(got) != 2 || !strings.Contains(got[0].Error, "NOT_LEADER") || got[0].SourceEnd != -1 || got[0].Lag != -1 {
		t.Errorf("Status of a partition in error = %+v, %v, want it listed with the error", got, err)
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	const where = `"topic":"orders","partition":0`
	dead := time.Now().Add(-time.Minute)
	tests := []struct {
		name   string
		change func(*watermark.State)
		want   []string // parts of the advice; nil: there is none
	}{
		{"refused", nil, []string{
			"max.message.bytes", `operator with {"action":"release","how":"retry",` + where + `,"epoch":1}`,
			`operator with {"action":"release","how":"skip",` + where + `,"offset":10,"epoch":1}`,
		}},
		{"needs a person", func(s *watermark.State) { s.Stall.Kind = watermark.NeedsPerson }, []string{
			"grant", `operator with {"action":"release","how":"retry",` + where + `,"epoch":1}`, `{"action":"set-position",` + where + `,"offset":N,"epoch":1}`,
		}},
		{"needs a person before it can be settled", func(s *watermark.State) {
			s.Stall.Kind, s.Producers, s.OwnerDeadline = watermark.NeedsPerson, []int64{5}, dead
		}, []string{"grant"}},
		{"transient", func(s *watermark.State) { s.Stall.Kind = watermark.Transient }, []string{"by itself", `"how":"retry"`}},
		{"unsettled", func(s *watermark.State) { s.Producers, s.OwnerDeadline = []int64{5}, dead }, []string{`mirror with {"action":"catch-up",` + where + `}`}},
		{"due", func(s *watermark.State) { s.Stall = nil }, []string{`mirror with {"action":"catch-up",` + where + `}`}},
		{"at work", func(s *watermark.State) {
			s.Stall, s.Owner, s.OwnerDeadline = nil, "alive", time.Now().Add(time.Minute)
		}, nil},
		{"at the end", func(s *watermark.State) { s.Stall, s.Next = nil, 50 }, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := begun(t, test.change)
			all, err := flow(m).Status(t.Context(), "orders")
			if err != nil {
				t.Fatal(err)
			}
			got := all[0]
			item, err := m.Get(t.Context(), orders)
			if err != nil {
				t.Fatal(err)
			}
			if test.want == nil && got.Do != "" {
				t.Errorf("advice = %q, want none", got.Do)
			}
			for _, part := range test.want {
				if !strings.Contains(got.Do, part) {
					t.Errorf("advice = %q, want %q in it", got.Do, part)
				}
			}
			alive := item.Owner != ""
			if got.Owner != item.Owner || alive != (got.ClaimedUntil != nil) || got.Unsettled != (len(item.Producers) > 0) {
				t.Errorf("owner %q until %v, unsettled %t, item %+v", got.Owner, got.ClaimedUntil, got.Unsettled, item)
			}
		})
	}
}
