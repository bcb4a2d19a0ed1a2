package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

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
func (t *Task) settleTail(ctx context.Context, p *progress, d Delivery) error {
	if !p.unsettled {
		return nil
	}
	ends, err := t.finalEnds(ctx, p.remote)
	if err != nil {
		return err
	}
	from := p.state.DownstreamNext
	visible, whole, err := gather(t.target.Read(ctx, p.remote, max(from, ends.Start), ends.HighWatermark))
	if err != nil {
		return fmt.Errorf("read target tail %d to %d: %w", max(from, ends.Start), ends.HighWatermark, err)
	}
	tail := tail{from: from, start: ends.Start, end: ends.HighWatermark, visible: visible}
	pending, err := t.pending(ctx, p, d, tail.positions())
	if err != nil {
		return err
	}
	found := tail.compare(pending.Records)
	if found.doubt || !whole || ends.HighWatermark < from {
		t.options.Metrics.Add(DuplicatesPossible, 1)
	}
	if n := found.matched; n > 0 {
		p.advanceTo(pending.Offsets[n-1]+1, pending.Records[n-1], found.downstream)
		t.options.Metrics.Add(RecordsSettled, int64(n))
	}
	p.state.DownstreamNext = max(from, ends.HighWatermark)
	p.unsettled = false
	return nil
}

// finalEnds waits until the remote partition's log end is its high watermark: an appended record is invisible to
// consumers while a follower stalls. The waiting rule's other half, the drain margin, is over before a claim is granted.
func (t *Task) finalEnds(ctx context.Context, remote mm2.TopicPartition) (Ends, error) {
	t.options.Metrics.Add(UnfencedTakeovers, 1)
	for {
		ends, err := t.target.Ends(ctx, remote)
		if err != nil {
			return Ends{}, fmt.Errorf("target ends of %s: %w", remote, err)
		}
		if ends.LogEnd == ends.HighWatermark {
			return ends, nil
		}
		timer := time.NewTimer(100 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return Ends{}, fmt.Errorf("wait for %s to replicate up to %d, it is at %d: %w", remote, ends.LogEnd, ends.HighWatermark, ctx.Err())
		}
	}
}

// pending returns the first n source records from Next on, fewer if there are fewer or if offsets are missing: from the
// delivery when it holds them, else fetched. An earlier owner may have sent what this delivery does not hold.
func (t *Task) pending(ctx context.Context, p *progress, d Delivery, n int) (Piece, error) {
	next := p.state.Next
	held, _ := d.from(next).contiguous(next)
	if len(held.Offsets) >= n {
		return Piece{Offsets: held.Offsets[:n], Records: held.Records[:n]}, nil
	}
	ends, err := t.source.Ends(ctx, d.Partition)
	if err != nil {
		return Piece{}, fmt.Errorf("source ends: %w", err)
	}
	from, to := next+int64(len(held.Offsets)), min(next+int64(n), ends.LastStable)
	if ends.Start > from || to <= from {
		return held, nil
	}
	fetched, _, err := gather(t.source.Read(ctx, d.Partition, from, to))
	if err != nil {
		return Piece{}, fmt.Errorf("read source records %d to %d: %w", from, to, err)
	}
	var rest Delivery
	for _, r := range fetched {
		rest.Offsets, rest.Records = append(rest.Offsets, r.Offset), append(rest.Records, r)
	}
	piece, _ := rest.contiguous(from)
	return Piece{Offsets: slices.Concat(held.Offsets, piece.Offsets), Records: slices.Concat(held.Records, piece.Records)}, nil
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

// mostShifts bounds the search for a shift, which compares the tail anew for each. Past it duplicates are possible, and
// counted, as when no shift fits.
const mostShifts = 1000

// tail is what the target holds at from (inclusive) to end (exclusive): the log starts at start, and visible are the
// records left there, control records among them.
type tail struct {
	from, start, end int64
	visible          []*kgo.Record
}

// match is the result of a comparison.
type match struct {
	matched    int   // how many pending records are on the target, from the first on
	downstream int64 // offset of the last of them
	doubt      bool  // a record that cannot be ours, or records that cannot be seen: duplicates are possible
}

// positions is how many records of ours the tail holds at most.
func (l tail) positions() int {
	n := max(l.end-l.from, 0)
	for _, r := range l.visible {
		if r.Attrs.IsControl() {
			n--
		}
	}
	return int(n)
}

// compare compares by position. A control record takes none; a missing offset (compacted away) takes one. When the log
// starts past from, the offsets below it may have held records or markers: the smallest shift at which everything visible
// matches is taken, never a larger one, for that could pass over a record that is not there.
func (l tail) compare(pending []*kgo.Record) match {
	hidden := max(min(l.start, l.end)-l.from, 0)
	if hidden == 0 {
		found, whole := l.shifted(pending, 0)
		found.doubt = !whole
		return found
	}
	for shift := range min(hidden, mostShifts) + 1 {
		if found, whole := l.shifted(pending, int(shift)); whole {
			found.doubt = true
			return found
		}
	}
	return match{doubt: true}
}

// shifted compares what is visible with the pending records from shift on. It returns how many pending records, from the
// first on, are proven by the last that matched, and whether everything visible matched.
func (l tail) shifted(pending []*kgo.Record, shift int) (found match, whole bool) {
	position, expected := shift, max(l.from, l.start)
	for _, r := range l.visible {
		position += int(r.Offset - expected) // compacted away
		expected = r.Offset + 1
		if r.Attrs.IsControl() {
			continue
		}
		if position >= len(pending) || !same(r, pending[position]) {
			return found, false
		}
		position++
		found = match{matched: position, downstream: r.Offset}
	}
	return found, true
}

// same compares everything that mirroring keeps. The timestamp of a LogAppendTime topic is the broker's own.
func same(target, source *kgo.Record) bool {
	if !sameBytes(target.Key, source.Key) || !sameBytes(target.Value, source.Value) || len(target.Headers) != len(source.Headers) {
		return false
	}
	const logAppendTime = 1
	if target.Attrs.TimestampType() != logAppendTime && target.Timestamp.UnixMilli() != source.Timestamp.UnixMilli() {
		return false
	}
	for i, h := range target.Headers {
		if h.Key != source.Headers[i].Key || !sameBytes(h.Value, source.Headers[i].Value) {
			return false
		}
	}
	return true
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
