package mirror

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// recreated goes over to the log of a topic that was deleted and made again under its name. A running consumer was seen to
// deliver offset 100 of the new log as if nothing had happened, so nothing but the id tells. Delivered records that the
// new log does not hold at their offsets closed the old one and go first; then the new log is read from its start. The
// change is committed before anything of the new log is sent, so that whoever takes over knows which log its tail is of.
func (t *Task) recreated(ctx context.Context, p *progress, topic Topic, d Delivery) error {
	t.options.Metrics.Add(TopicsRecreated, 1)
	t.options.Log.WarnContext(ctx, "source topic was deleted and made again: its new log is mirrored from the start",
		"partition", d.Partition.String(), "was", p.state.TopicID, "is", topic.ID, "next", p.state.Next)
	ends, err := shown(ctx, t.source.Ends, d.Partition) // a delivery of what a new leader does not show yet is of the new log
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
	return t.stepTo(ctx, p, resume{at: ends.Start}, ends.Start, d.end())
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
		if r != nil && Same(d.Records[n], r) {
			break
		}
		other = other || r != nil || d.Offsets[n] >= ends.LastStable
	}
	if other || n == len(d.Offsets) {
		old.Offsets, old.Records = d.Offsets[:n], d.Records[:n]
	}
	return old.from(p.state.Next), nil
}
