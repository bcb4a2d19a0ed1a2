package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Ensure implements mirror.Target. It asks for no right to create where the topic exists, nor to alter where it is large
// enough, and returns when every partition has a leader.
func (t *Target) Ensure(ctx context.Context, topic string, partitions int32) error {
	for {
		have, ready, err := t.partitions(ctx, topic)
		switch {
		case err != nil:
			return err
		case have == 0:
			err = t.create(ctx, topic, partitions)
		case have < partitions:
			err = t.grow(ctx, topic, have, partitions)
		case ready:
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("wait for target topic %s: %w", topic, ctx.Err())
		}
	}
}

// create makes a topic. It is no error if somebody else did.
func (t *Target) create(ctx context.Context, topic string, partitions int32) error {
	_, err := t.Admin().CreateTopic(ctx, partitions, t.replication, nil, topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create target topic %s with %d partitions: %w", topic, partitions, denied(t.fault(err), create, topic))
	}
	return nil
}

// grow adds partitions to a topic. It is no error if somebody else did.
func (t *Target) grow(ctx context.Context, topic string, from, to int32) error {
	answers, err := t.Admin().UpdatePartitions(ctx, int(to), topic)
	if err == nil {
		err = answers[topic].Err
	}
	if err != nil && !errors.Is(err, kerr.InvalidPartitions) {
		return fmt.Errorf("grow target topic %s from %d to %d partitions: %w", topic, from, to, denied(t.fault(err), alter, topic))
	}
	return nil
}

// partitions returns how many partitions a topic has, none while it is not known, and whether each has a leader.
func (t *Target) partitions(ctx context.Context, topic string) (have int32, ready bool, err error) {
	answer, err := t.metadata(ctx, topic)
	if err != nil {
		return 0, false, err
	}
	if len(answer.Topics) == 0 {
		return 0, false, nil
	}
	described := answer.Topics[0]
	if err := kerr.ErrorForCode(described.ErrorCode); err != nil && !kerr.IsRetriable(err) {
		return 0, false, fmt.Errorf("describe target topic %s: %w", topic, denied(err, describe, topic))
	}
	return int32(len(described.Partitions)), led(described.Partitions), nil
}

// led says whether every partition has a leader.
func led(partitions []kmsg.MetadataResponseTopicPartition) bool {
	for _, p := range partitions {
		if p.Leader < 0 {
			return false
		}
	}
	return true
}
