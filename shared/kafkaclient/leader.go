package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// leader is who leads a partition, as the brokers say when asked. A request that carries its epoch is refused by a broker
// that leads no more or not yet (KIP-320); without it a former leader answers a request as debugging replica from its own
// log.
type leader struct {
	node  int32
	epoch int32    // -1 on brokers that have none
	topic [16]byte // what Fetch 13 and later ask for (KIP-516); zero on brokers that have none
}

// locate asks who leads a partition; mirror.ErrMissing if it does not exist.
func (c *cluster) locate(ctx context.Context, tp mm2.TopicPartition) (leader, error) {
	answer, err := c.metadata(ctx, tp.Topic)
	if err != nil {
		return leader{}, err
	}
	for _, t := range answer.Topics {
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			return leader{}, mirror.ErrMissing
		case err != nil:
			return leader{}, denied(err, describe, tp.Topic)
		}
		for _, p := range t.Partitions {
			if p.Partition != tp.Partition {
				continue
			}
			if p.Leader < 0 {
				return leader{}, kerr.LeaderNotAvailable
			}
			return leader{node: p.Leader, epoch: p.LeaderEpoch, topic: t.TopicID}, nil
		}
	}
	return leader{}, mirror.ErrMissing
}

// ask puts a question to a partition's leader: the known one, else the one found, which known then is. Where leadership
// moved or a connection broke it asks again, until ctx ends.
func (c *cluster) ask(ctx context.Context, tp mm2.TopicPartition, known **leader, question func(leader) error) error {
	var before error // what the try before failed with
	for {
		again, err := c.askOnce(ctx, tp, known, question)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && before != nil:
			return fmt.Errorf("%w, after %w", ctx.Err(), before)
		case !again || ctx.Err() != nil:
			return err
		}
		before = err
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// askOnce says whether a question that failed is worth asking again, of whoever leads then: not when nobody says who that
// is, for that was tried often enough. A leader that does not know the partition may not have heard of it yet; whether it
// exists is locate's to say.
func (c *cluster) askOnce(ctx context.Context, tp mm2.TopicPartition, known **leader, question func(leader) error) (again bool, err error) {
	if *known == nil {
		found, err := c.locate(ctx, tp)
		if err != nil {
			return kerr.IsRetriable(err), err
		}
		*known = &found
	}
	if err = question(**known); err != nil {
		*known = nil
	}
	var network *net.OpError
	return kerr.IsRetriable(err) || kgo.IsRetryableBrokerErr(err) || errors.As(err, &network) && network.Op == "dial", err
}

// request sends one request to a leader.
func (c *cluster) request(ctx context.Context, l leader, request kmsg.Request) (kmsg.Response, error) {
	answer, err := c.client.Broker(int(l.node)).Request(ctx, request)
	if err != nil {
		return nil, c.fault(err)
	}
	return answer, nil
}

// missing gives Kafka's words for a topic or partition that does not exist the use case's name.
func missing(err error) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) {
		return mirror.ErrMissing
	}
	return err
}
