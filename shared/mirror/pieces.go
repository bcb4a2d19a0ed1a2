package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/tracker"
)

// Piece is a stretch of the source in the order in which the target must have it. Offsets that lie between its own, or
// between the watermark and its first, hold nothing to mirror: each was explained.
type Piece struct {
	Offsets []int64 // upstream, rising
	Records []*kgo.Record
}

func (p *Piece) add(offset int64, r *kgo.Record) {
	p.Offsets, p.Records = append(p.Offsets, offset), append(p.Records, r)
}

// plan yields what has to reach the target, from the watermark on, in pieces that follow each other.
type plan func(ctx context.Context, p *progress, d Delivery) iter.Seq2[Piece, error]

// pieces is the plan of a delivery: its records from the watermark on, and between them whatever the source holds in the
// holes. One piece, unless the holes hold more than a chunk. Where the source's log is another one than the delivery may
// have been read from, only the source counts.
func (t *Task) pieces(ctx context.Context, p *progress, d Delivery) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		p.start()
		if p.state.Next < p.state.TrustFrom {
			t.instead(ctx, p, d, yield)
			return
		}
		d := d.from(p.state.Next)
		if len(d.Offsets) == 0 {
			return
		}
		if p.state.NextDigest == nil && !t.believed(ctx, p, d, yield) {
			return
		}
		if d.contiguous(p.state.Next) {
			yield(Piece{Offsets: d.Offsets, Records: d.Records}, nil)
			return
		}
		t.repaired(ctx, p, d, yield)
	}
}

// believed says whether the source's log is the one that the delivery was read from. If it is not, or cannot be asked, it
// yields what to do instead.
func (t *Task) believed(ctx context.Context, p *progress, d Delivery, yield func(Piece, error) bool) bool {
	held, err := t.holds(ctx, p, d)
	switch {
	case err != nil:
		yield(Piece{}, err)
	case !held:
		t.distrust(ctx, p, d, yield)
	}
	return held && err == nil
}

// holds says whether the source's log is the one that the delivery was read from: it is when it holds the delivery's last
// record, for a log is cut from its end. That is asked where nothing else ties the two together, at the first contact, and
// when the source has filled the delivery's holes. Without that record, compacted away, the others tell; expired ones nobody
// can compare.
func (t *Task) holds(ctx context.Context, p *progress, d Delivery) (bool, error) {
	last := len(d.Offsets) - 1
	for froms := []int64{d.Offsets[last], d.Offsets[0]}; len(froms) > 0; froms = froms[1:] {
		from := froms[0]
		for span, err := range t.source.Walk(ctx, d.Partition, p.state.TopicID, from, d.end()) {
			var expired *ExpiredError
			switch {
			case errors.As(err, &expired) && expired.Start > from && expired.Start < d.end():
				froms = append(froms, expired.Start) // those that are left
				continue
			case errors.As(err, &expired):
				return true, nil
			case errors.Is(err, ErrUnstable):
				return t.reaches(ctx, d.Partition, d.end())
			case err != nil:
				return false, fmt.Errorf("compare delivery from %d with the source: %w", from, err)
			}
			for _, r := range span.Records {
				if i, ok := slices.BinarySearch(d.Offsets, r.Offset); ok && (!Same(d.Records[i], r) || i == last) {
					return Same(d.Records[i], r), nil
				}
			}
		}
	}
	return true, nil
}

// start gives the claim its tracker, at the settled watermark.
func (p *progress) start() { p.tracker = tracker.New(p.state.Next) }

// contiguous says whether the delivery goes on at next without a hole.
func (d Delivery) contiguous(next int64) bool {
	n := int64(len(d.Offsets))
	return n == 0 || d.Offsets[0] == next && d.Offsets[n-1] == next+n-1
}

// repaired yields a delivery with holes. Each hole is walked: what it holds is explained, or mirrored in its place, once it
// is certain that both are of the same log. A hole before the first record is walked from the record mirrored last on, which
// has to be there still.
func (t *Task) repaired(ctx context.Context, p *progress, d Delivery, yield func(Piece, error) bool) {
	var piece Piece
	position, fetched := p.state.Next, 0
	verified := p.state.NextDigest == nil || d.Offsets[0] == position
	if !verified {
		position--
	}
	flush := func() bool {
		if fetched > 0 && !t.believed(ctx, p, d, yield) {
			return false
		}
		whole := piece
		piece, fetched = Piece{}, 0
		return len(whole.Offsets) == 0 || yield(whole, nil)
	}
	peeked := t.peek(ctx, p, d)
	for i, offset := range d.Offsets {
		for span, err := range t.hole(ctx, p, peeked, position, offset) {
			if err == nil && !verified {
				span, err = p.behindLast(span)
			}
			verified = true
			switch {
			case errors.Is(err, ErrUnstable):
				if flush() {
					t.beyond(ctx, p, d, offset, yield)
				}
				return
			case err != nil:
				if flush() {
					yield(Piece{}, fmt.Errorf("hole %d to %d: %w", position, offset-1, err))
				}
				return
			}
			for _, r := range span.Records {
				piece.add(r.Offset, r)
				fetched += batchSize(r)
			}
			if fetched >= t.options.Chunk && !flush() {
				return
			}
		}
		piece.add(offset, d.Records[i])
		position = offset + 1
	}
	flush()
}

// Hole is a stretch of offsets that a delivery does not hold: From inclusive, To exclusive.
type Hole struct{ From, To int64 }

// holes are those between the delivery's records.
func (d Delivery) holes() []Hole {
	var holes []Hole
	for i, offset := range d.Offsets[min(1, len(d.Offsets)):] {
		if before := d.Offsets[i] + 1; before < offset {
			holes = append(holes, Hole{before, offset})
		}
	}
	return holes
}

