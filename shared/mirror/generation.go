package mirror

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
	"tidemark/shared/watermark"
)

// compared is how many offsets are compared at once in the search for the place where a source differs from its copy.
const compared = 1000

// recreated goes over to the log of a topic that was deleted and made again under its name. A running consumer was seen to
// deliver offset 100 of the new log as if nothing had happened, so nothing but the id tells. Delivered records that the
// new log does not hold at their offsets closed the old one and go first; then the new log is read from its start. The
// change is committed before anything of the new log is sent, so that whoever takes over knows which log its tail is of.
func (t *Task) recreated(ctx context.Context, p *progress, topic Topic, d Delivery) error {
	t.options.Metrics.Add(TopicsRecreated, 1)
	t.options.Log.WarnContext(ctx, "source topic was deleted and made again: its new log is mirrored from the start",
		"partition", d.Partition.String(), "was", p.state.TopicID, "is", topic.ID, "next", p.state.Next)
	ends, err := t.source.Ends(ctx, d.Partition)
	if err != nil {
		return fmt.Errorf("source ends: %w", err)
	}
	old, err := t.closing(ctx, p, topic, d, ends)
	if err != nil {
		return err
	}
	if err := t.settleTail(ctx, p, func(int) (Piece, error) { return Piece{Offsets: old.Offsets, Records: old.Records}, nil }); err != nil {
		return err
	}
	if rest := old.from(p.state.Next); len(rest.Offsets) > 0 {
		p.start()
		p.lose(p.state.Next, rest.Offsets[0]) // what lay between went with the old log
		if err := t.deliver(ctx, p, Piece{Offsets: rest.Offsets, Records: rest.Records}); err != nil {
			return err
		}
	}
	p.state.TopicID, p.state.Origin = topic.ID, ends.Start
	return t.stepTo(ctx, p, ends.Start, ends.Start, d.end())
}

// closing returns the delivered records that closed the old log: those before the first that the new log holds at its
// offset, unless all that the new log has to say about them is that it has none there (compacted away).
func (t *Task) closing(ctx context.Context, p *progress, topic Topic, d Delivery, ends Ends) (Delivery, error) {
	old := Delivery{Key: d.Key, Partition: d.Partition}
	if p.state.Next < p.state.TrustFrom {
		return old, nil // it may be of a log before the old one
	}
	held := map[int64]*kgo.Record{}
	if from, to := max(d.from(0).first(), ends.Start), min(d.end(), ends.LastStable); from < to {
		for span, err := range t.source.Walk(ctx, d.Partition, topic.ID, from, to) {
			if err != nil {
				return old, fmt.Errorf("read source records %d to %d: %w", from, to, err)
			}
			for _, r := range span.Records {
				held[r.Offset] = r
			}
		}
	}
	n, other := 0, false
	for ; n < len(d.Offsets); n++ {
		r := held[d.Offsets[n]]
		if r != nil && same(d.Records[n], r) {
			break
		}
		other = other || r != nil || d.Offsets[n] >= ends.LastStable
	}
	if other || n == len(d.Offsets) {
		old.Offsets, old.Records = d.Offsets[:n], d.Records[:n]
	}
	return old.from(p.state.Next), nil
}

