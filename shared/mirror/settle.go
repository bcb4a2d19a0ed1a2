package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"sort"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
	"tidemark/shared/tracker"
)

// What a delivery may show that cannot be mirrored as it stands. Each stops its partition where it is; nothing is passed
// over and nothing is lost as long as the source keeps it.
var (
	// ErrHole says that offsets are missing: the trigger dropped records, or the source has none there (compaction,
	// transaction markers).
	ErrHole = errors.New("offsets are missing from what the trigger delivered (is the source topic compacted or transactional?)")
	// ErrStepBack says that the source no longer holds what was mirrored from it: its log was truncated.
	ErrStepBack = errors.New("the source no longer holds the record mirrored last: its log was truncated or regrown")
	// ErrRecreated says that the source topic was deleted and made again under its name.
	ErrRecreated = errors.New("the source topic was deleted and made again")
)

// Piece is a stretch of records in the order in which the target must have them.
type Piece struct {
	Offsets []int64 // upstream, rising by one
	Records []*kgo.Record
}

// settle yields what has to reach the target, from the watermark to the delivery's end, in pieces that follow each other
// without a gap. In the common case, a delivery that begins at the watermark of a released claim, it asks nobody.
func (t *Task) settle(ctx context.Context, p *progress, topic Topic, d Delivery) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		if err := t.position(ctx, p, topic, d); err != nil {
			yield(Piece{}, err)
			return
		}
		p.tracker = tracker.New(p.state.Next)
		piece, gap := d.from(p.state.Next).contiguous(p.state.Next)
		if len(piece.Offsets) > 0 && !yield(piece, nil) {
			return
		}
		if gap != nil {
			yield(Piece{}, gap)
		}
	}
}

// position proves that the watermark still means what it did, and moves it past what is on the target already.
func (t *Task) position(ctx context.Context, p *progress, topic Topic, d Delivery) error {
	if err := sameTopic(p, topic); err != nil {
		return err
	}
	if err := t.redelivered(ctx, p, d); err != nil {
		return err
	}
	p.proven = true
	t.options.Metrics.Add(RecordsRedelivered, int64(len(d.Offsets)-len(d.from(p.state.Next).Offsets)))
	return t.settleTail(ctx, p, d)
}

// sameTopic compares the topic's id with the one that the positions belong to. Brokers before 2.8 have none.
func sameTopic(p *progress, topic Topic) error {
	if p.state.TopicID != "" && topic.ID != "" && topic.ID != p.state.TopicID {
		return fmt.Errorf("%w: id %s was mirrored, the source now has %s", ErrRecreated, p.state.TopicID, topic.ID)
	}
	if topic.ID != "" { // a broker of an older version among newer ones must not erase it
		p.state.TopicID = topic.ID
	}
	return nil
}

// redelivered proves that a delivery below the watermark is one: the record at next-1, delivered or else fetched, must be
// the one that was mirrored. A source that was truncated and has regrown delivers the same offsets with other records. A
// stalled partition proves it every time: a step back that was found once must not be forgotten because the trigger goes
// on at next. Without a digest nothing was mirrored yet, and what is below the start is not wanted.
func (t *Task) redelivered(ctx context.Context, p *progress, d Delivery) error {
	next := p.state.Next
	below := len(d.Offsets) > 0 && d.Offsets[0] < next
	if p.state.NextDigest == nil || !below && p.state.Stall == nil {
		return nil
	}
	i := sort.Search(len(d.Offsets), func(i int) bool { return d.Offsets[i] >= next-1 })
	if i < len(d.Offsets) && d.Offsets[i] == next-1 {
		return p.verify(d.Records[i])
	}
	ends, err := t.source.Ends(ctx, d.Partition)
	if err != nil {
		return fmt.Errorf("source ends: %w", err)
	}
	switch {
	case ends.HighWatermark < next:
		return fmt.Errorf("%w: it ends at %d", ErrStepBack, ends.HighWatermark)
	case ends.LastStable < next:
		return fmt.Errorf("an open transaction on the source hides record %d: it is stable up to %d", next-1, ends.LastStable)
	case ends.Start >= next && !below:
		return nil
	case ends.Start >= next:
		return fmt.Errorf("%w: record %d has expired, the log starts at %d: nothing can prove the redelivery", ErrStepBack, next-1, ends.Start)
	}
	for records, err := range t.source.Read(ctx, d.Partition, next-1, next) {
		if err != nil {
			return fmt.Errorf("read source record %d: %w", next-1, err)
		}
		for _, r := range records {
			return p.verify(r)
		}
	}
	if !below {
		return nil
	}
	return fmt.Errorf("%w: nothing is left at %d, truncated or compacted away", ErrStepBack, next-1)
}

// verify compares a source record at next-1 with the digest of the one mirrored last.
func (p *progress) verify(r *kgo.Record) error {
	if !bytes.Equal(digest(r), p.state.NextDigest) {
		return fmt.Errorf("%w: another record stands at %d", ErrStepBack, p.state.Next-1)
	}
	return nil
}

// from is the delivery less everything below next.
func (d Delivery) from(next int64) Delivery {
	i := sort.Search(len(d.Offsets), func(i int) bool { return d.Offsets[i] >= next })
	d.Offsets, d.Records = d.Offsets[i:], d.Records[i:]
	return d
}

// contiguous is the part of the delivery that follows next without a gap, and the hole that ends it, if one does.
func (d Delivery) contiguous(next int64) (Piece, error) {
	n := sort.Search(len(d.Offsets), func(i int) bool { return d.Offsets[i] != next+int64(i) })
	piece := Piece{Offsets: d.Offsets[:n], Records: d.Records[:n]}
	if n < len(d.Offsets) {
		return piece, fmt.Errorf("%w: %d to %d", ErrHole, next+int64(n), d.Offsets[n]-1)
	}
	return piece, nil
}

// route addresses a record to the remote partition.
func route(r *kgo.Record, remote mm2.TopicPartition) {
	r.Topic, r.Partition = remote.Topic, remote.Partition
}
