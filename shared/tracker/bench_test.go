package tracker_test

import (
	"testing"
	"time"

	"tidemark/shared/tracker"
)

const benchSlots = 10_000

// A slot per record, registered, resolved and advanced, in a tracker that has grown to its size.
func BenchmarkSlot(b *testing.B) {
	now := time.Now()
	t := tracker.New(0)
	runSlots(b, t, now)
	b.ReportAllocs()
	for b.Loop() {
		runSlots(b, t, now)
	}
	reportPerSlot(b)
}

// The same in a new tracker each time, as an invocation has it.
func BenchmarkSlotInNewTracker(b *testing.B) {
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		t := tracker.New(0)
		t.Grow(benchSlots)
		runSlots(b, t, now)
	}
	reportPerSlot(b)
}

func runSlots(b *testing.B, t *tracker.Tracker, now time.Time) {
	b.Helper()
	first, next := t.Sequence(), t.Next()
	for i := range benchSlots {
		offset := next + int64(i)
		if err := t.Register(first+uint64(i), offset, offset, now); err != nil {
			b.Fatal(err)
		}
	}
	for i := range benchSlots {
		t.Resolve(first+uint64(i), tracker.Delivered)
	}
	if got, _ := t.Advance(now); got != next+benchSlots {
		b.Fatalf("Advance() = %d, want %d", got, next+benchSlots)
	}
}

func reportPerSlot(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchSlots, "ns/slot")
}
