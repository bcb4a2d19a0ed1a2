package mirror

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// truncated goes back to where the source differs from its copy: an unclean election cut its log, and it may have grown
// again since. Never to the log's start, which would double what it still holds.
func (t *Task) truncated(ctx context.Context, p *progress, d Delivery) error {
	ends, err := shown(ctx, t.source.Ends, d.Partition) // what a new leader does not show yet would count as different
	if err != nil {
		return fmt.Errorf("source ends: %w", err)
	}
	last, err := t.recheck(ctx, p, Delivery{Partition: d.Partition})
	if err != nil {
		return err
	}
	from, err := t.difference(ctx, p, d.Partition, ends, last)
	if err != nil {
		return err
	}
	if from.at == p.state.Next {
		p.distrustUpTo(d.end()) // it is of another log
		p.proven = true
		return t.settleTail(ctx, p, t.pendingOf(ctx, p, d))
	}
	t.options.Metrics.Add(TopicsTruncated, 1)
	t.options.Log.WarnContext(ctx, "source partition was truncated: it is mirrored again from where it differs",
		"partition", d.Partition.String(), "from", from.at, "next", p.state.Next, "source_end", ends.LogEnd)
	if p.unsettled { // what an earlier owner left is of the log that is no more
		target, err := t.finalEnds(ctx, p)
		if err != nil {
			return err
		}
		p.state.DownstreamNext, p.unsettled = max(p.state.DownstreamNext, target.HighWatermark), false
	}
	return t.stepTo(ctx, p, from, ends.Start, d.end())
}

// largestBatch is how many records the trigger brings of a partition at most (AWS: BatchSize of an event source mapping).
const largestBatch = 10_000

// resume is where a partition goes on whose log is another one.
type resume struct {
	at    int64
	equal *kgo.Record // the last record of the source that equals its copy; nil: none does
}

// stepTo commits that the partition goes on below where it was, or in another log. Until it has passed whatever the trigger
// can have read of the log that is no more, a batch past where it was, the source is read instead of deliveries.
func (t *Task) stepTo(ctx context.Context, p *progress, from resume, start, delivered int64) error {
	s, next := &p.state, from.at
	s.TrustFrom = max(s.TrustFrom, max(s.Next, delivered)+largestBatch)
	p.runs.Cut(next)
	s.Next, s.NextDigest, s.DownstreamLast = next, nil, watermark.None
	if from.equal != nil && from.equal.Offset == next-1 {
		s.NextDigest = digest(from.equal)
	}
	p.losses = nil    // those ahead were of the other log
	if start > next { // retention was faster
		p.lose(next, start)
		s.Next, s.NextDigest = start, nil
	}
	p.passLosses()
	p.moved, p.proven = true, false // until it is written, the trigger has to bring everything again
	if err := t.goOn(ctx, p); err != nil {
		return err
	}
	p.proven = true
	return nil
}

// difference is the first offset at which the source differs from its copy on the target, Next if it does not. It looks
// from the newest stretch of the runs back, compared offsets at a time, until a record equals its copy: a truncated log
// differs at its end. A binary search would be misled by a record that happens to equal the one that it replaced. What
// lies between that record and the difference, in no stretch or without a copy, counts as different: rather twice than
// never.
func (t *Task) difference(ctx context.Context, p *progress, tp mm2.TopicPartition, ends Ends, last verdict) (resume, error) {
	next := p.state.Next
	at, seen, unseen := min(next, ends.LogEnd), next == p.state.Origin, false
	if last == changed {
		at = min(at, next-1)
	}
	for s := range p.runs.Backward() {
		if s.UpstreamLen-s.UpstreamGaps > mostCompared && s.UpstreamGaps+s.DownstreamGaps > 0 {
			return resume{}, fmt.Errorf("%w: it differs further back than can be compared", ErrStepBack)
		}
		for _, part := range slices.Backward(parts(s)) {
			found, err := t.compare(ctx, p, tp, part, ends)
			if err != nil {
				return resume{}, err
			}
			at, seen, unseen = min(at, found.differs), seen || found.differs < watermarkEnd, unseen || found.alone
			if found.equal != nil {
				if behind := found.equal.Offset + 1; at < next && behind < at {
					at, unseen = behind, true
				}
				t.warn(ctx, at, unseen && at < next)
				return resume{at: at, equal: found.equal}, nil
			}
		}
	}
	switch {
	case !seen && at < next:
		return resume{}, ErrStepBack // no copy is left to tell from where on
	case at < next && p.state.Origin < at:
		at, unseen = p.state.Origin, true
	}
	t.warn(ctx, at, unseen && at < next)
	return resume{at: at}, nil
}

// mostCompared bounds a stretch with gaps, which is compared whole.
const mostCompared = 100_000

// warn says that a partition goes on further back than what is known to differ.
func (t *Task) warn(ctx context.Context, at int64, unseen bool) {
	if unseen {
		t.options.Metrics.Add(DuplicatesPossible, 1)
		t.options.Log.WarnContext(ctx, "copies to compare the source with are gone from the target: duplicates are possible", "from", at)
	}
}
