package tracker_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"tidemark/shared/tracker"
)

// at is a time of the tests: n seconds after an arbitrary start.
func at(n int) time.Time { return time.Unix(1_700_000_000+int64(n), 0).UTC() }

// A harness fails its test when a step that should work does not.
type harness struct {
	*tracker.Tracker
	t *testing.T
}

func start(t *testing.T, next int64) harness {
	t.Helper()
	return harness{tracker.New(next), t}
}

// batches registers slots of ten offsets each: 0..9, 10..19, and so on.
func (h harness) batches(n int) {
	h.t.Helper()
	for range n {
		seq := h.Sequence()
		h.register(seq, int64(seq)*10, int64(seq)*10+9)
	}
}

func (h harness) register(seq uint64, first, last int64) {
	h.t.Helper()
	if err := h.Register(seq, first, last, at(0)); err != nil {
		h.t.Fatalf("Register(%d, %d, %d) = %v, want nil", seq, first, last, err)
	}
}

func (h harness) resolve(seq uint64, s tracker.Status, want tracker.Outcome) {
	h.t.Helper()
	if got := h.Resolve(seq, s); got != want {
		h.t.Errorf("Resolve(%d, %d) = %d, want %d", seq, s, got, want)
	}
}

func (h harness) delivered(seq uint64) {
	h.t.Helper()
	h.resolve(seq, tracker.Delivered, tracker.Applied)
}

func (h harness) failed(seq uint64) {
	h.t.Helper()
	h.resolve(seq, tracker.Failed, tracker.Applied)
}

// advances wants Advance to move the watermark to next.
func (h harness) advances(next int64) {
	h.t.Helper()
	if got, moved := h.Advance(at(9)); got != next || !moved {
		h.t.Errorf("Advance() = %d, %t, want %d, true", got, moved, next)
	}
}

// stays wants Advance to leave the watermark at next.
func (h harness) stays(next int64) {
	h.t.Helper()
	if got, moved := h.Advance(at(9)); got != next || moved {
		h.t.Errorf("Advance() = %d, %t, want %d, false", got, moved, next)
	}
}

func (h harness) pending(want int) {
	h.t.Helper()
	if got := h.Pending(); got != want {
		h.t.Errorf("Pending() = %d, want %d", got, want)
	}
}

func (h harness) stalledAt(seq uint64) {
	h.t.Helper()
	if s, ok := h.Stalled(); !ok || s.Sequence != seq || s.Since.IsZero() {
		h.t.Errorf("Stalled() = %+v, %t, want slot %d", s, ok, seq)
	}
}

func (h harness) notStalled() {
	h.t.Helper()
	if s, ok := h.Stalled(); ok {
		h.t.Errorf("Stalled() = %+v, true, want none", s)
	}
}

func TestHappyPathInOrder(t *testing.T) {
	t.Parallel()
	h := start(t, 0)
	h.batches(3)
	h.delivered(0)
	h.advances(10)
	h.delivered(1)
	h.delivered(2)
	h.advances(30)
	h.stays(30)
	h.pending(0)
	if got := h.Next(); got != 30 {
		t.Errorf("Next() = %d, want 30", got)
	}
}

func TestSingleBatch(t *testing.T) {
	t.Parallel()
	h := start(t, 0)
	h.register(0, 0, 41)
	h.stays(0)
	h.delivered(0)
	h.advances(42)
}

func TestOutOfOrderResolutionWaitsForHead(t *testing.T) {
	t.Parallel()
	h := start(t, 0)
	h.batches(4)
	h.delivered(2)
	h.delivered(3)
	h.stays(0)
	h.delivered(0)
	h.advances(10)
	h.delivered(1)
	h.advances(40)
	h.pending(0)
}

func TestFailureAtHeadStallsPermanently(t *testing.T) {
	t.Parallel()
	h := start(t, 0)
	h.batches(2)
	h.failed(0)
	h.delivered(1)
	h.notStalled() // not before Advance has looked
	h.stays(0)
	h.stalledAt(0)
	// Nothing behind the failure ever advances, not even what is registered and delivered now.
	h.register(2, 20, 29)
	h.delivered(2)
	h.stays(0)
	h.stalledAt(0)
	h.pending(3)
	// Nor does a late success of the failed slot.
	h.resolve(0, tracker.Delivered, tracker.Duplicate)
	h.stays(0)
}

func TestAdvanceCommitsUpToFailure(t *testing.T) {
	t.Parallel()
	h := start(t, 0)
	h.batches(3)
	h.delivered(0)
	h.failed(1)
	h.delivered(2)
	h.advances(10)
	h.stalledAt(1)
	h.stays(10)
}

func TestFailureBehindPendingStallsOnlyWhenReached(t *testing.T) {
	t.Parallel()
	h := start(t, 0)
	h.batches(2)
	h.failed(1)
	h.stays(0)
	h.notStalled()
	h.delivered(0)
	h.advances(10)
	h.stalledAt(1)
}

func TestDuplicateAndStaleResolutionsAreReported(t *testing.T) {
	t.Parallel()
	h := start(t, 0)
	h.batches(2)
	h.delivered(0)
	h.advances(10)
	h.resolve(5, tracker.Delivered, tracker.Unregistered)
	h.resolve(2, tracker.Delivered, tracker.Unregistered)
	h.resolve(math.MaxUint64, tracker.Failed, tracker.Unregistered)
	h.resolve(0, tracker.Delivered, tracker.AlreadyAdvanced)
	h.delivered(1)
	h.resolve(1, tracker.Delivered, tracker.Duplicate)
	h.resolve(1, tracker.Failed, tracker.Duplicate) // a worse fate comes too late as well
	h.advances(20)
}

