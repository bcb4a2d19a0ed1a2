// Package kafkaclient is the one adapter to Kafka: [Source] reads the mirrored cluster, [Target] reads, administers and
// writes the other one. Both ask leaders, never caches, and tighten franz-go's contract to what package mirror promises.
package kafkaclient

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/plugin/kslog"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// cluster is what source and target share. It is safe for concurrent use.
type cluster struct {
	options []kgo.Opt   // how to reach the cluster: brokers, TLS, SASL
	client  *kgo.Client // asks and reads; it produces nothing

	mu sync.Mutex
	id string // the cluster's id; empty until the first answer
}

// open connects lazily: an unreachable cluster shows at the first request.
func open(options []kgo.Opt, log *slog.Logger) (*cluster, error) {
	options = append([]kgo.Opt{
		kgo.ClientID("tidemark"),
		kgo.DisableClientMetrics(), // KIP-714 would keep Close waiting
		kgo.WithLogger(kslog.New(slog.New(quiet{log.Handler()}))),
	}, options...)
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("configure client: %w", err)
	}
	return &cluster{options: options, client: client}, nil
}

// Close ends the connections.
func (c *cluster) Close() { c.client.Close() }

func (c *cluster) admin() *kadm.Client { return kadm.NewClient(c.client) }

// ClusterID implements mirror.Source and mirror.Target; it asks once.
func (c *cluster) ClusterID(ctx context.Context) (string, error) {
	c.mu.Lock()
	id := c.id
	c.mu.Unlock()
	if id != "" {
		return id, nil
	}
	_, err := c.metadata(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id, err
}

// Topics implements mirror.Source by one Metadata request, never from the client's cache.
func (c *cluster) Topics(ctx context.Context, topics []string) (map[string]mirror.Topic, error) {
	answer, err := c.metadata(ctx, topics...)
	if err != nil {
		return nil, err
	}
	described := make(map[string]mirror.Topic, len(topics))
	for _, t := range answer.Topics {
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
		case err != nil:
			return nil, fmt.Errorf("describe topic %s: %w", *t.Topic, err)
		default:
			described[*t.Topic] = mirror.Topic{ID: topicID(t.TopicID), Partitions: int32(len(t.Partitions))}
		}
	}
	return described, nil
}

// metadata asks a broker about topics; none are all brokers and no topic.
func (c *cluster) metadata(ctx context.Context, topics ...string) (*kmsg.MetadataResponse, error) {
	request := kmsg.NewPtrMetadataRequest()
	request.AllowAutoTopicCreation = false
	request.Topics = []kmsg.MetadataRequestTopic{} // null would mean all
	for _, topic := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		request.Topics = append(request.Topics, t)
	}
	answer, err := request.RequestWith(ctx, c.client)
	if err != nil {
		return nil, fmt.Errorf("request metadata: %w", err)
	}
	if answer.ClusterID != nil {
		c.mu.Lock()
		c.id = *answer.ClusterID
		c.mu.Unlock()
	}
	return answer, nil
}

// topicID writes an id as Kafka's tools do (Java: Uuid.toString); empty where the broker has none.
func topicID(id [16]byte) string {
	if id == ([16]byte{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// Ends implements mirror.Log. The log end is what the leader has: a ListOffsets as replica -2, the debugging id, is not
// held back at the high watermark (Java: ListOffsetsRequest.DEBUGGING_REPLICA_ID).
func (c *cluster) Ends(ctx context.Context, tp mm2.TopicPartition) (mirror.Ends, error) {
	const earliest, latest = -2, -1
	const consumer, debugging = -1, -2
	const uncommitted, committed = 0, 1
	var ends mirror.Ends
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
		p.Partition, p.Timestamp = tp.Partition, question.timestamp
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic, t.Partitions = tp.Topic, append(t.Partitions, p)
		request.Topics = append(request.Topics, t)
		offset, err := listed(request.RequestWith(ctx, c.client))
		if err != nil {
			return mirror.Ends{}, fmt.Errorf("list offsets of %s: %w", tp, err)
		}
		*question.answer = offset
	}
	return ends, nil
}

// listed takes the one offset out of an answer.
func listed(answer *kmsg.ListOffsetsResponse, err error) (int64, error) {
	if err != nil {
		return 0, missing(err)
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			return p.Offset, missing(kerr.ErrorForCode(p.ErrorCode))
		}
	}
	return 0, errors.New("empty answer")
}

// missing gives Kafka's word for a topic or partition that does not exist the use case's name.
func missing(err error) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) {
		return mirror.ErrMissing
	}
	return err
}
