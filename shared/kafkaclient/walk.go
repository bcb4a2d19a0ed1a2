package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// errMoved ends a walk whose partition got another leader on the way: that one's log may be another, and the walk would
// put two together.
var errMoved = errors.New("the partition's leadership moved while it was read")

// Walk implements mirror.Source, one Fetch after another, each about as large as what is left: a hole of one marker costs a
// request and a few hundred bytes. The leader is known from the walk before, and asked for again when it is not it any more.
func (s *Source) Walk(ctx context.Context, tp mm2.TopicPartition, id string, from, to int64) iter.Seq2[mirror.Span, error] {
	return func(yield func(mirror.Span, error) bool) {
		w := sourceWalk{walk: walk{cluster: s.cluster, tp: tp, isolation: 1, control: true}, source: s, id: id, to: to}
		w.leader = s.known(tp, id)
		for position := from; position < to; {
			span, err := w.next(ctx, position)
			if err != nil {
				s.leaders.Delete(tp)
				yield(mirror.Span{}, fmt.Errorf("walk %s at %d: %w", tp, position, err))
				return
			}
			s.leaders.Store(tp, w.leader)
			if span.To > span.From && !yield(span, nil) {
				return
			}
			position = span.To
		}
	}
}

// known is who led the topic of that id when a walk asked last; nil if none did, or the topic was made again since.
func (s *Source) known(tp mm2.TopicPartition, id string) *leader {
	if known, ok := s.leaders.Load(tp); ok && (id == "" || topicID(known.(*leader).topic) == id) {
		return known.(*leader)
	}
	return nil
}

// sourceWalk is a walk under one leader.
type sourceWalk struct {
	walk
	source *Source
	id     string // of the topic; empty: whichever has the name
	to     int64
	first  *leader  // who answered first
	found  contents // of the last answer
}

// next returns the span of one answer. It is empty when the leader had nothing to say yet.
func (w *sourceWalk) next(ctx context.Context, position int64) (mirror.Span, error) {
	var answer *kmsg.FetchResponseTopicPartition
	err := w.cluster.ask(ctx, w.tp, &w.leader, func(l leader) (err error) {
		if id := topicID(l.topic); w.id != "" && id != "" && id != w.id {
			return fmt.Errorf("%w: topic %s has the id %s, not %s", mirror.ErrMissing, w.tp.Topic, id, w.id)
		}
		if answer, err = w.request(ctx, l, position, 0, guess(w.to-position)); err != nil {
			return err
		}
		if w.first == nil {
			w.first = &l
		}
		if w.first.epoch != l.epoch {
			return errMoved
		}
		return nil
	})
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange):
		return mirror.Span{}, w.outOfRange(ctx, position)
	case errors.Is(err, kerr.UnknownTopicID):
		return mirror.Span{}, fmt.Errorf("%w: %w", mirror.ErrMissing, err)
	case err != nil:
		return mirror.Span{}, err
	case answer.LogStartOffset > position:
		return mirror.Span{}, &mirror.ExpiredError{Start: answer.LogStartOffset}
	case answer.LastStableOffset <= position:
		return mirror.Span{}, mirror.ErrUnstable
	}
	found, err := w.classify(answer, position)
	if err != nil {
		return mirror.Span{}, err
	}
	if found.next == position {
		time.Sleep(10 * time.Millisecond)
	}
	w.found = found
	return found.span(position, min(found.next, w.to)), nil
}

// outOfRange says on which side of the log position lies.
func (w *sourceWalk) outOfRange(ctx context.Context, position int64) error {
	ends, err := w.cluster.Ends(ctx, w.tp)
	switch {
	case err != nil:
		return err
	case position < ends.Start:
		return &mirror.ExpiredError{Start: ends.Start}
	}
	return mirror.ErrUnstable
}

// guess is how much to ask for: 256 bytes an offset, for a broker returns the first batch whole in any case.
func guess(offsets int64) int32 {
	const each, most = 1 << 8, 4 << 20
	return int32(min(offsets, most/each)) * each
}

// contents are what an answer holds, by kind and rising.
type contents struct {
	next             int64 // the position behind it
	records          []*kgo.Record
	control, aborted []int64
}

// classify sorts what an answer holds from position on by kind. Aborted records are told by their batches' headers, or else
// by reading what is left of the answer once more as if nothing had been aborted.
func (w *sourceWalk) classify(answer *kmsg.FetchResponseTopicPartition, position int64) (contents, error) {
	var c contents
	c.aborted, c.next = trim(answer, position, w.to)
	opts := kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true, Offset: position, IsolationLevel: kgo.ReadCommitted(), Topic: w.tp.Topic, Partition: w.tp.Partition,
	}
	fetched, next := kgo.ProcessFetchPartition(opts, answer, kgo.DefaultDecompressor(), nil)
	if fetched.Err != nil {
		return contents{}, fetched.Err
	}
	c.next = max(c.next, next)
	for _, r := range fetched.Records {
		if r.Attrs.IsControl() {
			c.control = append(c.control, r.Offset)
		} else {
			c.records = append(c.records, r)
		}
	}
	if len(answer.AbortedTransactions) == 0 {
		return c, nil
	}
	known := make(map[int64]bool, len(fetched.Records))
	for _, r := range fetched.Records {
		known[r.Offset] = true
	}
	opts.IsolationLevel = kgo.ReadUncommitted()
	all, _ := kgo.ProcessFetchPartition(opts, answer, kgo.DefaultDecompressor(), nil)
	for _, r := range all.Records {
		if !known[r.Offset] {
			c.aborted = append(c.aborted, r.Offset)
		}
	}
	slices.Sort(c.aborted)
	return c, nil
}

// span is what the contents say of a stretch within them.
func (c contents) span(from, to int64) mirror.Span {
	s := mirror.Span{From: from, To: to, Control: within(c.control, from, to), Aborted: within(c.aborted, from, to)}
	first := sort.Search(len(c.records), func(i int) bool { return c.records[i].Offset >= from })
	last := sort.Search(len(c.records), func(i int) bool { return c.records[i].Offset >= to })
	s.Records = c.records[first:last:last]
	s.Compacted = to - from - int64(last-first) - s.Control - s.Aborted
	return s
}

// within counts the offsets from from (inclusive) to to (exclusive).
func within(offsets []int64, from, to int64) int64 {
	first, _ := slices.BinarySearch(offsets, from)
	last, _ := slices.BinarySearch(offsets, to)
	return int64(last - first)
}
