package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// ensure makes the internal topics, once per process: one partition, compacted. An existing one is left as it is; one that
// is not compacted loses what retention deletes, and is warned of.
func (t *Task) ensure(ctx context.Context) error {
	if t.ensured {
		return nil
	}
	for _, topic := range []struct {
		cluster Cluster
		name    string
		factor  int16
	}{
		{t.syncs.cluster, t.flow.Names.OffsetSyncs(), t.flow.SyncsFactor},
		{t.target, t.flow.Names.Checkpoints(), t.flow.CheckpointsFactor},
		{t.target, t.flow.Names.Heartbeats(), t.flow.HeartbeatsFactor},
	} {
		if err := t.ensureTopic(ctx, topic.cluster.Admin, topic.name, topic.factor); err != nil {
			return fmt.Errorf("ensure internal topic %s: %w", topic.name, err)
		}
	}
	t.ensured = true
	return nil
}

func (t *Task) ensureTopic(ctx context.Context, admin Admin, name string, factor int16) error {
	const policy, compact = "cleanup.policy", "compact"
	value := compact
	created, err := admin.CreateTopic(ctx, 1, factor, map[string]*string{policy: &value}, name)
	err = errors.Join(err, created.Err)
	if err == nil {
		return nil
	}
	if !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create: %w", err)
	}
	configs, err := admin.DescribeTopicConfigs(ctx, name)
	if err != nil {
		return fmt.Errorf("describe configs: %w", err)
	}
	described, err := configs.On(name, nil)
	if err := errors.Join(err, described.Err); err != nil {
		return fmt.Errorf("describe configs: %w", err)
	}
	for _, c := range described.Configs {
		if c.Key == policy && c.MaybeValue() != compact {
			t.metrics.Add(InternalTopicsNotCompacted, 1)
			t.log.WarnContext(ctx, "internal topic is not compacted: retention deletes what groups are translated by",
				"topic", name, "cleanup_policy", c.MaybeValue())
		}
	}
	return nil
}
