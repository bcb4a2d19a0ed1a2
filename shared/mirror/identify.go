package mirror

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"tidemark/shared/mm2"
)

// Source is the cluster that is mirrored.
type Source interface {
	// Ends asks the leader, never a cache. A partition that does not exist is ErrMissing.
	Ends(ctx context.Context, tp mm2.TopicPartition) (Ends, error)
	// Walk yields what stands at from (inclusive) to to (exclusive) of the log of the topic with that id (empty: of the
	// name), in spans that follow each other, and returns once it has come to to. All of it is one leader's: when
	// leadership moves on the way the walk ends in an error, for the next leader's log may be another one. An ExpiredError
	// if from is below the log's start, ErrUnstable at what no consumer can see yet.
	Walk(ctx context.Context, tp mm2.TopicPartition, topicID string, from, to int64) iter.Seq2[Span, error]
	// Peek looks into many holes at once, a small request each, and returns those that it could explain whole, by From. It
	// never fails: what it does not return is to be walked.
	Peek(ctx context.Context, tp mm2.TopicPartition, topicID string, holes []Hole) map[int64]Span
	// OffsetAt returns the first offset whose record's timestamp is at or after a time; the log's end when there is none.
	OffsetAt(ctx context.Context, tp mm2.TopicPartition, at time.Time) (int64, error)
	// Topics describes topics in one request; a missing one is absent from the answer.
	Topics(ctx context.Context, topics []string) (map[string]Topic, error)
	// ClusterID returns the cluster's id; empty where brokers tell none.
	ClusterID(ctx context.Context) (string, error)
}

// Topic is what identifies a topic.
type Topic struct {
	ID         string // tells a recreated topic from the one before (KIP-516); empty on brokers older than 2.8
	Partitions int32
}

// ErrSameCluster says that source and target are one cluster: mirroring would feed itself.
var ErrSameCluster = errors.New("source and target are the same cluster: check SOURCE_BOOTSTRAP_SERVERS and TARGET_BOOTSTRAP_SERVERS")

// invocation is what the partitions of one Run share: one answer about the source's topics, valid once done is closed.
type invocation struct {
	done   chan struct{}
	topics map[string]Topic
	err    error
}

// identify makes the one source request of an invocation. The topic ids are asked for every time: a running consumer was
// seen to deliver offset 100 of a recreated topic as if nothing had happened, and no offset looks out of place then.
func (t *Task) identify(ctx context.Context, inv *invocation, topics []string) {
	defer close(inv.done)
	ctx, cancel := t.leaveMargin(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, t.options.Budget) // no partition waits for longer
	defer cancel()
	if inv.err = t.distinct(ctx); inv.err != nil {
		return
	}
	slices.Sort(topics)
	inv.topics, inv.err = t.source.Topics(ctx, slices.Compact(topics))
}

// topic returns what the source says about the topic of tp.
func (i *invocation) topic(tp mm2.TopicPartition) (Topic, error) {
	<-i.done
	topic, ok := i.topics[tp.Topic]
	switch {
	case i.err != nil:
		return Topic{}, i.err
	case !ok || tp.Partition >= topic.Partitions:
		return Topic{}, fmt.Errorf("source: %w: was it deleted, or does the source not grant Describe on it?", ErrMissing)
	}
	return topic, nil
}

// distinct refuses to mirror a cluster onto itself. The adapters keep the ids, so that this asks once per process.
func (t *Task) distinct(ctx context.Context) error {
	source, err := t.source.ClusterID(ctx)
	if err != nil {
		return fmt.Errorf("source cluster id: %w", err)
	}
	target, err := t.target.ClusterID(ctx)
	if err != nil {
		return fmt.Errorf("target cluster id: %w", err)
	}
	if source != "" && source == target {
		return ErrSameCluster
	}
	return nil
}
