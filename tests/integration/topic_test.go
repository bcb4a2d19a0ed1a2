//go:build integration

package integration

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
)

// client returns a client of the broker that writes where a record says.
func (b *broker) client(t *testing.T, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.addr), kgo.RecordPartitioner(kgo.ManualPartitioner())}, options...)...)
	if err != nil {
		t.Fatalf("configure client of %s: %v", b.name, err)
	}
	t.Cleanup(client.Close)
	return client
}

func (b *broker) admin(t *testing.T) *kadm.Client {
	t.Helper()
	return kadm.NewClient(b.client(t))
}

// topic makes a topic that is named after the test. configs are "name=value".
func (b *broker) topic(t *testing.T, partitions int32, configs ...string) string {
	t.Helper()
	return b.topicNamed(t, strings.ReplaceAll(t.Name(), "/", "."), partitions, configs...)
}

func (b *broker) topicNamed(t *testing.T, name string, partitions int32, configs ...string) string {
	t.Helper()
	values := make(map[string]*string)
	for _, c := range configs {
		key, value, _ := strings.Cut(c, "=")
		values[key] = &value
	}
	created, err := b.admin(t).CreateTopic(t.Context(), partitions, 1, values, name)
	if err != nil || created.Err != nil {
		t.Fatalf("create topic %s on %s: %v, %v", name, b.name, err, created.Err)
	}
	b.awaitPartitions(t, name, int(partitions))
	return name
}

// awaitPartitions waits until the broker knows a topic to have so many partitions, each with a leader. The controller answers
// before that.
func (b *broker) awaitPartitions(t *testing.T, topic string, n int) {
	t.Helper()
	const limit = 10 * time.Second
	for deadline := time.Now().Add(limit); b.partitions(t, topic) != n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("topic %s on %s has %d partitions after %v, want %d", topic, b.name, b.partitions(t, topic), limit, n)
		}
	}
}

// configure changes one setting of a topic.
func (b *broker) configure(t *testing.T, topic, name, value string) {
	t.Helper()
	changes := []kadm.AlterConfig{{Name: name, Value: &value}}
	altered, err := b.admin(t).AlterTopicConfigs(t.Context(), changes, topic)
	if err == nil {
		_, err = altered.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	if err != nil {
		t.Fatalf("set %s of topic %s to %s: %v", name, topic, value, err)
	}
}

// end is a partition's end as any consumer sees it; 0 where there is no such partition.
func (b *broker) end(t *testing.T, tp mm2.TopicPartition) int64 {
	t.Helper()
	listed, err := b.admin(t).ListEndOffsets(t.Context(), tp.Topic)
	if err != nil {
		t.Fatalf("list ends of %s on %s: %v", tp, b.name, err)
	}
	end, ok := listed.Lookup(tp.Topic, tp.Partition)
	switch {
	case !ok || errors.Is(end.Err, kerr.UnknownTopicOrPartition):
		return 0
	case end.Err != nil:
		t.Fatalf("list end of %s on %s: %v", tp, b.name, end.Err)
	}
	return end.Offset
}

// partitions is how many partitions of a topic have a leader.
func (b *broker) partitions(t *testing.T, topic string) int {
	t.Helper()
	listed, err := b.admin(t).ListTopics(t.Context(), topic)
	if err != nil {
		t.Fatalf("list topic %s on %s: %v", topic, b.name, err)
	}
	n := 0
	for _, p := range listed[topic].Partitions {
		if p.Err == nil && p.Leader >= 0 {
			n++
		}
	}
	return n
}

// deleteBefore moves a partition's log start.
func (b *broker) deleteBefore(t *testing.T, tp mm2.TopicPartition, offset int64) {
	t.Helper()
	var offsets kadm.Offsets
	offsets.AddOffset(tp.Topic, tp.Partition, offset, -1)
	deleted, err := b.admin(t).DeleteRecords(t.Context(), offsets)
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		t.Fatalf("delete %s before %d on %s: %v", tp, offset, b.name, err)
	}
}

// write produces records in order and waits until they are durable.
func write(t *testing.T, client *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	if err := client.ProduceSync(context.WithoutCancel(t.Context()), records...).FirstErr(); err != nil {
		t.Fatalf("produce %d records to %s: %v", len(records), records[0].Topic, err)
	}
}

// numbered are n records of a partition whose values are as long as their index.
func numbered(tp mm2.TopicPartition, n int) []*kgo.Record {
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: tp.Topic, Partition: tp.Partition, Value: []byte(strings.Repeat("x", i))}
	}
	return records
}
