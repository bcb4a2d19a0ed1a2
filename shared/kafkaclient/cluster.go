// Package kafkaclient is the one adapter to Kafka: [Source] reads the mirrored cluster, [Target] reads, administers and
// writes the other one, [Options] says how to reach either. Both clusters are asked at the leaders, never from a cache,
// and franz-go's contract is tightened to what package mirror promises; see [Producer].
package kafkaclient

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/plugin/kslog"

	"tidemark/shared/mirror"
)

// cluster is what source and target share. It is safe for concurrent use.
type cluster struct {
	role    string      // "source" or "target": its settings begin with that word
	options []kgo.Opt   // how to reach the cluster: brokers, TLS, SASL
	client  *kgo.Client // asks and reads; it produces nothing

	mu sync.Mutex
	id string // the cluster's id; empty until the first answer
}

// retryFor is how long a request is tried again. The client's own limits, 21 tries in 30 s, would use up an invocation and
// end without the reason.
const retryFor = 10 * time.Second

// open connects lazily: an unreachable cluster shows at the first request.
func open(role string, options []kgo.Opt, log *slog.Logger) (*cluster, error) {
	options = append([]kgo.Opt{
		kgo.ClientID("tidemark"),
		kgo.DialTimeout(dialFor),
		kgo.RequestRetries(4),
		kgo.RetryTimeout(retryFor),
		kgo.DisableClientMetrics(), // KIP-714 would keep Close waiting
		kgo.WithLogger(kslog.New(slog.New(quiet{log.Handler()}))),
	}, options...)
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("configure %s client: %w", role, err)
	}
	return &cluster{role: role, options: options, client: client}, nil
}

// Close ends the connections.
func (c *cluster) Close() { c.client.Close() }

// Admin returns an admin client over the cluster's own connections, which Close ends.
func (c *cluster) Admin() *kadm.Client { return kadm.NewClient(c.client) }

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

// Topics implements mirror.Source by one Metadata request, never from the client's cache. Where some topics cannot be
// described it returns the others and one error that names each.
func (c *cluster) Topics(ctx context.Context, topics []string) (map[string]mirror.Topic, error) {
	answer, err := c.metadata(ctx, topics...)
	if err != nil {
		return nil, err
	}
	described, faults := make(map[string]mirror.Topic, len(topics)), []error(nil)
	for _, t := range answer.Topics {
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
		case err != nil:
			faults = append(faults, fmt.Errorf("describe %s topic %s: %w", c.role, *t.Topic, denied(err, describe, *t.Topic)))
		default:
			described[*t.Topic] = mirror.Topic{ID: topicID(t.TopicID), Partitions: int32(len(t.Partitions))}
		}
	}
	return described, errors.Join(faults...)
}

// metadata asks a broker about topics; none are all brokers and no topic.
func (c *cluster) metadata(ctx context.Context, topics ...string) (*kmsg.MetadataResponse, error) {
	request := kmsg.NewPtrMetadataRequest()
	request.AllowAutoTopicCreation = false
	request.Topics = []kmsg.MetadataRequestTopic{} // null would mean all
	for _, topic := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = new(topic)
		request.Topics = append(request.Topics, t)
	}
	answer, err := request.RequestWith(ctx, c.client)
	if err != nil {
		return nil, fmt.Errorf("request metadata: %w", c.fault(err))
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
