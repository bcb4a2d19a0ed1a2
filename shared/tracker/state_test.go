package tracker_test

import (
	"testing"

	"tidemark/shared/tracker"
)

func TestRestoreStartsANewEpoch(t *testing.T) {
	t.Parallel()
	h := start(t, 0)
	h.batches(3)
	h.delivered(0)
	h.failed(1)
	h.advances(10)
	h.Tracker = tracker.Restore(h.State())
	h.pending(0)
	h.notStalled()
	// The same records again, under new numbers; this time they get through.
	h.register(0, 10, 19)
	h.register(1, 20, 29)
	h.delivered(0)
	h.delivered(1)
	h.advances(30)
	if got, want := h.State(), (tracker.State{Next: 30}); got != want {
		t.Errorf("State() = %+v, want %+v", got, want)
	}
}

func TestAgesOutliveEpochs(t *testing.T) {
	t.Parallel()
	// The first epoch leaves a head that hangs, the second one sees it fail, the third one sees it fail again.
	hung := start(t, 5)
	if err := hung.Register(0, 5, 5, at(1)); err != nil {
		t.Fatal(err)
	}
	hung.stays(5)
	want := tracker.State{Next: 5, HeadAt: at(1)}
	if got := hung.State(); got != want {
		t.Fatalf("State() of a hung head = %+v, want %+v", got, want)
	}

	failing := harness{tracker.Restore(hung.State()), t}
	want.StalledSince = at(100)
	for _, now := range []int{100, 200} {
		if err := failing.Register(0, 5, 5, at(now-1)); err != nil {
			t.Fatal(err)
		}
		failing.failed(0)
		failing.Advance(at(now))
		if got := failing.State(); got != want {
			t.Errorf("State() at %d = %+v, want %+v", now, got, want)
		}
		stall := tracker.Stall{Since: at(100), Slot: tracker.Slot{First: 5, Last: 5, Status: tracker.Failed, At: at(1)}}
		if got, ok := failing.Stalled(); !ok || got != stall {
			t.Errorf("Stalled() at %d = %+v, %t, want %+v", now, got, ok, stall)
		}
		failing.Tracker = tracker.Restore(failing.State())
	}

	// An epoch that brings nothing forgets nothing.
	if got := failing.State(); got != want {
		t.Errorf("State() of an idle epoch = %+v, want %+v", got, want)
	}
}

func TestAgesEndWhenTheWatermarkMoves(t *testing.T) {
	t.Parallel()
	h := harness{tracker.Restore(tracker.State{Next: 5, HeadAt: at(1), StalledSince: at(2)}), t}
	for seq, offset := range []int64{5, 6} {
		if err := h.Register(uint64(seq), offset, offset, at(300)); err != nil {
			t.Fatal(err)
		}
	}
	h.delivered(0)
	h.failed(1)
	if next, moved := h.Advance(at(301)); next != 6 || !moved {
		t.Fatalf("Advance() = %d, %t, want 6, true", next, moved)
	}
	if got, want := h.State(), (tracker.State{Next: 6, HeadAt: at(300), StalledSince: at(301)}); got != want {
		t.Errorf("State() = %+v, want %+v", got, want)
	}
}
