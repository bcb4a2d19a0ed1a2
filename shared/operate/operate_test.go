package operate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
	"tidemark/shared/operate"
	"tidemark/shared/watermark"
	"tidemark/shared/watermark/watermarktest"
)

var orders = mm2.TopicPartition{Topic: "orders"}

// begun returns a store with a released partition at next 10, epoch 1, stalled there.
func begun(t *testing.T, change func(*watermark.State)) *watermarktest.Memory {
	t.Helper()
	m := &watermarktest.Memory{}
	now := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	g, err := m.Claim(t.Context(), watermark.Claim{Partition: orders, Owner: "a", Producer: 7, Now: now, Deadline: now.Add(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	s := g.State
	var runs offsetsync.Runs
	runs.Extend(0, 100, 10, true)
	s.Owner, s.OwnerDeadline, s.Producers = "", time.Time{}, nil
	s.Next, s.DownstreamNext, s.DownstreamLast, s.NextDigest = 10, 110, 109, []byte{1}
	s.Runs, _ = runs.AppendBinary(nil)
	s.Stall = &watermark.Stall{Offset: 10, Since: now, Kind: watermark.Refused, Reason: "too large", Attempts: 1, RetryAt: now.Add(2 * time.Hour)}
	if change != nil {
		change(&s)
	}
	if err := m.Commit(t.Context(), watermark.Commit{Owner: "a", From: watermark.None, State: s}); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestChanges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(context.Context, *operate.Task) error
		want error
		next int64
		skip int64
	}{
		{"retry", func(ctx context.Context, o *operate.Task) error { return o.Retry(ctx, orders, 1) }, nil, 10, 0},
		{"retry of a state that moved", func(ctx context.Context, o *operate.Task) error { return o.Retry(ctx, orders, 0) }, operate.ErrMoved, 10, 0},
		{"skip", func(ctx context.Context, o *operate.Task) error { return o.Skip(ctx, orders, 1, 10) }, nil, 11, 1},
		{"skip of another offset", func(ctx context.Context, o *operate.Task) error { return o.Skip(ctx, orders, 1, 11) }, operate.ErrNotStalled, 10, 0},
		{"back", func(ctx context.Context, o *operate.Task) error { return o.SetPosition(ctx, orders, 1, 4) }, nil, 4, 0},
		{"forward", func(ctx context.Context, o *operate.Task) error { return o.SetPosition(ctx, orders, 1, 40) }, nil, 40, 0},
		{"never mirrored", func(ctx context.Context, o *operate.Task) error {
			return o.SetPosition(ctx, mm2.TopicPartition{Topic: "new"}, 0, 4)
		}, operate.ErrNotBegun, 10, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := begun(t, nil)
			audited := 0
			err := test.do(t.Context(), operate.NewTask(m, func(context.Context, operate.Entry) { audited++ }))
			s, _ := m.Get(t.Context(), orders)
			if !errors.Is(err, test.want) || s.Next != test.next || s.Skips != test.skip || s.Owner != "" || len(s.Producers) > 0 || s.DownstreamNext != 110 {
				t.Errorf("err %v, item %+v, want %v, next %d, skips %d, released", err, s, test.want, test.next, test.skip)
			}
			if changed := test.want == nil; changed != (audited == 1) || changed != (s.Epoch == 2) {
				t.Errorf("%d audit entries, epoch %d, changed %t", audited, s.Epoch, changed)
			}
			var runs offsetsync.Runs
			if err := runs.UnmarshalBinary(s.Runs); err != nil {
				t.Fatal(err)
			}
			if got, _, _ := runs.Translate(3); got != 103 {
				t.Errorf("Translate(3) = %d, want what was mirrored kept", got)
			}
			if got, _, _ := runs.Translate(8); got != 108 {
				t.Errorf("Translate(8) = %d, want the first copy", got)
			}
		})
	}
}

func TestUnsettledIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	m := begun(t, func(s *watermark.State) {
		s.Producers, s.OwnerDeadline = []int64{5}, time.Now().Truncate(time.Millisecond)
	})
	before, _ := m.Get(t.Context(), orders)
	err := operate.NewTask(m, func(context.Context, operate.Entry) { t.Error("an audit entry of nothing") }).Skip(t.Context(), orders, 1, 10)
	s, _ := m.Get(t.Context(), orders)
	if !errors.Is(err, operate.ErrUnsettled) || s.Next != 10 || len(s.Producers) != 1 || s.Producers[0] != 5 || !s.OwnerDeadline.Equal(before.OwnerDeadline) {
		t.Errorf("err %v, item %+v, want it unsettled as before", err, s)
	}
}

func TestLiveClaimIsNotOverridden(t *testing.T) {
	t.Parallel()
	m := begun(t, nil)
	now := time.Now()
	if _, err := m.Claim(t.Context(), watermark.Claim{Partition: orders, Owner: "alive", Now: now, Deadline: now.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	held := (*watermark.HeldError)(nil)
	if err := operate.NewTask(m, func(context.Context, operate.Entry) {}).Retry(t.Context(), orders, 2); !errors.As(err, &held) {
		t.Errorf("err = %v, want a HeldError", err)
	}
}

// admin answers with one partition of one topic.
type admin struct {
	topic              string
	start, stable, end int64
}

func (a admin) listed(offset int64) (kadm.ListedOffsets, error) {
	return kadm.ListedOffsets{a.topic: {0: {Topic: a.topic, Offset: offset}}}, nil
}

func (a admin) ListTopics(context.Context, ...string) (kadm.TopicDetails, error) {
	return kadm.TopicDetails{a.topic: {Topic: a.topic}}, nil
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

func TestStatus(t *testing.T) {
	t.Parallel()
	f := operate.Flow{
		Source: admin{"orders", 2, 50, 60}, Target: admin{"us.orders", 0, 0, 110}, States: begun(t, nil),
		Topics: func(string) bool { return true }, Remote: func(topic string) (string, error) { return "us." + topic, nil },
	}
	for _, topic := range []string{"", "orders"} {
		all, err := f.Status(t.Context(), topic)
		if err != nil || len(all) != 1 {
			t.Fatalf("Status(%q) = %+v, %v", topic, all, err)
		}
		p := all[0]
		if p.SourceStart != 2 || p.SourceEnd != 50 || p.Next != 10 || p.Lag != 40 || p.TargetEnd != 110 || p.Epoch != 1 || p.ClaimedUntil != nil || p.Stall == nil {
			t.Errorf("status = %+v", p)
		}
		if !strings.Contains(p.Do, `{"action":"release","how":"skip","topic":"orders","partition":0,"offset":10,"epoch":1}`) {
			t.Errorf("advice = %s, want the commands", p.Do)
		}
	}
}
