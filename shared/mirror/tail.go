package mirror

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
)

// Log reads the partitions of one cluster. Only words of mm2 and kgo's record type appear in it, so that one adapter
// serves every use case.
type Log interface {
	// Ends asks the leader, never a cache. A partition that does not exist is ErrMissing.
	Ends(ctx context.Context, tp mm2.TopicPartition) (Ends, error)
	// Read yields what stands at from (inclusive) to to (exclusive), in order, and returns when it knows that there is no
	// more of it. Reading less than that is an error, never a short answer. The records are the caller's to keep.
	Read(ctx context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error]
}

// Ends are the ends of one partition's log.
type Ends struct {
	Start         int64 // offset of the first record
	LastStable    int64 // end of what a read_committed consumer sees, exclusive
	HighWatermark int64 // end of what any consumer sees, exclusive
	LogEnd        int64 // end of what the leader has, exclusive: past the high watermark while a follower is behind
}

// ErrMissing is returned for a topic or partition that does not exist.
var ErrMissing = errors.New("no such topic or partition")

// tailBytes bounds what is compared, in bytes of record batches. Ours is at most what a few payloads of 6 MB held; a longer tail is somebody else's.
const tailBytes = 64 << 20

// settleTail compares what an earlier owner may have left on the target past DownstreamNext with what is pending from Next
// on, and moves both past what is there already. It reads the tail raw, with control batches, once it is final.
func (t *Task) settleTail(ctx context.Context, p *progress, pending func(n int) (Piece, error)) error {
	if !p.unsettled {
		return nil
	}
	ends, err := t.finalEnds(ctx, p)
	if err != nil {
		return err
	}
	from := p.state.DownstreamNext
	visible, whole, err := gather(t.target.Read(ctx, p.remote, max(from, ends.Start), ends.HighWatermark))
	if err != nil {
		return fmt.Errorf("read target tail %d to %d: %w", max(from, ends.Start), ends.HighWatermark, err)
	}
	tail := Tail{From: from, Start: ends.Start, End: ends.HighWatermark, Visible: visible}
	expected, err := pending(tail.Positions())
	if err != nil {
		return err
	}
	found := tail.Compare(expected.Records)
	if ends.LogEnd < from {
		t.shortened(ctx, p, ends.LogEnd)
		found.Doubt, from = true, ends.LogEnd
	}
	if found.Doubt || !whole {
		t.options.Metrics.Add(DuplicatesPossible, 1)
		t.options.Log.WarnContext(ctx, "what an earlier owner left on the target cannot be told apart: duplicates are possible",
			"partition", p.state.Partition.String(), "downstream_from", from, "downstream_to", ends.HighWatermark, "matched", found.Matched)
	}
	if n := found.Matched; n > 0 {
		p.copied(expected, n, found.At)
		p.advanceTo(expected.Offsets[n-1]+1, expected.Records[n-1], found.At[n-1])
		t.options.Metrics.Add(RecordsSettled, int64(n))
	}
	p.state.DownstreamNext = max(from, ends.HighWatermark) // below from while what stood there before is not replicated yet
	p.unsettled = false
	return nil
}

// pendingOf returns the first n source records from the watermark on, fewer if there are fewer: from the delivery as far as
// it holds them without a hole, else fetched. An earlier owner may have sent what this delivery does not hold.
func (t *Task) pendingOf(ctx context.Context, p *progress, d Delivery) func(n int) (Piece, error) {
	return func(n int) (Piece, error) {
		var piece Piece
		if n == 0 {
			return piece, nil
		}
		next := p.state.Next
		if held := d.from(next); next >= p.state.TrustFrom {
			for i, offset := range held.Offsets {
				if len(piece.Offsets) == n || offset != next+int64(i) {
					break
				}
				piece.add(offset, held.Records[i])
			}
		}
		if len(piece.Offsets) == n {
			return piece, nil
		}
		ends, err := shown(ctx, t.source.Ends, d.Partition) // what a new leader does not show yet may have been sent
		if err != nil {
			return Piece{}, fmt.Errorf("source ends: %w", err)
		}
		from := next
		if held := len(piece.Offsets); held > 0 {
			from = piece.Offsets[held-1] + 1
		}
		if ends.Start > from {
			p.lose(from, ends.Start)
			from = ends.Start
		}
		for span, err := range t.source.Walk(ctx, d.Partition, p.state.TopicID, from, max(from, ends.LastStable)) {
			if err != nil {
				return Piece{}, fmt.Errorf("read source records from %d: %w", from, err)
			}
			for _, r := range span.Records {
				if piece.add(r.Offset, r); len(piece.Offsets) == n {
					return piece, nil
				}
			}
		}
		return piece, nil
	}
}

// gather collects what a read yields, up to tailBytes; whole says whether that was all.
func gather(read iter.Seq2[[]*kgo.Record, error]) (all []*kgo.Record, whole bool, err error) {
	size := 0
	for records, err := range read {
		if err != nil {
			return nil, false, err
		}
		for _, r := range records {
			if size += batchSize(r); size > tailBytes {
				return all, false, nil
			}
			all = append(all, r)
		}
	}
	return all, true, nil
}
