package offsetsync

import (
	"iter"
	"slices"
	"sort"
)

// Stretch says where consecutive records of a partition stand on the target: upstream offsets from Upstream (inclusive) on
// for UpstreamLen offsets are downstream offsets from Downstream on for DownstreamLen. Without gaps it is a run, and exact.
type Stretch struct {
	Upstream, Downstream       int64
	UpstreamLen, DownstreamLen int64
	UpstreamGaps               int64 // offsets inside that hold nothing to mirror
	DownstreamGaps             int64 // offsets inside that are nobody's copy: markers, records of somebody else

	// Explained says that no record stands in the gap before the stretch: nothing was left there that a group could read.
	Explained bool
}

func (s Stretch) upstreamEnd() int64   { return s.Upstream + s.UpstreamLen }
func (s Stretch) downstreamEnd() int64 { return s.Downstream + s.DownstreamLen }
func (s Stretch) isRun() bool          { return s.UpstreamGaps == 0 && s.DownstreamGaps == 0 }

// Runs is the bounded list of the stretches of one partition, rising on both sides. The zero value is empty and ready for
// use; it is not safe for concurrent use.
type Runs struct {
	list []Stretch
	torn bool // what was forgotten last may have left copies behind: the next gap is not explained
}

// Extend notes n records at consecutive offsets on both sides. They lengthen the last run if they follow it on both, else
// they begin a new one, and explained says whether the gap before it holds nothing.
//
// Records that are noted already keep their first copy: a group that is sent there reads nothing twice that it would not
// read twice anyway, and skips nothing. A downstream offset below the last one means that the target lost its end, and with
// it what stood there.
func (r *Runs) Extend(upstream, downstream, n int64, explained bool) {
	if k := len(r.list); k > 0 {
		if again := r.list[k-1].upstreamEnd() - upstream; again > 0 {
			upstream, downstream, n = upstream+again, downstream+again, n-again
		}
		r.CutDownstream(downstream)
	}
	if n <= 0 {
		return
	}
	if k := len(r.list); k > 0 {
		if last := &r.list[k-1]; last.isRun() && last.upstreamEnd() == upstream && last.downstreamEnd() == downstream {
			last.UpstreamLen += n
			last.DownstreamLen += n
			return
		}
	}
	r.list = append(r.list, Stretch{Upstream: upstream, Downstream: downstream, UpstreamLen: n, DownstreamLen: n, Explained: explained && !r.torn})
	r.torn = false
}

// Cut forgets what stands at or past an upstream offset: the source was truncated there. A stretch with gaps goes whole.
func (r *Runs) Cut(upstream int64) {
	r.cut(func(s Stretch) int64 { return s.Upstream }, func(s Stretch) int64 { return s.upstreamEnd() }, upstream)
}

// CutDownstream forgets what stands at or past a downstream offset: the target was truncated there.
func (r *Runs) CutDownstream(downstream int64) {
	r.cut(func(s Stretch) int64 { return s.Downstream }, func(s Stretch) int64 { return s.downstreamEnd() }, downstream)
}

func (r *Runs) cut(from, end func(Stretch) int64, at int64) {
	for k, last := range slices.Backward(r.list) {
		if end(last) <= at {
			return
		}
		left := at - from(last)
		if left > 0 && last.isRun() {
			r.list[k].UpstreamLen, r.list[k].DownstreamLen = left, left
			return
		}
		r.torn = r.torn || left > 0 || !last.Explained
		r.list = r.list[:k]
	}
}

// Backward yields the stretches, the newest first.
func (r *Runs) Backward() iter.Seq[Stretch] {
	return func(yield func(Stretch) bool) {
		for _, s := range slices.Backward(r.list) {
			if !yield(s) {
				return
			}
		}
	}
}

// Translate returns the downstream offset at which a group goes on that has read everything below upstream, and how many
// records it may read twice there: 0 in a run. It is never past a record that the group has not read. False when the list
// does not reach back that far.
func (r *Runs) Translate(upstream int64) (downstream, again int64, ok bool) {
	i := sort.Search(len(r.list), func(i int) bool { return r.list[i].Upstream > upstream }) - 1
	if i < 0 {
		return 0, 0, false
	}
	s := r.list[i]
	if upstream < s.upstreamEnd() {
		return s.Downstream + max(upstream-s.Upstream-s.UpstreamGaps, 0), s.UpstreamGaps + s.DownstreamGaps, true
	}
	switch last := i+1 == len(r.list); {
	case last:
		again = upstream - s.upstreamEnd() // what was not mirrored yet, or forgotten
	case !r.list[i+1].Explained:
		again = r.list[i+1].Downstream - s.downstreamEnd() // copies of what stands in the gap may lie there
	}
	return s.downstreamEnd(), again, true
}

// Inverse returns the upstream offset at which a reader of the source goes on that has read every copy below downstream. It
// is never past a record whose copy the reader has not read. False when the list does not reach back that far.
func (r *Runs) Inverse(downstream int64) (upstream int64, ok bool) {
	i := sort.Search(len(r.list), func(i int) bool { return r.list[i].Downstream > downstream }) - 1
	if i < 0 {
		return 0, false
	}
	s := r.list[i]
	if downstream < s.downstreamEnd() {
		return s.Upstream + max(downstream-s.Downstream-s.DownstreamGaps, 0), true
	}
	return s.upstreamEnd(), true
}

// Fold makes the list fit into that many bytes of its coding, by merging the two neighbours whose merging costs the least
// exactness, as often as it takes. It never forgets a stretch.
func (r *Runs) Fold(bytes int) {
	for len(r.list) > 1 && r.size() > bytes {
		best, least := 0, int64(-1)
		for i := range r.list[1:] {
			if m := merged(r.list[i], r.list[i+1]); least < 0 || m.UpstreamGaps+m.DownstreamGaps < least {
				best, least = i, m.UpstreamGaps+m.DownstreamGaps
			}
		}
		r.list[best] = merged(r.list[best], r.list[best+1])
		r.list = slices.Delete(r.list, best+1, best+2)
	}
}

// merged is one stretch in place of two neighbours: what lies between them becomes gaps inside it.
func merged(a, b Stretch) Stretch {
	a.UpstreamGaps += b.UpstreamGaps + b.Upstream - a.upstreamEnd()
	a.DownstreamGaps += b.DownstreamGaps + b.Downstream - a.downstreamEnd()
	a.UpstreamLen, a.DownstreamLen = b.upstreamEnd()-a.Upstream, b.downstreamEnd()-a.Downstream
	return a
}
