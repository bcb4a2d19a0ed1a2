package offsetsync

import "slices"

// Merge returns the list of a partition that knows what either of two knows. The short one is the newer: it was noted to as
// records were mirrored, and was folded on the way. The long one was merged from earlier states of it, and is finer where it
// reaches; so it stands, and the short one adds what came after.
//
// Unless the short one was cut since: then the long one is cut too, at the lowest offsets at which the short one ever was. A
// short list that has forgotten even that it was cut, and is not empty, stands alone. One that is empty and was never cut
// knows nothing, and the long one stands.
func Merge(long, short Runs) Runs {
	m := Runs{list: slices.Clone(long.list), torn: short.torn, cuts: short.cuts}
	switch {
	case len(short.list) == 0 && short.cuts.count == 0:
		m.torn, m.cuts = long.torn || short.torn, long.cuts
	case short.cuts.count == 0 && long.cuts.count > 0:
		m.list = nil
	case short.cuts.count != long.cuts.count:
		if at := short.cuts.lowest.upstream; at > 0 {
			m.cutUpstream(at - 1)
		}
		if at := short.cuts.lowest.downstream; at > 0 {
			m.cutDownstream(at - 1)
		}
	}
	for _, s := range short.list {
		m.join(s)
	}
	return m
}

// join adds what a newer stretch knows beyond the end of the list. Where they disagree, the newer one is right.
func (r *Runs) join(s Stretch) {
	if k := len(r.list) - 1; k >= 0 {
		upstream, downstream := r.list[k].upstreamEnd(), r.list[k].downstreamEnd()
		if s.upstreamEnd() <= upstream && s.downstreamEnd() <= downstream {
			return
		}
		rest, ok := s.from(upstream, downstream)
		if !ok {
			rest, rest.Explained = s, false
			r.cutUpstream(s.Upstream)
			r.cutDownstream(s.Downstream)
		}
		s = rest
	}
	s.Explained = s.Explained && len(r.list) > 0
	r.add(s)
}

// from returns the part of a stretch past a place at which a record and its copy end, the whole of it if it begins past
// there. As many gaps as possible are taken to be in that part: too many only make it less exact. False if the place cannot
// be one of the stretch.
func (s Stretch) from(upstream, downstream int64) (Stretch, bool) {
	if s.Upstream >= upstream && s.Downstream >= downstream {
		return s, true
	}
	rest := Stretch{
		Upstream: upstream, UpstreamLen: s.upstreamEnd() - upstream,
		Downstream: downstream, DownstreamLen: s.downstreamEnd() - downstream,
	}
	more := rest.UpstreamLen - rest.DownstreamLen // upstream gaps than downstream ones
	rest.UpstreamGaps = min(s.UpstreamGaps, s.DownstreamGaps+more, rest.UpstreamLen-1)
	rest.DownstreamGaps = rest.UpstreamGaps - more
	inside := s.Upstream <= upstream && s.Downstream <= downstream && rest.UpstreamLen > 0 && rest.DownstreamLen > 0
	return rest, inside && rest.UpstreamGaps >= 0 && rest.DownstreamGaps >= 0
}
