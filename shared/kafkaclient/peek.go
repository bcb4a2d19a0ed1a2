package kafkaclient

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// Peek implements mirror.Source. Holes that lie far apart are asked about one by one, side by side over one connection, so
// that their round trips overlap: a few hundred bytes each. Where they lie close, on a compacted topic or between small
// transactions, what stands between them is read once more: a request for each would take longer.
func (s *Source) Peek(ctx context.Context, tp mm2.TopicPartition, id string, holes []mirror.Hole) map[int64]mirror.Span {
	const near = 64 // offsets from one to the next, on average
	if len(holes) < 2 {
		return nil
	}
	known := s.known(tp, id)
	first, end := holes[0].From, holes[len(holes)-1].To
	start := func(to int64) *sourceWalk {
		w := walk{cluster: s.cluster, tp: tp, isolation: 1, control: true, leader: known}
		return &sourceWalk{walk: w, source: s, id: id, to: to}
	}
	if end-first < near*int64(len(holes)) {
		return start(end).scan(ctx, holes)
	}
	return sideBySide(ctx, holes, start)
}

// sideBySide asks about each hole.
func sideBySide(ctx context.Context, holes []mirror.Hole, start func(to int64) *sourceWalk) map[int64]mirror.Span {
	const together = 16
	var mu sync.Mutex
	peeked := make(map[int64]mirror.Span, len(holes))
	var group errgroup.Group
	group.SetLimit(together)
	for _, h := range holes {
		group.Go(func() error {
			if span, err := start(h.To).next(ctx, h.From); err == nil && span.To == h.To {
				mu.Lock()
				defer mu.Unlock()
				peeked[h.From] = span
			}
			return nil // what is not explained is walked
		})
	}
	_ = group.Wait() // never an error: see above
	return peeked
}

// scan reads from the first hole to the last and takes the holes out of what it finds.
func (w *sourceWalk) scan(ctx context.Context, holes []mirror.Hole) map[int64]mirror.Span {
	peeked := make(map[int64]mirror.Span, len(holes))
	for position := holes[0].From; position < w.to; {
		span, err := w.next(ctx, position)
		if err != nil {
			return peeked
		}
		for len(holes) > 0 && holes[0].To <= span.To {
			if holes[0].From >= position { // one that two answers share is walked
				peeked[holes[0].From] = w.found.span(holes[0].From, holes[0].To)
			}
			holes = holes[1:]
		}
		position = span.To
	}
	return peeked
}
