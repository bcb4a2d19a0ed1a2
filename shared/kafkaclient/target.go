package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

var _ mirror.Target = (*Target)(nil)

// Target is the cluster that is written. It is safe for concurrent use.
type Target struct {
	*cluster
	replication int16

	producers sync.Mutex // guards idle
	idle      []*Producer

	configs sync.Mutex // guards limits
	limits  map[string]limit
}

// limit is what a topic's brokers refuse, as asked at the time at.
type limit struct {
	mirror.Limits
	at time.Time
}

// limitAge is how long an answer about a topic's configuration is used.
const limitAge = 5 * time.Minute

// NewTarget connects lazily to the cluster that options name; see [Options]. replication is the replication factor of topics
// that Ensure makes; -1 is the broker's default.
func NewTarget(options []kgo.Opt, replication int16, log *slog.Logger) (*Target, error) {
	c, err := open(options, log)
	if err != nil {
		return nil, err
	}
	return &Target{cluster: c, replication: replication, limits: make(map[string]limit)}, nil
}

// Close closes the idle producers and the connections.
func (t *Target) Close() {
	t.producers.Lock()
	defer t.producers.Unlock()
	for _, p := range t.idle {
		p.client.Close()
	}
	t.idle = nil
	t.cluster.Close()
}

// Read implements mirror.Log: the log as it is, aborted and control records among the rest.
func (t *Target) Read(ctx context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	w := walk{cluster: t.cluster, tp: tp, control: true, leader: -1}
	return w.read(ctx, from, to)
}

// Ensure implements mirror.Target. It returns when every partition has a leader.
func (t *Target) Ensure(ctx context.Context, topic string, partitions int32) error {
	created, err := t.admin().CreateTopic(ctx, partitions, t.replication, nil, topic)
	if err := errors.Join(err, created.Err); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create topic %s with %d partitions: %w", topic, partitions, err)
	}
	for {
		ready, have, err := t.ready(ctx, topic)
		if err != nil {
			return err
		}
		if have > 0 && have < partitions {
			grown, err := t.admin().UpdatePartitions(ctx, int(partitions), topic)
			if err := errors.Join(err, grown[topic].Err); err != nil && !errors.Is(err, kerr.InvalidPartitions) {
				return fmt.Errorf("grow topic %s from %d to %d partitions: %w", topic, have, partitions, err)
			}
		}
		if ready && have >= partitions {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("wait for topic %s: %w", topic, ctx.Err())
		}
	}
}

// ready says whether every partition of a topic has a leader, and how many there are; none while the topic is not known.
func (t *Target) ready(ctx context.Context, topic string) (ready bool, partitions int32, err error) {
	answer, err := t.metadata(ctx, topic)
	if err != nil {
		return false, 0, err
	}
	for _, described := range answer.Topics {
		switch err := kerr.ErrorForCode(described.ErrorCode); {
		case err != nil && !kerr.IsRetriable(err):
			return false, 0, fmt.Errorf("describe topic %s: %w", topic, err)
		case err != nil:
			return false, 0, nil
		}
		for _, p := range described.Partitions {
			if p.Leader < 0 {
				return false, 0, nil
			}
		}
		return true, int32(len(described.Partitions)), nil
	}
	return false, 0, nil
}

// Limits implements mirror.Target; an answer is kept for five minutes.
func (t *Target) Limits(ctx context.Context, topic string) (mirror.Limits, error) {
	t.configs.Lock()
	known, ok := t.limits[topic]
	t.configs.Unlock()
	if ok && time.Since(known.at) < limitAge {
		return known.Limits, nil
	}
	configs, err := t.admin().DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return mirror.Limits{}, fmt.Errorf("describe configs: %w", err)
	}
	described, err := configs.On(topic, nil)
	if err := errors.Join(err, described.Err); err != nil {
		return mirror.Limits{}, fmt.Errorf("describe configs: %w", err)
	}
	asked := limit{at: time.Now()}
	for _, c := range described.Configs {
		n, err := strconv.ParseInt(c.MaybeValue(), 10, 64)
		if err != nil {
			continue // not a number: not a limit
		}
		switch c.Key {
		case "max.message.bytes":
			asked.MaxMessageBytes = int(n)
		case "message.timestamp.before.max.ms":
			asked.Before = milliseconds(n)
		case "message.timestamp.after.max.ms":
			asked.After = milliseconds(n)
		}
	}
	t.configs.Lock()
	defer t.configs.Unlock()
	t.limits[topic] = asked
	return asked.Limits, nil
}

// milliseconds is a bound of n ms; 0, none, where a duration cannot hold it (the default is Long.MAX_VALUE).
func milliseconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	if n < 0 || n > most {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// maxMessageBytes is how large a batch to topic may be, for the producers: what Limits found, else the broker's default.
func (t *Target) maxMessageBytes(topic string) int32 {
	const standard = 1048588
	t.configs.Lock()
	defer t.configs.Unlock()
	if known, ok := t.limits[topic]; ok && known.MaxMessageBytes > 0 {
		return int32(known.MaxMessageBytes)
	}
	return standard
}