// truncated goes back to where the source differs from its copy: an unclean election cut its log, and it may have grown
// again since. Never to the log's start, which would double what it still holds.
func (t *Task) truncated(ctx context.Context, p *progress, d Delivery) error {
	ends, err := t.source.Ends(ctx, d.Partition)
	if err != nil {
		return fmt.Errorf("source ends: %w", err)
	}
	last, err := t.recheck(ctx, p, Delivery{Partition: d.Partition})
	if err != nil {
		return err
	}
	at, err := t.difference(ctx, p, d.Partition, ends, last)
	if err != nil {
		return err
	}
	if at == p.state.Next {
		// the delivery is of another log
		p.state.TrustFrom, p.proven = max(p.state.TrustFrom, d.end()), true
		return t.settleTail(ctx, p, t.pendingOf(ctx, p, d))
	}
	t.options.Metrics.Add(TopicsTruncated, 1)
	t.options.Log.WarnContext(ctx, "source partition was truncated: it is mirrored again from where it differs",
		"partition", d.Partition.String(), "from", at, "next", p.state.Next, "source_end", ends.LogEnd)
	if p.unsettled { // what an earlier owner left is of the log that is no more
		target, err := t.finalEnds(ctx, p)
		if err != nil {
			return err
		}
		p.state.DownstreamNext, p.unsettled = max(p.state.DownstreamNext, target.HighWatermark), false
	}
	return t.stepTo(ctx, p, at, ends.Start, d.end())
}

// largestBatch is how many records the trigger brings of a partition at most (AWS: BatchSize of an event source mapping).
const largestBatch = 10_000

// stepTo commits that the partition goes on at next, below where it was or in another log. Until it has passed whatever the
// trigger can have read of the log that is no more, a batch past where it was, the source is read instead of deliveries.
func (t *Task) stepTo(ctx context.Context, p *progress, next, start, delivered int64) error {
	s := &p.state
	s.TrustFrom = max(s.TrustFrom, max(s.Next, delivered)+largestBatch)
	p.runs.Cut(next)
	s.Next, s.NextDigest, s.DownstreamLast = next, nil, watermark.None
	p.losses = nil    // those ahead were of the other log
	if start > next { // retention was faster
		p.lose(next, start)
		s.Next = start
	}
	p.passLosses()
	p.moved, p.proven = true, true
	return t.goOn(ctx, p)
}

// difference is the first offset at which the source differs from its copy on the target, Next if it does not. It looks
// from the newest stretch of the runs back, compared offsets at a time, until a record equals its copy: a truncated log
// differs at its end. A binary search would be misled by a record that happens to equal the one that it replaced. What
// lies between that record and the difference, in no stretch or without a copy, counts as different: rather twice than
// never.
func (t *Task) difference(ctx context.Context, p *progress, tp mm2.TopicPartition, ends Ends, last verdict) (int64, error) {
	next := p.state.Next
	at, seen, unseen := min(next, ends.LogEnd), next == p.state.Origin, false
	if last == changed {
		at = min(at, next-1)
	}
	for s := range p.runs.Backward() {
		if s.UpstreamLen-s.UpstreamGaps > mostCompared && s.UpstreamGaps+s.DownstreamGaps > 0 {
			return 0, fmt.Errorf("%w: it differs further back than can be compared", ErrStepBack)
		}
		for _, part := range slices.Backward(parts(s)) {
			found, err := t.compare(ctx, p, tp, part, ends)
			if err != nil {
				return 0, err
			}
			at, seen, unseen = min(at, found.differs), seen || found.differs < watermarkEnd, unseen || found.alone
			if found.equal {
				if at < next && found.behind < at {
					at, unseen = found.behind, true
				}
				return t.back(ctx, at, unseen && at < next), nil
			}
		}
	}
	switch {
	case !seen && at < next:
		return 0, ErrStepBack // no copy is left to tell from where on
	case at < next && p.state.Origin < at:
		at, unseen = p.state.Origin, true
	}
	return t.back(ctx, at, unseen && at < next), nil
}

// mostCompared bounds a stretch with gaps, which is compared whole.
const mostCompared = 100_000

// back is where to go on; unseen says whether that is further back than what is known to differ.
func (t *Task) back(ctx context.Context, at int64, unseen bool) int64 {
	if unseen {
		t.options.Metrics.Add(DuplicatesPossible, 1)
		t.options.Log.WarnContext(ctx, "copies to compare the source with are gone from the target: duplicates are possible", "from", at)
	}
	return at
}

// watermarkEnd is past every offset.
const watermarkEnd = 1<<63 - 1

