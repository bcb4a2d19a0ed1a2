package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
)

// checkpoints is the checkpoints topic, on the target, and the last checkpoint of each position in it.
type checkpoints struct {
	feed feed
	last map[Position]mm2.Checkpoint
}

func newCheckpoints(log Log, topic string) *checkpoints {
	return &checkpoints{feed: feed{log: log, topic: topic}, last: make(map[Position]mm2.Checkpoint)}
}

// checkpoint reads what was written before, plans, and writes. A group or partition that cannot be asked about is counted
// and does not stop the rest.
func (t *Task) checkpoint(ctx context.Context, slot time.Time, held func(context.Context) error) error {
	if err := t.readCheckpoints(ctx); err != nil {
		return err
	}
	groups, err := t.committed(ctx)
	if err != nil {
		return err
	}
	remote := t.remoteTopics(groups)
	bounds, err := t.bounds(ctx, remote)
	if err != nil {
		return err
	}
	if t.flow.SyncGroups {
		t.readGroups(ctx, groups, remote)
	}
	plan := Make(View{Syncs: t.syncs.store, Remote: remote, Target: bounds, Last: t.checkpoints.last}, groups)
	t.report(ctx, plan)
	if planned := append(plan.Checkpoints, t.groups.again(t.checkpoints.last, plan.Checkpoints)...); len(planned) > 0 {
		if err := held(ctx); err != nil {
			return err
		}
		if err := t.writeCheckpoints(ctx, planned); err != nil {
			return err
		}
	}
	if !t.flow.SyncGroups || !due(slot, t.synced, t.flow.GroupSyncInterval) {
		return nil
	}
	if err := t.readCheckpoints(ctx); err != nil { // what a group is sent to stands in the topic
		return err
	}
	t.synced = slot
	return t.syncGroups(ctx, held)
}

// report says how exactly the groups would fail over now.
func (t *Task) report(ctx context.Context, p Plan) {
	t.metrics.Add(CheckpointsUntranslatable, int64(p.Unsynced+p.TooOld))
	t.metrics.Add(CheckpointsWithheld, int64(p.Beyond))
	t.metrics.Max(TranslationsExact, count, int64(p.Exact))
	t.metrics.Max(TranslationsBounded, count, int64(p.Bounded))
	t.metrics.Max(RecordsReadAgain, count, p.Again)
	log := []any{
		"exact", p.Exact, "bounded", p.Bounded, "read_again_at_most", p.Again, "no_sync", p.Unsynced, "too_old", p.TooOld,
		"withheld", p.Beyond, "no_offset", p.Uncommitted, "checkpoints", len(p.Checkpoints),
	}
	if p.Again > 0 {
		log = append(log, "worst_group", p.Worst.Group, "worst_partition", p.Worst.Partition.String())
	}
	t.log.InfoContext(ctx, "group offsets translated", log...)
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
		records = append(records, &kgo.Record{Topic: t.checkpoints.feed.topic, Key: key, Value: value, Timestamp: now, Headers: t.checkpointHeaders(c)})
	}
	written, failed := 0, error(nil)
	for _, r := range t.target.Writer.ProduceSync(ctx, records...) {
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
	last := t.checkpoints.last
	forget := func() {
		clear(last)
		clear(t.groups.ours)
	}
	skipped, err := t.checkpoints.feed.read(ctx, forget, func(r *kgo.Record) error {
		c, err := mm2.DecodeCheckpoint(r.Key, r.Value)
		if err == nil {
			at := Position{c.Group, c.TopicPartition}
			last[at] = c
			t.groups.learn(at, r)
		}
		return err
	})
	t.metrics.Add(UndecodableRecords, int64(skipped))
	return err
}

// remoteTopics names the remote topic of each source topic that the groups read.
func (t *Task) remoteTopics(groups []Committed) map[string]string {
	remote := make(map[string]string)
	for _, c := range groups {
		if _, known := remote[c.Partition.Topic]; !known {
			remote[c.Partition.Topic] = RemoteTopic(t.flow.Policy, t.flow.Names, c.Partition.Topic)
		}
	}
	return remote
}

// bounds asks what the partitions of the remote topics hold. One that does not exist is absent.
func (t *Task) bounds(ctx context.Context, remote map[string]string) (map[mm2.TopicPartition]Bounds, error) {
	topics := slices.Compact(slices.Sorted(maps.Values(remote)))
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
