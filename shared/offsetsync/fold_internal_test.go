package offsetsync

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// foldSlowly is Fold by its definition: it looks for the cheapest two anew each time.
func foldSlowly(list []Stretch, bytes, most int) []Stretch {
	size := func(list []Stretch) int { return (&Runs{list: list}).size() }
	whole, spared := size(list), 0
	for spared < len(list) && whole-size(list[:len(list)-1-spared]) <= most {
		spared++
	}
	spared = min(spared, len(list)-1)
	for size(list) > bytes && len(list) > 1 {
		if len(list)-spared < 2 {
			spared = 0
		}
		best, least := 0, math.Inf(1)
		for i := range len(list) - 1 - spared {
			if cost := merged(list[i], list[i+1]).cost(list[len(list)-1].upstreamEnd()); cost < least {
				best, least = i, cost
			}
		}
		list[best] = merged(list[best], list[best+1])
		list = slices.Delete(list, best+1, best+2)
	}
	return list
}

func TestFoldIsItsDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var runs Runs
		upstream, downstream := int64(0), int64(0)
		for range rapid.IntRange(0, 60).Draw(r, "stretches") {
			n := rapid.Int64Range(1, 200).Draw(r, "records")
			runs.Extend(upstream, downstream, n, rapid.Bool().Draw(r, "explained"))
			upstream += n + rapid.Int64Range(0, 3).Draw(r, "left out")
			downstream += n + rapid.Int64Range(0, 2).Draw(r, "foreign")
		}
		bytes := rapid.IntRange(0, runs.size()).Draw(r, "bytes")
		most := rapid.IntRange(0, bytes).Draw(r, "spared")
		want := foldSlowly(slices.Clone(runs.list), bytes, most)
		runs.Fold(bytes, most)
		if diff := cmp.Diff(want, runs.list); diff != "" {
			r.Fatalf("Fold(%d, %d) (-definition +got):\n%s", bytes, most, diff)
		}
	})
}

// BenchmarkFoldCompacted folds what one delivery of a compacted topic brings, a stretch a record.
func BenchmarkFoldCompacted(b *testing.B) {
	b.ReportAllocs()
	var runs Runs
	for i := range int64(4500) {
		runs.Extend(2*i, i, 1, true)
	}
	for b.Loop() {
		r := Runs{list: slices.Clone(runs.list)}
		r.Fold(512, 256)
	}
}
