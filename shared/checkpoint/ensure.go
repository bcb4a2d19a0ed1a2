package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// ensure makes the internal topics, once per process: one partition, compacted. An existing one is left as it is; one that
// is not compacted loses what retention deletes, and is warned of. The remote heartbeats topic is made too, though nothing may
// ever be mirrored to it: it is by its name that Java's MirrorClient finds the upstream clusters and the hops to them.
func (t *Task) ensure(ctx context.Context) error {
	if t.ensured {
		return nil
	}
	beats := t.flow.Names.Heartbeats()
	for _, topic := range []struct {
		cluster Cluster
		name    string
		factor  int16
		kept    bool // whether older records matter
	}{
		{t.syncs.cluster, t.flow.Names.OffsetSyncs(), t.flow.SyncsFactor, true},
		{t.target, t.flow.Names.Checkpoints(), t.flow.CheckpointsFactor, true},
		{t.target, beats, t.flow.HeartbeatsFactor, false},
		{t.target, t.flow.Policy.Remote(t.flow.Names.Source, beats), t.flow.HeartbeatsFactor, false},
	} {
		if err := t.ensureTopic(ctx, topic.cluster.Admin, topic.name, topic.factor, topic.kept); err != nil {
			return fmt.Errorf("ensure internal topic %s: %w", topic.name, err)
		}
	}
	t.ensured = true
	return nil
}

// segment is the size of the segments of internal topics, in bytes. What is not in the newest one is compacted, so that no
// pass, and no Java client, which reads a topic from its start at each question, ever has to read much more.
const segment = "16777216"

func (t *Task) ensureTopic(ctx context.Context, admin Admin, name string, factor int16, kept bool) error {
	const policy, compact = "cleanup.policy", "compact"
	configs := map[string]*string{policy: new(compact), "segment.bytes": new(segment)}
	created, err := admin.CreateTopic(ctx, 1, factor, configs, name)
	if errors.Is(errors.Join(err, created.Err), kerr.InvalidConfig) { // some managed clusters let nobody choose the size
		delete(configs, "segment.bytes")
		created, err = admin.CreateTopic(ctx, 1, factor, configs, name)
	}
	err = errors.Join(err, created.Err)
	if err == nil || errors.Is(err, kerr.TopicAlreadyExists) && !kept {
		return nil
	}
	if !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create: %w", err)
	}
	described, err := admin.DescribeTopicConfigs(ctx, name)
	if err != nil {
		return fmt.Errorf("describe configs: %w", err)
	}
	existing, err := described.On(name, nil)
	if err := errors.Join(err, existing.Err); err != nil {
		return fmt.Errorf("describe configs: %w", err)
	}
	for _, c := range existing.Configs {
		if c.Key == policy && c.MaybeValue() != compact {
			t.metrics.Add(InternalTopicsNotCompacted, 1)
			t.log.WarnContext(ctx, "internal topic is not compacted: retention deletes what groups are translated by",
				"topic", name, "cleanup_policy", c.MaybeValue())
		}
	}
	return nil
}
