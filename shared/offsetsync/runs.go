package offsetsync

import (
	"iter"
	"math"
	"slices"
	"sort"
)

// maxOffset is the largest end of a stretch: the coding keeps two flags beside a length. A partition gets there in a million
// years.
const maxOffset = math.MaxInt64 >> flagBits

// Stretch says where consecutive records of a partition stand on the target: upstream offsets from Upstream (inclusive) on
// for UpstreamLen offsets are downstream offsets from Downstream on for DownstreamLen. Without gaps it is a run, and exact.
type Stretch struct {
	Upstream, Downstream       int64
	UpstreamLen, DownstreamLen int64
	UpstreamGaps               int64 // at most so many offsets inside hold nothing that was mirrored
	DownstreamGaps             int64 // at most so many offsets inside are nobody's copy: markers, records of somebody else

	// Explained says that no record stands in the gap before the stretch: nothing was left there that a group could read.
	// It is false for the first stretch of a list.
	Explained bool
}

func (s Stretch) upstreamEnd() int64   { return s.Upstream + s.UpstreamLen }
func (s Stretch) downstreamEnd() int64 { return s.Downstream + s.DownstreamLen }
func (s Stretch) isRun() bool          { return s.UpstreamGaps == 0 && s.DownstreamGaps == 0 }

// follows says whether both offsets of a piece go on where the run s ends.
func (s Stretch) follows(upstream, downstream int64) bool {
	return s.isRun() && s.upstreamEnd() == upstream && s.downstreamEnd() == downstream
}

// Runs is the list of the stretches of one partition, rising on both sides. It rests on one order: copies stand on the
// target as their records stand on the source. What lies between two stretches on the source was copied between them on the
// target, or not at all.
//
// The zero value is empty and ready for use. It is not safe for concurrent use, and of two copies only one may be changed.
type Runs struct {
	list []Stretch
	torn bool // something was forgotten, or not noted, behind the last stretch
	cuts cuts
}

// cuts is what a list has forgotten since it was begun. A list that was cut as often as an older one of its partition holds
// what that one holds, and more.
type cuts struct {
	count  int64
	lowest pair // one more than the lowest offsets that it was cut at; 0: never
	left   pair // offsets below which forgotten copies may still stand on the target
}

// Extend notes n records at consecutive offsets on both sides. They lengthen the last run if they follow it on both, else
// they begin a new one, and explained says whether the gap before it holds nothing; after a cut it is never explained.
//
// Records that are noted already keep their first copy until what is sent again passes the last one: the records after them
// have only their first copies until then, and a group that was sent to a second one would skip those. A downstream offset
// below the last one means that the target lost its end, and with it what stood there, as if by [Runs.CutDownstream]. What
// no Kafka log holds, n < 1, a negative offset or one past 2^61, is not noted.
//
// Records that were left out before and are sent later, after others that are noted, break the order that the list rests on:
// translation is still never ahead, but neither are they counted as read again, nor does [Runs.Inverse] know of them.
func (r *Runs) Extend(upstream, downstream, n int64, explained bool) {
	if k := len(r.list) - 1; k >= 0 && !r.torn && n > 0 && r.list[k].follows(upstream, downstream) &&
		n <= maxOffset-max(upstream, downstream) {
		r.list[k].UpstreamLen += n
		r.list[k].DownstreamLen += n
		return
	}
	r.begin(upstream, downstream, n, explained)
}

// begin is Extend where the last run does not simply become longer.
func (r *Runs) begin(upstream, downstream, n int64, explained bool) {
	switch {
	case n <= 0:
		return
	case min(upstream, downstream) < 0 || n > maxOffset-max(upstream, downstream):
		r.torn = true
		return
	}
	if downstream < r.known().downstream {
		r.CutDownstream(downstream)
	}
	if again := r.known().upstream - upstream; again > 0 {
		upstream, downstream, n = upstream+again, downstream+again, n-again
	}
	if n <= 0 {
		return
	}
	r.add(Stretch{
		Upstream: upstream, Downstream: downstream, UpstreamLen: n, DownstreamLen: n,
		Explained: explained && !r.torn && len(r.list) > 0,
	})
	r.torn = false
}

// known is the end of what is noted, and of what was and may be left.
func (r *Runs) known() pair {
	k := len(r.list) - 1
	if k < 0 {
		return r.cuts.left
	}
	return pair{max(r.list[k].upstreamEnd(), r.cuts.left.upstream), max(r.list[k].downstreamEnd(), r.cuts.left.downstream)}
}

// add appends a stretch that lies behind all others on both sides.
func (r *Runs) add(s Stretch) {
	if k := len(r.list) - 1; k >= 0 && s.isRun() && r.list[k].follows(s.Upstream, s.Downstream) {
		r.list[k].UpstreamLen += s.UpstreamLen
		r.list[k].DownstreamLen += s.DownstreamLen
		return
	}
	r.list = append(r.list, s)
}

// Cut forgets what stands at or past an upstream offset: the source was truncated there, and holds other records from there
// on or none. At 0 it forgets everything, also for [Merge]. A stretch with gaps goes whole: where in it the offset stands on
// the target is not known.
//
// It is not for a source that still holds these records and is only read again: until all of them are sent again, those that
// were not yet would lie below the copies of those that were, and be skipped.
func (r *Runs) Cut(upstream int64) {
	at := min(max(upstream, 0), maxOffset)
	forgot := len(r.list) == 0 || at < r.known().upstream
	r.leave(r.cutUpstream(at))
	r.cuts.left.upstream = min(r.cuts.left.upstream, at)
	if forgot {
		r.cuts.count++
		r.cuts.lowest.upstream = lower(r.cuts.lowest.upstream, at)
	}
}