// hole is a hole as it was peeked at, or else walked.
func (t *Task) hole(ctx context.Context, p *progress, peeked map[int64]Span, from, to int64) iter.Seq2[Span, error] {
	span, ok := peeked[from]
	if !ok || span.To != to {
		return t.walk(ctx, p, from, to)
	}
	return func(yield func(Span, error) bool) {
		t.explain(span)
		yield(span, nil)
	}
}

// walk walks a hole and counts what it finds. What expired is passed over.
func (t *Task) walk(ctx context.Context, p *progress, from, to int64) iter.Seq2[Span, error] {
	return func(yield func(Span, error) bool) {
		for position := from; position < to; {
			for span, err := range t.source.Walk(ctx, p.state.Partition, p.state.TopicID, position, to) {
				var expired *ExpiredError
				if errors.As(err, &expired) && expired.Start > position {
					p.lose(position, min(expired.Start, to))
					position = min(expired.Start, to)
					break
				}
				if err == nil {
					t.explain(span)
					position = span.To
				}
				if !yield(span, err) || err != nil {
					return
				}
			}
		}
	}
}

// explain counts what holds nothing to mirror, by kind, and what the trigger did not bring.
func (t *Task) explain(s Span) {
	t.options.Metrics.Add(OffsetsControl, s.Control)
	t.options.Metrics.Add(OffsetsAborted, s.Aborted)
	t.options.Metrics.Add(OffsetsCompacted, s.Compacted)
	t.options.Metrics.Add(RecordsFetched, int64(len(s.Records)))
}

// loss is a stretch of offsets whose records were gone before they were mirrored.
type loss struct{ from, to int64 }

// lose notes a loss. It counts once the watermark has passed it.
func (p *progress) lose(from, to int64) {
	if from = max(from, p.state.Next); from < to {
		p.losses = append(p.losses, loss{from, to})
	}
}

// beyond yields what to do about delivered records that the source does not hold: they lie past the end of its log. They
// are of a log that is no more, delivered late, and dropped; what the log holds instead is read from it. While it may yet
// turn out to hold them, that is an error: a transaction is open, or a new leader lags.
func (t *Task) beyond(ctx context.Context, p *progress, d Delivery, offset int64, yield func(Piece, error) bool) {
	ends, err := t.source.Ends(ctx, d.Partition)
	switch {
	case err != nil:
		yield(Piece{}, fmt.Errorf("source ends: %w", err))
	case ends.LogEnd > offset:
		yield(Piece{}, fmt.Errorf("%w: the source is stable up to %d, %d was delivered", ErrUnstable, ends.LastStable, offset))
	default:
		t.distrust(ctx, p, d, yield)
	}
}

// distrust yields what to do about a delivery that was read from another log: the source is compared with its copies once
// more, for what was found on the target may have been settled by that delivery, and then read instead.
func (t *Task) distrust(ctx context.Context, p *progress, d Delivery, yield func(Piece, error) bool) {
	if err := t.truncated(ctx, p, d); err != nil {
		yield(Piece{}, err)
		return
	}
	p.start()
	t.instead(ctx, p, d, yield)
}

// instead yields what the source holds where the delivery's records may be of a log that is no more, up to the delivery's
// end. What the delivery holds past the end of the log is dropped.
func (t *Task) instead(ctx context.Context, p *progress, d Delivery, yield func(Piece, error) bool) {
	ends, err := t.source.Ends(ctx, d.Partition)
	if err != nil {
		yield(Piece{}, fmt.Errorf("source ends: %w", err))
		return
	}
	if ends.LogEnd < p.state.Next {
		yield(Piece{}, fmt.Errorf("%w: it ends at %d", ErrStepBack, ends.LogEnd))
		return
	}
	to := min(d.end(), ends.LastStable)
	for piece, err := range t.read(ctx, p, to) {
		if !yield(piece, err) || err != nil {
			return
		}
	}
	if ends.LastStable < min(d.end(), ends.LogEnd) {
		yield(Piece{}, fmt.Errorf("%w: the source is stable up to %d", ErrUnstable, ends.LastStable))
		return
	}
	t.options.Metrics.Add(RecordsOrphaned, int64(len(d.from(max(to, p.state.Next)).Offsets)))
}

// behindLast takes the record that was mirrored last off the beginning of a span, if it is still there.
func (p *progress) behindLast(s Span) (Span, error) {
	if last := p.state.Next - 1; len(s.Records) > 0 && s.Records[0].Offset == last {
		if !bytes.Equal(digest(s.Records[0]), p.state.NextDigest) {
			return s, fmt.Errorf("%w: another record stands at %d", ErrStepBack, last)
		}
		s.Records = s.Records[1:]
	}
	return s, nil
}

// read yields what the source holds from the watermark to to (exclusive), a chunk at a time.
func (t *Task) read(ctx context.Context, p *progress, to int64) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		var piece Piece
		size, from := 0, p.state.Next
		verified := p.state.NextDigest == nil
		if !verified {
			from-- // the record mirrored last shows that it is still the same log
		}
		for span, err := range t.walk(ctx, p, from, max(from, to)) {
			if err == nil && !verified {
				span, err = p.behindLast(span)
			}
			verified = true
			if err != nil {
				if len(piece.Offsets) == 0 || yield(piece, nil) {
					yield(Piece{}, fmt.Errorf("read source from %d to %d: %w", p.state.Next, to, err))
				}
				return
			}
			for _, r := range span.Records {
				piece.add(r.Offset, r)
				if size += batchSize(r); size < t.options.Chunk {
					continue
				}
				if !yield(piece, nil) {
					return
				}
				piece, size = Piece{}, 0
			}
		}
		if len(piece.Offsets) > 0 {
			yield(piece, nil)
		}
	}
}
