package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
)

// checkpoints is the checkpoints topic and the last checkpoint of each position in it.
type checkpoints struct {
	cluster Cluster
	feed    feed
	last    map[Position]mm2.Checkpoint
}

func newCheckpoints(c Cluster, topic string) *checkpoints {
	return &checkpoints{cluster: c, feed: feed{log: c.Log, topic: topic}, last: make(map[Position]mm2.Checkpoint)}
}

// checkpoint reads what was written before, plans, and writes. A group or partition that cannot be asked about is counted
// and does not stop the rest.
func (t *Task) checkpoint(ctx context.Context, held func(context.Context) error) error {
	if err := t.readCheckpoints(ctx); err != nil {
		return err
	}
	groups, err := t.committed(ctx)
	if err != nil {
		return err
	}
	bounds, err := t.bounds(ctx, groups)
	if err != nil {
		return err
	}
	plan := Make(View{Syncs: t.syncs.store, Remote: t.remote, Target: bounds, Last: t.checkpoints.last}, groups)
	t.metrics.Add(CheckpointsUntranslatable, int64(plan.Untranslatable))
	t.metrics.Add(CheckpointsWithheld, int64(plan.Beyond))
	if len(plan.Checkpoints) == 0 {
		return nil
	}
	if err := held(ctx); err != nil {
		return err
	}
	return t.writeCheckpoints(ctx, plan.Checkpoints)
}

// writeCheckpoints awaits every record. One that cannot be written is planned again by the next pass.
func (t *Task) writeCheckpoints(ctx context.Context, planned []mm2.Checkpoint) error {
	now := time.Now()
	var records []*kgo.Record
	for _, c := range planned {
		key, errKey := c.Key()
		value, errValue := c.Value()
		if err := errors.Join(errKey, errValue); err != nil {
			t.metrics.Add(GroupErrors, 1)
			t.log.ErrorContext(ctx, "checkpoint cannot be encoded", "group", c.Group, "topic", c.Topic, "partition", c.Partition, "error", err)
			continue
		}
		records = append(records, &kgo.Record{Topic: t.checkpoints.feed.topic, Key: key, Value: value, Timestamp: now})
	}
	written, failed := 0, error(nil)
	for _, r := range t.checkpoints.cluster.Writer.ProduceSync(ctx, records...) {
		if r.Err != nil {
			failed = r.Err
			continue
		}
		written++
	}
	t.metrics.Add(CheckpointsWritten, int64(written))
	if failed != nil {
		return fmt.Errorf("write %d of %d checkpoints to %s: %w", len(records)-written, len(records), t.checkpoints.feed.topic, failed)
	}
	return nil
}

// readCheckpoints reads what is new in the topic; the last record of a position wins.
func (t *Task) readCheckpoints(ctx context.Context) error {
	forget := func() { clear(t.checkpoints.last) }
	return t.checkpoints.feed.read(ctx, forget, func(r *kgo.Record) {
		if r.Value == nil {
			return
		}
		c, err := mm2.DecodeCheckpoint(r.Key, r.Value)
		if err != nil {
			t.metrics.Add(UndecodableRecords, 1)
			return
		}
		t.checkpoints.last[Position{c.Group, c.TopicPartition}] = c
	})
}

func (t *Task) remote(topic string) string { return RemoteTopic(t.flow.Policy, t.flow.Names, topic) }

// bounds asks what the remote partitions of the groups' topics hold. One that does not exist is absent.
func (t *Task) bounds(ctx context.Context, groups []Committed) (map[mm2.TopicPartition]Bounds, error) {
	var topics []string
	for _, c := range groups {
		topics = append(topics, t.remote(c.Partition.Topic))
	}
	slices.Sort(topics)
	topics = slices.Compact(topics)
	all := make(map[mm2.TopicPartition]Bounds)
	if len(topics) == 0 {
		return all, nil // no topics would mean all
	}
	starts, errStarts := t.target.Admin.ListStartOffsets(ctx, topics...)
	ends, errEnds := t.target.Admin.ListEndOffsets(ctx, topics...)
	if err := errors.Join(errStarts, errEnds); err != nil {
		return nil, fmt.Errorf("list offsets of remote topics: %w", err)
	}
	var failed error
	ends.Each(func(end kadm.ListedOffset) {
		start, ok := starts.Lookup(end.Topic, end.Partition)
		err := errors.Join(end.Err, start.Err)
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition), !ok:
		case err != nil:
			failed = fmt.Errorf("list offsets of %s-%d: %w", end.Topic, end.Partition, err)
		default:
			all[mm2.TopicPartition{Topic: end.Topic, Partition: end.Partition}] = Bounds{start.Offset, end.Offset}
		}
	})
	return all, failed
}
