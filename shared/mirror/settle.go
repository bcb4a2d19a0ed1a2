package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
)

// ErrStepBack says that the source no longer holds what was mirrored from it, and that nothing tells from where on it
// differs. The partition stops where it is; nothing is lost as long as the source keeps it.
var ErrStepBack = errors.New("the source no longer holds the record mirrored last: its log was truncated or regrown")

// settle makes sure that the positions still mean what they did when they were written, and moves them where they do not:
// behind what an earlier owner left on the target, back to where a truncated source differs, to the start of a topic that
// was made again. In the common case, a delivery that begins at the watermark of a released claim, it asks nobody.
func (t *Task) settle(ctx context.Context, p *progress, topic Topic, d Delivery) error {
	if p.unsettled {
		if _, err := t.remoteEnd(ctx, p.remote, topic.Partitions); err != nil { // it may have been deleted
			return err
		}
		if err := t.fence(ctx, p); err != nil {
			return err
		}
	}
	if was := p.state.TopicID; was != "" && topic.ID != "" && topic.ID != was {
		// It was asked beside the claim, perhaps before an owner who has seen a newer log.
		described, err := t.source.Topics(ctx, []string{d.Partition.Topic})
		if err != nil {
			return err
		}
		if topic = described[d.Partition.Topic]; topic.ID != "" && topic.ID != was {
			return t.recreated(ctx, p, topic, d)
		}
		p.distrustUpTo(d.end()) // it may have been read from the older one
	}
	if topic.ID != "" { // a broker of an older version among newer ones must not erase it
		p.state.TopicID = topic.ID
	}
	last, err := t.recheck(ctx, p, d)
	if err != nil {
		return err
	}
	if last != unchanged {
		return t.truncated(ctx, p, d)
	}
	if p.unsettled && p.state.NextDigest == nil && len(d.Offsets) > 0 { // nothing yet ties the delivery to this log
		held, err := t.holds(ctx, p, d)
		if err != nil {
			return err
		}
		if !held {
			p.distrustUpTo(d.end())
		}
	}
	p.proven = true
	t.options.Metrics.Add(RecordsRedelivered, int64(len(d.Offsets)-len(d.from(p.state.Next).Offsets)))
	return t.settleTail(ctx, p, t.pendingOf(ctx, p, d))
}

// verdict is what the source says about the record that was mirrored last.
type verdict uint8

const (
	unchanged verdict = iota
	changed           // another record is there, or the log ends below
	gone              // nothing is there: compacted away, or another log; what it keeps of the others tells
)

// recheck asks whether the source still holds the record that was mirrored last, delivered or else fetched: a log that was
// truncated and has regrown delivers the same offsets with other records. It is asked when a delivery holds what is below
// the watermark, of a partition that is stalled or not settled, for a step back that was found once must not be forgotten
// because the trigger goes on at next, where deliveries left records that may have shown one, and by catch-ups. A delivered
// record shows which log its delivery is of, not what the source holds now: of a doubtful partition, only the source is asked.
func (t *Task) recheck(ctx context.Context, p *progress, d Delivery) (verdict, error) {
	next := p.state.Next
	below := len(d.Offsets) > 0 && d.Offsets[0] < next
	doubtful := p.state.Stall != nil || p.state.Wanted > 0
	if !below && !doubtful && !p.unsettled && !d.isCatchUp() || next <= p.state.Origin {
		return unchanged, nil
	}
	i := sort.Search(len(d.Offsets), func(i int) bool { return d.Offsets[i] >= next-1 })
	if !doubtful && i < len(d.Offsets) && d.Offsets[i] == next-1 {
		return p.compareLast(d.Records[i]), nil
	}
	var expired *ExpiredError
	for span, err := range t.source.Walk(ctx, d.Partition, p.state.TopicID, next-1, next) {
		switch {
		case errors.As(err, &expired):
			return unchanged, nil // what expired cannot be compared, nor mirrored again
		case errors.Is(err, ErrUnstable):
			held, err := t.reaches(ctx, d.Partition, next)
			if err == nil && !held {
				return changed, nil
			}
			return unchanged, err
		case err != nil:
			return unchanged, fmt.Errorf("read source record %d: %w", next-1, err)
		}
		for _, r := range span.Records {
			return p.compareLast(r), nil
		}
		if span.Control+span.Aborted > 0 {
			return changed, nil // a record stood there, and no compaction leaves these
		}
	}
	return gone, nil
}

// compareLast compares a source record at next-1 with the digest of the one mirrored last, if it is known.
func (p *progress) compareLast(r *kgo.Record) verdict {
	if p.state.NextDigest == nil || bytes.Equal(digest(r), p.state.NextDigest) {
		return unchanged
	}
	return changed
}

// reaches says whether a log that a walk could not follow up to next ever held it: false when it ends below. An open
// transaction that hides it, or a new leader that does not yet know how far its log is replicated, is an error.
func (t *Task) reaches(ctx context.Context, tp mm2.TopicPartition, next int64) (bool, error) {
	ends, err := t.source.Ends(ctx, tp)
	if err != nil {
		return false, fmt.Errorf("source ends: %w", err)
	}
	if ends.LogEnd < next {
		return false, nil
	}
	return false, fmt.Errorf("%w: the source is stable up to %d, %d is not", ErrUnstable, ends.LastStable, next-1)
}

// from is the delivery less everything below next.
func (d Delivery) from(next int64) Delivery {
	i := sort.Search(len(d.Offsets), func(i int) bool { return d.Offsets[i] >= next })
	d.Offsets, d.Records = d.Offsets[i:], d.Records[i:]
	return d
}

// first is the offset of the delivery's first record; past every offset when it has none.
func (d Delivery) first() int64 {
	if len(d.Offsets) == 0 {
		return watermarkEnd
	}
	return d.Offsets[0]
}

// end is the offset behind the delivery's last record; 0 when it has none.
func (d Delivery) end() int64 {
	if len(d.Offsets) == 0 {
		return 0
	}
	return d.Offsets[len(d.Offsets)-1] + 1
}

// route addresses a record to the remote partition.
func route(r *kgo.Record, remote mm2.TopicPartition) {
	r.Topic, r.Partition = remote.Topic, remote.Partition
}
