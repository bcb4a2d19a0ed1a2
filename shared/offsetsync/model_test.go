package offsetsync_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
)

// model is the store told naively: it keeps every sync since the source last went back.
type model struct{ syncs []pair }

func (m *model) add(p pair) {
	if n := len(m.syncs); n > 0 && p[0] < m.syncs[n-1][0] {
		m.syncs = nil
	}
	m.syncs = append(m.syncs, p)
}

// translate goes by the newest of all syncs at or below upstream: nothing that only syncs tell is nearer.
func (m *model) translate(upstream int64) int64 {
	for _, p := range slices.Backward(m.syncs) {
		switch {
		case p[0] == upstream:
			return p[1]
		case p[0] < upstream:
			return p[1] + 1
		}
	}
	return -1
}

// answers are all translations of upstream that some sync at or below it allows.
func (m *model) answers(upstream int64) []int64 {
	list := []int64{-1}
	for _, p := range m.syncs {
		switch {
		case p[0] == upstream:
			list = append(list, p[1])
		case p[0] < upstream:
			list = append(list, p[1]+1)
		}
	}
	return list
}

// step draws a distance of at least 1 of any magnitude below 2^bits: distances that are drawn evenly are all large.
func step(t *rapid.T, bits int, label string) int64 {
	b := rapid.IntRange(0, bits-1).Draw(t, label+" bits")
	return rapid.Int64Range(1<<b, 1<<(b+1)-1).Draw(t, label)
}

// history draws a source log with gaps, its copy on the target, and the syncs between them. A log is a pair for each
// record: its upstream offset, and the downstream one of the first copy of it or of a later record. The last is the end.
func history(t *rapid.T) (log, syncs []pair) {
	next := pair{rapid.Int64Range(0, 100).Draw(t, "first upstream"), rapid.Int64Range(0, 1000).Draw(t, "first downstream")}
	bits := rapid.SampledFrom([]int{1, 1, 3, 8, 40}).Draw(t, "bits")
	for range rapid.IntRange(1, 150).Draw(t, "records") {
		log = append(log, next)
		if rapid.IntRange(0, 4).Draw(t, "mirrored") > 0 {
			if rapid.Bool().Draw(t, "synced") {
				syncs = append(syncs, next)
			}
			next[1] += step(t, 2, "downstream")
		}
		next[0] += step(t, bits, "upstream")
	}
	return append(log, next), syncs
}

// place is where a group goes on that has read everything before upstream, and nothing else.
func place(log []pair, upstream int64) int64 {
	for _, r := range log {
		if r[0] >= upstream {
			return r[1]
		}
	}
	return log[len(log)-1][1]
}

// questions are the offsets of the log and those around them, in order.
func questions(log []pair) []int64 {
	var list []int64
	for _, r := range log {
		list = append(list, r[0], r[0]+1)
		if r[0] > 0 {
			list = append(list, r[0]-1)
		}
	}
	slices.Sort(list)
	return list
}

// load draws a mode and how many of the syncs come by the initial read. It returns the store and what it may know.
func load(t *rapid.T, syncs []pair) (*offsetsync.Store, *model) {
	mode := rapid.SampledFrom([]offsetsync.Mode{offsetsync.History, offsetsync.LatestOnly}).Draw(t, "mode")
	n := rapid.IntRange(0, len(syncs)).Draw(t, "loading")
	m := new(model)
	for i, p := range syncs {
		if mode == offsetsync.LatestOnly && i < n {
			m.syncs = nil
		}
		m.add(p)
	}
	return store(mode, syncs[:n], syncs[n:]), m
}

// A group that reads on at a translation meets every record that it has not read.
func TestTranslateIsNeverAhead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log, syncs := history(t)
		s, m := load(t, syncs)
		for _, upstream := range questions(log) {
			got, ok := s.Translate(orders, upstream)
			if ok != (len(syncs) > 0) {
				t.Fatalf("Translate(%d) = %d, %t with %d syncs", upstream, got, ok, len(syncs))
			}
			if want := place(log, upstream); got > want {
				t.Fatalf("Translate(%d) = %d, past %d", upstream, got, want)
			}
			if best := m.translate(upstream); ok && got > best {
				t.Fatalf("Translate(%d) = %d, but all syncs together allow %d only", upstream, got, best)
			}
		}
	})
}

func TestTranslateIsMonotonic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log, syncs := history(t)
		s, _ := load(t, syncs)
		before := int64(-1)
		for _, upstream := range questions(log) {
			got, _ := s.Translate(orders, upstream)
			if got < before {
				t.Fatalf("Translate(%d) = %d, but %d for a lower offset", upstream, got, before)
			}
			before = got
		}
	})
}

// Sources that go back, targets that go back, equal syncs and offsets at the ends of int64: whatever comes, an answer
// rests on a sync at or below the question, and the newest sync is always among those kept.
func TestTranslateRestsOnASync(t *testing.T) {
	t.Parallel()
	offset := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, 1<<20), rapid.Int64Range(math.MaxInt64-9, math.MaxInt64), rapid.Int64())
	rapid.Check(t, func(t *rapid.T) {
		var syncs []pair
		for _, p := range rapid.SliceOfN(rapid.Custom(func(t *rapid.T) pair {
			return pair{offset.Draw(t, "upstream"), offset.Draw(t, "downstream")}
		}), 1, 60).Draw(t, "syncs") {
			if n := len(syncs); n > 0 && rapid.IntRange(0, 3).Draw(t, "go on") > 0 {
				p[0] = syncs[n-1][0] + p[0]&0xff // rarely an overflow, which is one more way back
			}
			syncs = append(syncs, p)
		}
		s, m := load(t, syncs)
		for _, p := range syncs {
			for _, upstream := range []int64{p[0] - 1, p[0], p[0] + 1, offset.Draw(t, "question")} {
				if got, ok := s.Translate(orders, upstream); !ok || !slices.Contains(m.answers(upstream), got) {
					t.Fatalf("Translate(%d) = %d, %t, want true and one of %v", upstream, got, ok, m.answers(upstream))
				}
			}
		}
		last := syncs[len(syncs)-1]
		want := mm2.OffsetSync{TopicPartition: orders, Upstream: last[0], Downstream: last[1]}
		if got, ok := s.Newest(orders); got != want || !ok {
			t.Fatalf("Newest() = %+v, %t, want %+v, true", got, ok, want)
		}
		if got, ok := s.Translate(orders, last[0]); got != last[1] || !ok {
			t.Fatalf("Translate(%d) = %d, %t, want %d, true", last[0], got, ok, last[1])
		}
	})
}
