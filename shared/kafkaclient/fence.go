package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// Fence implements mirror.Target by an abort marker for each producer id, at the highest epoch: the leader then refuses
// whatever that producer sends under a lower one, and answers once the markers are replicated (Java:
// KafkaApis.handleWriteTxnMarkersRequest appends with acks=all). An id that never wrote to the partition is fenced as well.
// The request is the brokers' own, so it takes Alter on the cluster (since 3.8; ClusterAction before).
func (t *Target) Fence(ctx context.Context, tp mm2.TopicPartition, producers []int64) error {
	if len(producers) == 0 {
		return nil
	}
	err := t.ask(ctx, tp, new(*leader), func(l leader) error {
		request := kmsg.NewPtrWriteTxnMarkersRequest()
		for _, id := range producers {
			topic := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
			topic.Topic, topic.Partitions = tp.Topic, []int32{tp.Partition}
			marker := kmsg.NewWriteTxnMarkersRequestMarker()
			marker.ProducerID, marker.ProducerEpoch, marker.Topics = id, math.MaxInt16, append(marker.Topics, topic)
			request.Markers = append(request.Markers, marker)
		}
		raw, err := t.request(ctx, l, request)
		if err != nil {
			return err
		}
		return written(raw.(*kmsg.WriteTxnMarkersResponse), len(producers))
	})
	if errors.Is(err, kerr.ClusterAuthorizationFailed) || errors.Is(err, kerr.UnsupportedVersion) || errors.Is(err, errNoRequest) {
		return fmt.Errorf("%w: %w", mirror.ErrFenceRefused, err)
	}
	if err != nil {
		return fmt.Errorf("write abort markers to %s: %w", tp, err)
	}
	return nil
}

// errNoRequest says that the cluster does not know the request.
var errNoRequest = errors.New("the broker does not take abort markers")

// written returns the first reason why a marker does not stand.
func written(answer *kmsg.WriteTxnMarkersResponse, want int) error {
	stand := 0
	for _, m := range answer.Markers {
		for _, t := range m.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return err
				}
				stand++
			}
		}
	}
	if stand != want {
		return fmt.Errorf("%w: %d of %d markers stand", errNoRequest, stand, want)
	}
	return nil
}

// OffsetAt implements mirror.Source.
func (s *Source) OffsetAt(ctx context.Context, tp mm2.TopicPartition, at time.Time) (int64, error) {
	offset := int64(-1)
	err := s.ask(ctx, tp, new(*leader), func(l leader) error {
		request := kmsg.NewPtrListOffsetsRequest()
		request.ReplicaID = -1
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp, p.CurrentLeaderEpoch = tp.Partition, at.UnixMilli(), l.epoch
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic, t.Partitions = tp.Topic, append(t.Partitions, p)
		request.Topics = append(request.Topics, t)
		answer, err := s.request(ctx, l, request)
		if err != nil {
			return err
		}
		offset, err = listed(answer.(*kmsg.ListOffsetsResponse))
		return denied(err, describe, tp.Topic)
	})
	if err != nil {
		return 0, fmt.Errorf("list offset of %s at %s: %w", tp, at.UTC().Format(time.RFC3339), err)
	}
	if offset >= 0 {
		return offset, nil
	}
	ends, err := s.Ends(ctx, tp)
	return ends.HighWatermark, err
}
