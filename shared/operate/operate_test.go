package operate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// keep returns an audit that keeps its entries.
func keep(entries *[]operate.Entry) operate.Audit {
	return func(_ context.Context, e operate.Entry) error {
		*entries = append(*entries, e)
		return nil
	}
}

// unaudited fails the test for any entry: nothing is to be changed.
func unaudited(t *testing.T) operate.Audit {
	t.Helper()
	return func(_ context.Context, e operate.Entry) error {
		t.Errorf("audit entry %+v, want none", e)
		return nil
	}
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
			var audited []operate.Entry
			err := test.do(t.Context(), operate.NewTask(m, keep(&audited)))
			s, _ := m.Get(t.Context(), orders)
			if !errors.Is(err, test.want) || s.Next != test.next || s.Skips != test.skip || s.Owner != "" || len(s.Producers) > 0 || s.DownstreamNext != 110 {
				t.Errorf("err %v, item %+v, want %v, next %d, skips %d, released", err, s, test.want, test.next, test.skip)
			}
			if changed := test.want == nil; changed != (len(audited) == 1) || changed != (s.Epoch == 2) {
				t.Errorf("audit %+v, epoch %d, changed %t", audited, s.Epoch, changed)
			}
			if moved := test.next != 10; moved != s.AdvancedAt.After(s.RecordTimestamp) || moved != (s.NextDigest == nil) || moved != (s.Stall == nil) {
				t.Errorf("moved %t, but advanced at %v, digest %v, stall %+v", moved, s.AdvancedAt, s.NextDigest, s.Stall)
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

// TestNotStalled plays changes that name what the partition is not stalled at.
func TestNotStalled(t *testing.T) {
	t.Parallel()
	skip := func(ctx context.Context, o *operate.Task) error { return o.Skip(ctx, orders, 1, 10) }
	tests := []struct {
		name   string
		change func(*watermark.State)
		do     func(context.Context, *operate.Task) error
	}{
		{"skip of the watermark's offset, no stall", func(s *watermark.State) { s.Stall = nil }, skip},
		{"skip of the watermark's offset, stalled elsewhere", func(s *watermark.State) { s.Stall.Offset = 9 }, skip},
		{"skip of the stall's offset, watermark elsewhere", func(s *watermark.State) { s.Next = 11 }, skip},
		{"retry, no stall", func(s *watermark.State) { s.Stall = nil }, func(ctx context.Context, o *operate.Task) error {
			return o.Retry(ctx, orders, 1)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := begun(t, test.change)
			want, _ := m.Get(t.Context(), orders)
			err := test.do(t.Context(), operate.NewTask(m, unaudited(t)))
			got, _ := m.Get(t.Context(), orders)
			if diff := cmp.Diff(want, got); !errors.Is(err, operate.ErrNotStalled) || diff != "" {
				t.Errorf("err = %v, want %v, and the item as it was (-want +got):\n%s", err, operate.ErrNotStalled, diff)
			}
		})
	}
}

func TestRetryKeepsTheStallButItsPause(t *testing.T) {
	t.Parallel()
	m := begun(t, nil)
	want, _ := m.Get(t.Context(), orders)
	var audited []operate.Entry
	if err := operate.NewTask(m, keep(&audited)).Retry(t.Context(), orders, 1); err != nil {
		t.Fatal(err)
	}
	want.Epoch, want.Stall.RetryAt = 2, time.Time{}
	got, _ := m.Get(t.Context(), orders)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("item after retry (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]operate.Entry{{Action: "retry", Partition: orders, Epoch: 1, From: 10, To: 10, Reason: "too large"}}, audited); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestSetPosition(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ to, origin int64 }{{1, 1}, {4, 2}, {40, 2}} {
		m := begun(t, func(s *watermark.State) { s.Origin, s.TrustFrom = 2, 5000 })
		want, _ := m.Get(t.Context(), orders)
		var audited []operate.Entry
		if err := operate.NewTask(m, keep(&audited)).SetPosition(t.Context(), orders, 1, test.to); err != nil {
			t.Fatal(err)
		}
		got, _ := m.Get(t.Context(), orders)
		want.Epoch, want.Next, want.Origin, want.AdvancedAt = 2, test.to, test.origin, got.AdvancedAt
		want.DownstreamLast, want.NextDigest, want.TrustFrom, want.Stall = watermark.None, nil, 0, nil
		if test.to == 40 { // what was left out may have been mirrored by somebody else: the next records explain no gap
			want.Runs[0] |= 0x80
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("item after SetPosition(%d) (-want +got):\n%s", test.to, diff)
		}
	}
	if err := operate.NewTask(begun(t, nil), unaudited(t)).SetPosition(t.Context(), orders, 1, -1); err == nil {
		t.Error("SetPosition(-1) = nil, want an error")
	}
}

// TestUnsettledIsLeftAsItIs plays every change over a partition whose last owner gave it back unsettled, and over one whose
// owner died.
func TestUnsettledIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	changes := map[string]func(context.Context, *operate.Task, int64) error{
		"retry": func(ctx context.Context, o *operate.Task, epoch int64) error { return o.Retry(ctx, orders, epoch) },
		"skip":  func(ctx context.Context, o *operate.Task, epoch int64) error { return o.Skip(ctx, orders, epoch, 10) },
		"set-position": func(ctx context.Context, o *operate.Task, epoch int64) error {
			return o.SetPosition(ctx, orders, epoch, 4)
		},
	}
	for name, change := range changes {
		for _, died := range []bool{false, true} {
			m := begun(t, func(s *watermark.State) {
				if !died {
					s.Producers, s.OwnerDeadline = []int64{5}, time.Now().Truncate(time.Millisecond)
				}
			})
			if died {
				now := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
				if _, err := m.Claim(t.Context(), watermark.Claim{Partition: orders, Owner: "dead", Producer: 5, Now: now, Deadline: now.Add(time.Second)}); err != nil {
					t.Fatal(err)
				}
			}
			want, _ := m.Get(t.Context(), orders)
			err := change(t.Context(), operate.NewTask(m, unaudited(t)), want.Epoch)
			got, _ := m.Get(t.Context(), orders)
			want.Epoch, want.Owner = want.Epoch+1, ""
			if diff := cmp.Diff(want, got); !errors.Is(err, operate.ErrUnsettled) || diff != "" {
				t.Errorf("%s, owner died %t: err %v, want %v, and the item (-want +got):\n%s", name, died, err, operate.ErrUnsettled, diff)
			}
		}
	}
}

func TestLiveClaimIsNotOverridden(t *testing.T) {
	t.Parallel()
	m := begun(t, nil)
	now := time.Now()
	if _, err := m.Claim(t.Context(), watermark.Claim{Partition: orders, Owner: "alive", Producer: 8, Now: now, Deadline: now.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	want, _ := m.Get(t.Context(), orders)
	held := (*watermark.HeldError)(nil)
	err := operate.NewTask(m, unaudited(t)).SetPosition(t.Context(), orders, 2, 4)
	got, _ := m.Get(t.Context(), orders)
	if diff := cmp.Diff(want, got); !errors.As(err, &held) || diff != "" {
		t.Errorf("err = %v, want a HeldError, and the item as it was (-want +got):\n%s", err, diff)
	}
}

func TestWhatCannotBeAuditedIsNotChanged(t *testing.T) {
	t.Parallel()
	m := begun(t, nil)
	want, _ := m.Get(t.Context(), orders)
	full := errors.New("disk full")
	err := operate.NewTask(m, func(context.Context, operate.Entry) error { return full }).Skip(t.Context(), orders, 1, 10)
	got, _ := m.Get(t.Context(), orders)
	want.Epoch = 2
	if diff := cmp.Diff(want, got); !errors.Is(err, full) || diff != "" {
		t.Errorf("err = %v, want %v, and the item given back (-want +got):\n%s", err, full, diff)
	}
}
