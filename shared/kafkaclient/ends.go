package kafkaclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// Ends implements mirror.Log. The log end is what the leader has: a ListOffsets as replica -2, the debugging id, is not
// held back at the high watermark (Java: ListOffsetsRequest.DEBUGGING_REPLICA_ID). It is asked last, so that a log end that
// equals the high watermark says that both were equal when the high watermark was read.
func (c *cluster) Ends(ctx context.Context, tp mm2.TopicPartition) (mirror.Ends, error) {
	const earliest, latest = -2, -1
	const consumer, debugging = -1, -2
	const uncommitted, committed = 0, 1
	var ends mirror.Ends
	err := c.ask(ctx, tp, new(*leader), func(l leader) error {
		for _, question := range []struct {
			answer    *int64
			timestamp int64
			replica   int32
			isolation int8
		}{
			{&ends.Start, earliest, consumer, uncommitted},
			{&ends.LastStable, latest, consumer, committed},
			{&ends.HighWatermark, latest, consumer, uncommitted},
			{&ends.LogEnd, latest, debugging, uncommitted},
		} {
			request := kmsg.NewPtrListOffsetsRequest()
			request.ReplicaID, request.IsolationLevel = question.replica, question.isolation
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp, p.CurrentLeaderEpoch = tp.Partition, question.timestamp, l.epoch
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic, t.Partitions = tp.Topic, append(t.Partitions, p)
			request.Topics = append(request.Topics, t)
			answer, err := c.request(ctx, l, request)
			if err != nil {
				return err
			}
			if *question.answer, err = listed(answer.(*kmsg.ListOffsetsResponse)); err != nil {
				return denied(err, describe, tp.Topic)
			}
		}
		return nil
	})
	if err != nil {
		return mirror.Ends{}, fmt.Errorf("list offsets of %s: %w", tp, err)
	}
	return ends, nil
}

// listed takes the one offset out of an answer.
func listed(answer *kmsg.ListOffsetsResponse) (int64, error) {
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			return p.Offset, kerr.ErrorForCode(p.ErrorCode)
		}
	}
	return 0, errors.New("empty answer")
}
