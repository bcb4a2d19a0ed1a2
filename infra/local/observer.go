package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/bed"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// row is what there is to see of a partition.
type row struct {
	source int64           // the log's end
	state  watermark.State // from DynamoDB
	target int64           // the copy's end; 0 before there is one
}

// next is the watermark, 0 before the first contact.
func (r row) next() int64 { return max(r.state.Next, 0) }

// lag is how many upstream offsets the watermark has to go.
func (r row) lag() int64 { return r.source - r.next() }

// claim says how a claim stands that has lasted since before; empty when there is none. A living owner's is over between two
// looks.
func (r row) claim(before row, now time.Time) string {
	left := r.state.OwnerDeadline.Sub(now)
	switch {
	case r.state.Owner == "" || r.state.Owner != before.state.Owner:
		return ""
	case left > 0:
		return fmt.Sprintf("claimed for %.0f s more", left.Seconds())
	default:
		return fmt.Sprintf("claim ran out %.0f s ago", -left.Seconds())
	}
}

// arrived reports whether everything written so far is mirrored and nobody holds the partition.
func (r row) arrived() bool { return r.lag() == 0 && r.state.Owner == "" }

// observer looks at both logs and the state table. It is safe for concurrent use.
type observer struct {
	bed            *bed.Bed
	topic, remote  string
	source, target *kadm.Client
}

func newObserver(b *bed.Bed, topic, remote string) (*observer, error) {
	fresh := kgo.MetadataMinAge(100 * time.Millisecond) // topics come while one looks
	source, errSource := kgo.NewClient(kgo.SeedBrokers(b.Source...), fresh)
	target, errTarget := kgo.NewClient(kgo.SeedBrokers(b.Target...), fresh)
	if err := errors.Join(errSource, errTarget); err != nil {
		return nil, fmt.Errorf("open clusters: %w", err)
	}
	return &observer{bed: b, topic: topic, remote: remote, source: kadm.NewClient(source), target: kadm.NewClient(target)}, nil
}

func (o *observer) close() {
	o.source.Close()
	o.target.Close()
}

// look returns a row a partition, by number.
func (o *observer) look(ctx context.Context) ([]row, error) {
	target, err := ends(ctx, o.target, o.remote)
	if err != nil {
		return nil, err
	}
	states, err := o.states(ctx)
	if err != nil {
		return nil, err
	}
	// Last, so that the watermark never seems to be past the log's end.
	source, err := ends(ctx, o.source, o.topic)
	if err != nil {
		return nil, err
	}
	rows := make([]row, min(len(states), len(source)))
	for p := range rows {
		rows[p] = row{source: source[int32(p)].Offset, state: states[p], target: target[int32(p)].Offset}
	}
	return rows, nil
}

// states are the watermarks of the topic's partitions.
func (o *observer) states(ctx context.Context) ([]watermark.State, error) {
	topics, err := o.source.ListTopics(ctx, o.topic)
	if err := errors.Join(err, topics.Error()); err != nil {
		return nil, fmt.Errorf("describe topic %s: %w", o.topic, err)
	}
	states := make([]watermark.State, len(topics[o.topic].Partitions))
	for p := range states {
		if states[p], err = o.bed.State.Get(ctx, mm2.TopicPartition{Topic: o.topic, Partition: int32(p)}); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// ends are a topic's log ends; none while it does not exist.
func ends(ctx context.Context, admin *kadm.Client, topic string) (map[int32]kadm.ListedOffset, error) {
	listed, err := admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list ends of %s: %w", topic, err)
	}
	return listed[topic], nil
}
