package handover_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/handover"
	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark/watermarktest"
)

var (
	orders = mm2.TopicPartition{Topic: "orders"}
	remote = mm2.TopicPartition{Topic: "us.orders"}
)

// cluster is one in memory: a log for each partition, whose records have their offsets.
type cluster struct {
	logs map[mm2.TopicPartition][]*kgo.Record
	open map[mm2.TopicPartition]bool // a transaction is
	made map[string]int32            // topics that were made
}

func newCluster() *cluster {
	return &cluster{logs: map[mm2.TopicPartition][]*kgo.Record{}, open: map[mm2.TopicPartition]bool{}, made: map[string]int32{}}
}

// add appends values to a partition, behind the last offset.
func (c *cluster) add(tp mm2.TopicPartition, values ...string) {
	for _, v := range values {
		c.append(tp, &kgo.Record{Value: []byte(v)})
	}
}

func (c *cluster) append(tp mm2.TopicPartition, r *kgo.Record) {
	r.Offset = 0
	if log := c.logs[tp]; len(log) > 0 {
		r.Offset = log[len(log)-1].Offset + 1
	}
	c.logs[tp] = append(c.logs[tp], r)
}

func (c *cluster) Topics(_ context.Context, topics []string) (map[string]mirror.Topic, error) {
	found := map[string]mirror.Topic{}
	for tp := range c.logs {
		if slices.Contains(topics, tp.Topic) {
			found[tp.Topic] = mirror.Topic{ID: "id of " + tp.Topic, Partitions: max(found[tp.Topic].Partitions, tp.Partition+1)}
		}
	}
	return found, nil
}

func (c *cluster) Ends(_ context.Context, tp mm2.TopicPartition) (mirror.Ends, error) {
	log, ok := c.logs[tp]
	switch {
	case !ok:
		return mirror.Ends{}, mirror.ErrMissing
	case len(log) == 0:
		return mirror.Ends{}, nil
	}
	end := log[len(log)-1].Offset + 1
	e := mirror.Ends{Start: log[0].Offset, LastStable: end, HighWatermark: end, LogEnd: end}
	if c.open[tp] {
		e.LastStable--
	}
	return e, nil
}

func (c *cluster) ReadCommitted(_ context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	return func(yield func([]*kgo.Record, error) bool) {
		for _, r := range c.logs[tp] {
			if r.Offset >= from && r.Offset < to && !yield([]*kgo.Record{r}, nil) {
				return
			}
		}
	}
}

func (c *cluster) Walk(ctx context.Context, tp mm2.TopicPartition, _ string, from, to int64) iter.Seq2[mirror.Span, error] {
	return func(yield func(mirror.Span, error) bool) {
		for records, err := range c.ReadCommitted(ctx, tp, from, to) {
			if !yield(mirror.Span{Records: records}, err) {
				return
			}
		}
	}
}

func (c *cluster) ListTopics(context.Context, ...string) (kadm.TopicDetails, error) {
	details := kadm.TopicDetails{}
	for tp := range c.logs {
		if details[tp.Topic].Partitions == nil {
			details[tp.Topic] = kadm.TopicDetail{Topic: tp.Topic, Partitions: kadm.PartitionDetails{}}
		}
		details[tp.Topic].Partitions[tp.Partition] = kadm.PartitionDetail{Topic: tp.Topic, Partition: tp.Partition}
	}
	return details, nil
}

func (c *cluster) CreateTopic(_ context.Context, partitions int32, _ int16, _ map[string]*string, topic string) (kadm.CreateTopicResponse, error) {
	c.made[topic] = partitions
	return kadm.CreateTopicResponse{}, nil
}

func (c *cluster) ProduceSync(_ context.Context, records ...*kgo.Record) (results kgo.ProduceResults) {
	for _, r := range records {
		c.append(mm2.TopicPartition{Topic: r.Topic, Partition: r.Partition}, r)
		results = append(results, kgo.ProduceResult{Record: r})
	}
	return results
}

// world is a flow us -> eu that MM2 has mirrored.
type world struct {
	t              *testing.T
	source, target *cluster
	state          watermarktest.Memory
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t: t, source: newCluster(), target: newCluster()}
}

func (w *world) flow() handover.Flow {
	return handover.Flow{
		Source: w.source, SourceAdmin: w.source, Target: w.target, TargetAdmin: w.target, Writer: w.target, States: &w.state,
		Names: mm2.Names{Source: "us", Target: "eu"}, Topics: func(topic string) bool { return topic == orders.Topic },
		Remote: func(topic string) (string, error) { return "us." + topic, nil },
	}
}

// note writes what Connect keeps: MM2 has copied everything up to last, inclusive.
func (w *world) note(connector string, last int64) {
	w.t.Helper()
	o := handover.Offset{Connector: connector, Cluster: "us", TopicPartition: orders, Last: last}
	key, err := o.Key()
	if err != nil {
		w.t.Fatal(err)
	}
	value, err := o.Value()
	if err != nil {
		w.t.Fatal(err)
	}
	w.target.append(mm2.TopicPartition{Topic: "mm2-offsets.us.internal", Partition: 7}, &kgo.Record{Key: key, Value: value})
}

// sync writes an offset sync of MM2.
func (w *world) sync(upstream, downstream int64) {
	w.t.Helper()
	s := mm2.OffsetSync{TopicPartition: orders, Upstream: upstream, Downstream: downstream}
	key, err := s.Key()
	if err != nil {
		w.t.Fatal(err)
	}
	w.target.append(mm2.TopicPartition{Topic: "mm2-offset-syncs.us.internal"}, &kgo.Record{Key: key, Value: s.Value()})
}
