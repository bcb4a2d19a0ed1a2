package checkpoint

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/offsetsync"
	"tidemark/shared/watermark"
)

// syncs is the offset-syncs topic and the store made of it.
type syncs struct {
	cluster Cluster
	feed    feed
	store   *offsetsync.Store
}

func newSyncs(c Cluster, topic string) *syncs {
	return &syncs{cluster: c, feed: feed{log: c.Log, topic: topic}, store: offsetsync.New()}
}

// sync brings the store up to date, writes the syncs that the items call for, and reads them back: what is translated by
// is what stands in the topic, nothing else.
func (t *Task) sync(ctx context.Context, held func(context.Context) error, states []watermark.State) error {
	if err := t.readSyncs(ctx); err != nil {
		return err
	}
	for _, tp := range Outdated(states, t.syncs.store) {
		t.syncs.store.Doubt(tp)
	}
	due := DueSyncs(states, t.syncs.store)
	if len(due) == 0 {
		return nil
	}
	records := make([]*kgo.Record, len(due))
	for i, s := range due {
		r, err := s.Record(t.syncs.feed.topic)
		if err != nil {
			return fmt.Errorf("encode sync of %s: %w", s.TopicPartition, err)
		}
		records[i] = r
	}
	if err := held(ctx); err != nil {
		return err
	}
	if err := t.syncs.cluster.Writer.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("write %d syncs to %s: %w", len(records), t.syncs.feed.topic, err)
	}
	t.metrics.Add(SyncsWritten, int64(len(records)))
	return t.readSyncs(ctx)
}

// readSyncs reads what is new in the topic.
func (t *Task) readSyncs(ctx context.Context) error {
	store := t.syncs.store
	forget := func() { store.Load(offsetsync.History) } // the checkpoints are read before anything is translated
	skipped, err := t.syncs.feed.read(ctx, forget, func(r *kgo.Record) error { return take(store, r) })
	t.metrics.Add(UndecodableRecords, int64(skipped))
	if err == nil {
		store.Loaded()
	}
	return err
}
