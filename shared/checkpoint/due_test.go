package checkpoint_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/checkpoint"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// TestDuePartitionsAreCaughtUp: a partition that is due is asked for, and counts as stalled only when that did not help, or
// when nobody may be asked.
func TestDuePartitionsAreCaughtUp(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		change  func(s *watermark.State, now time.Time)
		err     error
		asked   []int   // in the passes of minutes 2 to 4
		stalled []int64 // in these
	}{
		{"idle", func(*watermark.State, time.Time) {}, nil, []int{1, 1, 1}, []int64{0, 1, 1}},
		{"cannot be asked", func(*watermark.State, time.Time) {}, errors.New("throttled"), []int{0, 0, 0}, []int64{1, 1, 1}},
		{"claimed", func(s *watermark.State, now time.Time) {
			s.Owner, s.OwnerDeadline = "c:x", now.Add(time.Hour)
		}, nil, []int{0, 0, 0}, []int64{1, 1, 1}},
		{"moves", func(s *watermark.State, now time.Time) { s.AdvancedAt = now.Add(time.Hour) }, nil, []int{0, 0, 0}, []int64{0, 0, 0}},
		{"parked", func(s *watermark.State, now time.Time) {
			s.Stall = &watermark.Stall{Offset: 4, Since: now, RetryAt: now.Add(time.Hour)}
		}, nil, []int{0, 0, 0}, []int64{1, 1, 1}},
		{"stalled, to be tried again", func(s *watermark.State, now time.Time) {
			s.Stall = &watermark.Stall{Offset: 4, Since: now}
		}, nil, []int{1, 1, 1}, []int64{1, 1, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.mirrored(4, 3)
				w.stable[tp("t", 0)], w.data[tp("t", 0)] = 10, []int64{4, 5}
				test.change(&w.states[0], time.Now())
				asked := 0
				task := w.task(func(f *checkpoint.Flow) {
					f.CatchUp = func(_ context.Context, got mm2.TopicPartition) error {
						if got != tp("t", 0) {
							t.Errorf("asked for %s", got)
						}
						if test.err == nil {
							asked++
						}
						return test.err
					}
				})
				var askedAt []int
				var stalledAt []int64
				for minute := range 5 {
					asked = 0
					if err := task.Run(t.Context(), time.Now()); err != nil {
						t.Fatal(err)
					}
					if minute >= 2 {
						askedAt, stalledAt = append(askedAt, asked), append(stalledAt, w.gauge()[checkpoint.StalledPartitions])
					}
					time.Sleep(time.Minute)
				}
				if diff := cmp.Diff(test.asked, askedAt) + cmp.Diff(test.stalled, stalledAt); diff != "" {
					t.Errorf("asked, stalled (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// seeds is checkpoint.Seeds in memory; the second seed fails when told to.
type seeds struct {
	seen   bool
	next   map[mm2.TopicPartition]int64
	broken bool
}

func (s *seeds) Seen(context.Context) (bool, error) { return s.seen, nil }

func (s *seeds) Seed(_ context.Context, tp mm2.TopicPartition, next int64) error {
	if s.broken && len(s.next) == 1 {
		return errors.New("throttled")
	}
	s.next[tp] = next
	return nil
}

func (s *seeds) See(context.Context, time.Time) error {
	s.seen = true
	return nil
}

// TestSeedsOnce: every partition that there is begins at its end; a pass that failed on the way is repeated whole; what
// appears later is not seeded.
func TestSeedsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.stable[tp("t", 0)], w.stable[tp("t", 1)] = 10, 20
	s := &seeds{next: map[mm2.TopicPartition]int64{}, broken: true}
	task := w.task(func(f *checkpoint.Flow) { f.Seeds = s })
	if err := pass(t, task, 1); err == nil || s.seen {
		t.Fatalf("a pass that could not seed: %v, seen %t", err, s.seen)
	}
	s.broken = false
	for i := range int64(2) {
		if err := pass(t, task, 2+i); err != nil {
			t.Fatal(err)
		}
		w.stable[tp("t", 2)] = 30
	}
	if want := map[mm2.TopicPartition]int64{tp("t", 0): 10, tp("t", 1): 20}; !s.seen || !maps.Equal(want, s.next) {
		t.Errorf("seeds = %v, seen %t, want %v", s.next, s.seen, want)
	}
}