// CutDownstream forgets what stands at or past a downstream offset: the target was truncated there. A stretch with gaps goes
// whole. What may be left of its copies is not noted when it is sent again, as in [Runs.Extend].
func (r *Runs) CutDownstream(downstream int64) {
	at := min(max(downstream, 0), maxOffset)
	forgot := len(r.list) == 0 || at < r.known().downstream
	r.leave(r.cutDownstream(at))
	r.cuts.left.downstream = min(r.cuts.left.downstream, at)
	if forgot {
		r.cuts.count++
		r.cuts.lowest.downstream = lower(r.cuts.lowest.downstream, at)
	}
}

// leave notes what a cut left.
func (r *Runs) leave(left pair) {
	r.torn = true
	r.cuts.left = pair{max(r.cuts.left.upstream, left.upstream), max(r.cuts.left.downstream, left.downstream)}
}

// lower is the lower of two offsets, of which one is kept as one more than it is, and as 0 while there is none.
func lower(kept, at int64) int64 {
	if kept == 0 {
		return at + 1
	}
	return min(kept, at+1)
}

// cutUpstream returns the ends of what it forgot and yet may be left on the target.
func (r *Runs) cutUpstream(at int64) (left pair) {
	for k := len(r.list) - 1; k >= 0 && r.list[k].upstreamEnd() > at; k-- {
		s := r.list[k]
		if n := at - s.Upstream; r.shorten(k, n) {
			left = pair{at, s.Downstream + min(s.DownstreamLen, n+s.DownstreamGaps)}
		}
	}
	return left
}

// cutDownstream is cutUpstream on the other side.
func (r *Runs) cutDownstream(at int64) (left pair) {
	for k := len(r.list) - 1; k >= 0 && r.list[k].downstreamEnd() > at; k-- {
		s := r.list[k]
		if n := at - s.Downstream; r.shorten(k, n) {
			left = pair{s.Upstream + min(s.UpstreamLen, n+s.UpstreamGaps), at}
		}
	}
	return left
}

// shorten leaves n offsets of the last stretch, which is number k, if it is a run, else none of it. It says whether n of them
// are left that it does not know.
func (r *Runs) shorten(k int, n int64) (unknown bool) {
	if n > 0 && r.list[k].isRun() {
		r.list[k].UpstreamLen, r.list[k].DownstreamLen = n, n
		return false
	}
	r.list = r.list[:k]
	return n > 0
}

// Tear notes that the source was passed over for a while: what stands in the gap before the next records may have been
// mirrored by somebody else.
func (r *Runs) Tear() { r.torn = true }

// CutSince says whether the list was cut since an older one of its partition was merged from it: the source went back, or the
// target did.
func (r *Runs) CutSince(older Runs) bool { return r.cuts.count > older.cuts.count }

// follow says whether the list can be what followed a sync older than all of it: not when the sync lies past the list's
// beginning on the target, nor past where either log was cut since the list was begun, for other records stand there by now.
func (r *Runs) follow(sync pair) bool {
	within := func(lowest, at int64) bool { return lowest == 0 || at < lowest-1 }
	return sync.downstream < r.list[0].Downstream && within(r.cuts.lowest.upstream, sync.upstream) && within(r.cuts.lowest.downstream, sync.downstream)
}

// Last returns where the newest record that is noted stands on both sides; false when none is.
func (r *Runs) Last() (upstream, downstream int64, ok bool) {
	k := len(r.list) - 1
	if k < 0 {
		return 0, 0, false
	}
	return r.list[k].upstreamEnd() - 1, r.list[k].downstreamEnd() - 1, true
}

// Stretches yields the stretches, the oldest first.
func (r *Runs) Stretches() iter.Seq[Stretch] { return slices.Values(r.list) }

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

// Translate returns the downstream offset at which a group goes on whose committed offset, the next one that it would read,
// is upstream, and how many records it may read again there at most: 0 in a run, and in a gap that is explained. It is never
// past a record that the group has not read, and rises with upstream. Past the last stretch it stays at its end: what came
// after was not mirrored yet, or is not noted. False when the list does not reach back that far.
//
// What stands twice on the target, because it was sent twice, is counted once: whoever reads there reads both.
func (r *Runs) Translate(upstream int64) (downstream, again int64, ok bool) {
	i := sort.Search(len(r.list), func(i int) bool { return r.list[i].Upstream > upstream }) - 1
	if i < 0 {
		return 0, 0, false
	}
	s := r.list[i]
	switch {
	case upstream < s.upstreamEnd():
		read := upstream - s.Upstream
		return s.Downstream + max(read-s.UpstreamGaps, 0), min(read, s.UpstreamGaps+s.DownstreamGaps), true
	case i+1 < len(r.list) && r.list[i+1].Explained:
		return s.downstreamEnd(), 0, true
	}
	return s.downstreamEnd(), upstream - s.upstreamEnd(), true // copies of what stands in the gap may lie there
}

// Inverse returns the upstream offset at which a reader of the source goes on that has read every copy below downstream. It
// is never past a record whose copy the reader has not read, and rises with downstream. False when the list does not reach
// back that far.
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