// parts cuts a run into what is compared at once. A stretch with gaps is compared whole.
func parts(s offsetsync.Stretch) []offsetsync.Stretch {
	if s.UpstreamGaps != 0 || s.DownstreamGaps != 0 {
		return []offsetsync.Stretch{s}
	}
	var all []offsetsync.Stretch
	for done := int64(0); done < s.UpstreamLen; done += compared {
		n := min(compared, s.UpstreamLen-done)
		all = append(all, offsetsync.Stretch{Upstream: s.Upstream + done, Downstream: s.Downstream + done, UpstreamLen: n, DownstreamLen: n})
	}
	return all
}

// comparison is what comparing a stretch shows.
type comparison struct {
	differs int64 // from where on it may differ: behind the last record that equals its copy; watermarkEnd if nothing does
	equal   bool  // a record equals its copy
	behind  int64 // the offset behind the last that does
	alone   bool  // the source has records whose copies are gone
}

// compare compares one stretch of the source with its copy, record by record in order. In a run a record that is gone on
// one side is left out; in a stretch with gaps there is no telling which, so that it has to be complete.
func (t *Task) compare(ctx context.Context, p *progress, tp mm2.TopicPartition, s offsetsync.Stretch, ends Ends) (comparison, error) {
	end := s.Upstream + s.UpstreamLen
	to := min(end, ends.LastStable)
	source, err := t.committed(ctx, tp, p.state.TopicID, max(s.Upstream, ends.Start), to)
	if err != nil {
		return comparison{}, err
	}
	target, _, err := gather(existing(ctx, t.target, p.remote, s.Downstream, s.Downstream+s.DownstreamLen))
	if err != nil {
		return comparison{}, fmt.Errorf("read target records %d to %d: %w", s.Downstream, s.Downstream+s.DownstreamLen, err)
	}
	target = slices.DeleteFunc(target, func(r *kgo.Record) bool { return r.Attrs.IsControl() })
	copies := make(map[int64]*kgo.Record, len(target))
	for i, r := range target {
		switch {
		case s.UpstreamGaps+s.DownstreamGaps == 0:
			copies[s.Upstream+r.Offset-s.Downstream] = r
		case len(source) == len(target):
			copies[source[i].Offset] = r
		}
	}
	found := comparison{differs: watermarkEnd, behind: s.Upstream}
	for _, r := range source {
		switch c := copies[r.Offset]; {
		case c == nil:
			found.alone = true
		case same(c, r):
			found.equal, found.behind = true, r.Offset+1
		default:
			found.differs = found.behind
			return found, nil
		}
	}
	if ends.LogEnd < end {
		found.differs = min(found.behind, ends.LogEnd)
	}
	return found, nil
}

// committed reads what the source holds between two offsets, from its start if that is later.
func (t *Task) committed(ctx context.Context, tp mm2.TopicPartition, topicID string, from, to int64) ([]*kgo.Record, error) {
	var all []*kgo.Record
	if from >= to {
		return nil, nil
	}
	for span, err := range t.source.Walk(ctx, tp, topicID, from, to) {
		if err != nil {
			return nil, fmt.Errorf("read source records %d to %d: %w", from, to, err)
		}
		all = append(all, span.Records...)
	}
	return all, nil
}

// existing reads a log between two offsets as far as it exists.
func existing(ctx context.Context, log Log, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	return func(yield func([]*kgo.Record, error) bool) {
		ends, err := log.Ends(ctx, tp)
		if errors.Is(err, ErrMissing) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for records, err := range log.Read(ctx, tp, max(from, ends.Start), min(to, ends.HighWatermark)) {
			if !yield(records, err) {
				return
			}
		}
	}
}

// first is the offset of the delivery's first record; past every offset when it has none.
func (d Delivery) first() int64 {
	if len(d.Offsets) == 0 {
		return watermarkEnd
	}
	return d.Offsets[0]
}
