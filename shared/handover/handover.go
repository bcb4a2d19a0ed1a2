// Package handover changes the mirror of a flow: it takes over from MirrorMaker 2 where that stopped, and hands back.
//
// MM2 keeps its position in Connect's offsets, which trail what it has copied by up to a flush interval, and tells in its
// offset syncs where single records stand. Both are only where the search begins: what counts is what the two logs hold.
// Nothing here is guarded against an MM2 that still runs; it has to be stopped first, and so have the triggers before a
// flow is handed back.
package handover

import (
	"context"
	"iter"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// Cluster is what both clusters are asked.
type Cluster interface {
	// Topics describes topics; a missing one is absent from the answer.
	Topics(ctx context.Context, topics []string) (map[string]mirror.Topic, error)
	// Ends asks the leader. A partition that does not exist is mirror.ErrMissing.
	Ends(ctx context.Context, tp mm2.TopicPartition) (mirror.Ends, error)
	// ReadCommitted yields what a read_committed consumer sees from from (inclusive) to to (exclusive), and markers with it.
	ReadCommitted(ctx context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error]
}

// Source is the mirrored cluster.
type Source interface {
	Cluster
	// Walk is mirror.Source's.
	Walk(ctx context.Context, tp mm2.TopicPartition, topicID string, from, to int64) iter.Seq2[mirror.Span, error]
}

// Admin is the part of *kadm.Client in use.
type Admin interface {
	ListTopics(ctx context.Context, topics ...string) (kadm.TopicDetails, error)
	CreateTopic(ctx context.Context, partitions int32, replicationFactor int16, configs map[string]*string, topic string) (kadm.CreateTopicResponse, error)
}

// Writer writes records to the partitions that they name and waits until they are durable; *kgo.Client is one.
type Writer interface {
	ProduceSync(ctx context.Context, records ...*kgo.Record) kgo.ProduceResults
}

// States holds the states; see mirror.StateStore.
type States interface {
	Get(ctx context.Context, tp mm2.TopicPartition) (watermark.State, error)
	Claim(ctx context.Context, c watermark.Claim) (watermark.Grant, error)
	Begin(ctx context.Context, b watermark.Begin) error
}

// Flow is what changes hands.
type Flow struct {
	Source      Source
	SourceAdmin Admin
	Target      Cluster
	TargetAdmin Admin
	Writer      Writer // on the target
	States      States

	Names  mm2.Names
	Topics func(topic string) bool                       // whether the flow mirrors a source topic
	Remote func(topic string) (remote string, err error) // its remote topic

	Offsets     string // Connect's offsets topic, on the target; empty: a dedicated MM2's
	Connector   string // name of the source connector; empty: a dedicated MM2's
	Replication int16  // of the offsets topic when it has to be made; -1 is the broker's default
}

// Partition is what was found or done about one source partition.
type Partition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`

	// Position is where the next mirror goes on, upstream; absent when it was not set.
	Position *int64 `json:"position,omitempty"`
	// From says by what it was found: "connect offset", "offset sync", or "nothing": neither has the partition, and it
	// begins where CONSUMER_AUTO_OFFSET_RESET says.
	From string `json:"from,omitempty"`
	// Found counts the offsets past MM2's own position whose records were found on the target.
	Found int64 `json:"found,omitempty"`
	// Note says what a person should know; empty: nothing.
	Note string `json:"note,omitempty"`
	// Error says why the partition was left as it is.
	Error string `json:"error,omitempty"`
}