func TestRegistrationGapIsAnError(t *testing.T) {
	t.Parallel()
	h := start(t, 0)
	h.batches(1)
	for _, seq := range []uint64{2, 0, math.MaxUint64} {
		if err := h.Register(seq, 20, 29, at(0)); !errors.Is(err, tracker.ErrSequence) {
			t.Errorf("Register(%d) = %v, want ErrSequence", seq, err)
		}
	}
	// The tracker is unchanged and goes on.
	h.pending(1)
	h.register(1, 10, 19)
	h.delivered(0)
	h.delivered(1)
	h.advances(20)
}

func TestOffsetsMustRise(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		first, last int64
		want        error
	}{
		{"follows", 110, 110, nil},
		{"leaves a gap", 200, 300, nil},
		{"up to the last offset but one", 110, math.MaxInt64 - 1, nil},
		{"is the same again", 100, 109, tracker.ErrOffsets},
		{"overlaps", 109, 120, tracker.ErrOffsets},
		{"lies before", 50, 60, tracker.ErrOffsets},
		{"runs backwards", 120, 119, tracker.ErrOffsets},
		{"has no offset past it", 110, math.MaxInt64, tracker.ErrOffsets},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := start(t, 100)
			h.register(0, 100, 109)
			if err := h.Register(1, tt.first, tt.last, at(0)); !errors.Is(err, tt.want) {
				t.Errorf("Register(1, %d, %d) = %v, want %v", tt.first, tt.last, err, tt.want)
			}
		})
	}
}

func TestFirstSlotMustNotLieBelowTheWatermark(t *testing.T) {
	t.Parallel()
	for next, below := range map[int64]int64{100: 99, 0: -1, -1: -1, math.MinInt64: -1} {
		if err := tracker.New(next).Register(0, below, 200, at(0)); !errors.Is(err, tracker.ErrOffsets) {
			t.Errorf("New(%d).Register(0, %d, 200) = %v, want ErrOffsets", next, below, err)
		}
	}
}

func TestWatermarkIsMonotonic(t *testing.T) {
	t.Parallel()
	h := start(t, 0)
	const n = 100
	for seq := range int64(n) {
		h.register(uint64(seq), seq*7, seq*7+6)
	}
	last := int64(0)
	for step := range uint64(n) {
		h.delivered((step * 37) % n) // scrambled, the same each time
		next, moved := h.Advance(at(0))
		if next < last || moved != (next > last) {
			t.Errorf("Advance() = %d, %t after %d", next, moved, last)
		}
		last = next
	}
	if last != n*7 {
		t.Errorf("watermark = %d, want %d", last, n*7)
	}
	h.pending(0)
}

func TestAnyOtherStatusFails(t *testing.T) {
	t.Parallel()
	for _, s := range []tracker.Status{tracker.Pending, tracker.Failed, 3} {
		h := start(t, 0)
		h.batches(1)
		h.resolve(0, s, tracker.Applied)
		h.stays(0)
		h.stalledAt(0)
	}
}

func TestHungHeadIsVisible(t *testing.T) {
	t.Parallel()
	h := start(t, 0)
	if head, ok := h.Head(); ok {
		t.Errorf("Head() = %+v, true, want none", head)
	}
	for seq := range uint64(3) {
		if err := h.Register(seq, int64(seq), int64(seq), at(int(seq))); err != nil {
			t.Fatal(err)
		}
	}
	h.delivered(0)
	h.delivered(2)
	h.advances(1)
	want := tracker.Slot{First: 1, Last: 1, Status: tracker.Pending, At: at(1)}
	if got, ok := h.Head(); !ok || got != want {
		t.Errorf("Head() = %+v, %t, want %+v", got, ok, want)
	}
	h.notStalled()
}

func TestStallSaysWhatAndSinceWhen(t *testing.T) {
	t.Parallel()
	h := start(t, 0)
	h.batches(2)
	h.delivered(0)
	h.failed(1)
	h.Advance(at(3))
	h.Advance(at(4))
	want := tracker.Stall{
		Sequence: 1, Since: at(3),
		Slot: tracker.Slot{First: 10, Last: 19, Status: tracker.Failed, At: at(0)},
	}
	if got, ok := h.Stalled(); !ok || got != want {
		t.Errorf("Stalled() = %+v, %t, want %+v", got, ok, want)
	}
}

// What advanced is given back, however long the tracker is never empty. Not parallel: it counts the process's allocations.
func TestMemoryFollowsPending(t *testing.T) {
	tr := tracker.New(0)
	seq := uint64(0)
	steps := func() {
		for range 100_000 {
			if err := tr.Register(seq, int64(seq), int64(seq), at(0)); err != nil {
				t.Fatal(err)
			}
			if seq > 0 {
				tr.Resolve(seq-1, tracker.Delivered)
				tr.Advance(at(0))
			}
			seq++
		}
	}
	steps()
	if got := testing.AllocsPerRun(1, steps); got > 0 {
		t.Errorf("%v allocations in 100,000 steps with two slots pending, want 0", got)
	}
}
