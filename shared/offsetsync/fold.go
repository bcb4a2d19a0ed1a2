package offsetsync

import "slices"

// Fold makes the list fit into that many bytes of its coding: it merges the two neighbours whose merging leaves the smallest
// bound, the older ones first, as often as it takes. It never forgets a stretch, so that one stretch stays at least.
func (r *Runs) Fold(bytes int) {
	for size := r.size(); size > bytes && len(r.list) > 1; {
		size -= r.foldAt(r.cheapest())
	}
}

// cheapest is the first of the two neighbours whose merging leaves the smallest bound.
func (r *Runs) cheapest() int {
	best, least := 0, int64(-1)
	for i := range len(r.list) - 1 {
		m := merged(r.list[i], r.list[i+1])
		if bound := m.UpstreamGaps + m.DownstreamGaps; least < 0 || bound < least {
			best, least = i, bound
		}
	}
	return best
}

// foldAt merges stretch i and the next, and returns how many bytes that saves. What follows is coded as before: its offsets
// are counted from the end of the two.
func (r *Runs) foldAt(i int) (saved int) {
	var upstream, downstream int64
	if i > 0 {
		upstream, downstream = r.list[i-1].upstreamEnd(), r.list[i-1].downstreamEnd()
	}
	a, b := r.list[i], r.list[i+1]
	m := merged(a, b)
	r.list[i] = m
	r.list = slices.Delete(r.list, i+1, i+2)
	return a.size(upstream, downstream) + b.size(a.upstreamEnd(), a.downstreamEnd()) - m.size(upstream, downstream)
}

// merged is one stretch in place of two neighbours: what lies between them becomes gaps inside it.
func merged(a, b Stretch) Stretch {
	a.UpstreamGaps += b.UpstreamGaps + b.Upstream - a.upstreamEnd()
	a.DownstreamGaps += b.DownstreamGaps + b.Downstream - a.downstreamEnd()
	a.UpstreamLen, a.DownstreamLen = b.upstreamEnd()-a.Upstream, b.downstreamEnd()-a.Downstream
	return a
}
