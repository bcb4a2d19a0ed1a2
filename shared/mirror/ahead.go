package mirror

import "context"

// lookahead is a look into a delivery's holes that is taken beside the claim: round trips to the source's leader, which
// would come on top of those to the state table otherwise. What it finds is as good as the delivery itself, which was read
// earlier still; it counts only for the topic whose id the claim goes by.
type lookahead struct {
	stop  context.CancelFunc
	done  chan struct{}
	topic string // id; empty: nothing was looked into
	spans map[int64]Span
}

// lookAhead looks into the holes of a delivery, as soon as the topic's id is known; nil when it has none.
func (t *Task) lookAhead(ctx context.Context, inv *invocation, d Delivery) *lookahead {
	if d.contiguous(d.first()) {
		return nil
	}
	ctx, cancel := t.leaveMargin(ctx)
	l := &lookahead{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		topic, err := inv.topic(d.Partition)
		if err != nil || topic.ID == "" || ctx.Err() != nil {
			return
		}
		l.spans, l.topic = t.source.Peek(ctx, d.Partition, topic.ID, d.holes()), topic.ID
	}()
	return l
}

// end ends a look that nobody waits for any more. When it returns, nothing of it runs.
func (l *lookahead) end() {
	if l == nil {
		return
	}
	l.stop()
	<-l.done
}

// of returns what was found in the topic with an id; false if it was not looked into.
func (l *lookahead) of(id string) (map[int64]Span, bool) {
	if l == nil {
		return nil, false
	}
	<-l.done
	return l.spans, l.topic != "" && l.topic == id
}

// peek returns what is known of a delivery's holes, by where they begin.
func (t *Task) peek(ctx context.Context, p *progress, d Delivery) map[int64]Span {
	if spans, ok := p.ahead.of(p.state.TopicID); ok {
		return spans
	}
	return t.source.Peek(ctx, d.Partition, p.state.TopicID, d.holes())
}
