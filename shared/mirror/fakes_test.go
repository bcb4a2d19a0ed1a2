package mirror_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
	"tidemark/shared/watermark/watermarktest"
)

// clusters are both clusters of a flow with one topic of one partition, and the state table.
type clusters struct {
	source fakeSource
	target fakeTarget
	state  watermarktest.Memory

	options mirror.Options
}

var orders = mm2.TopicPartition{Topic: "orders"}

// newClusters returns a source that holds n records and an empty target without the remote topic.
func newClusters(n int) *clusters {
	c := &clusters{source: fakeSource{id: "source", topicID: "first", end: int64(n)}, target: fakeTarget{id: "target"}}
	for offset := range int64(n) {
		c.source.records = append(c.source.records, record(offset))
	}
	return c
}

func record(offset int64) *kgo.Record {
	return &kgo.Record{
		Offset: offset, Key: []byte("key"), Value: fmt.Append(nil, "value ", offset), Timestamp: time.Now().Truncate(time.Millisecond),
		Headers: []kgo.RecordHeader{{Key: "", Value: nil}, {Key: "", Value: []byte{}}},
	}
}

// run mirrors one delivery and returns its outcome.
func (c *clusters) run(t *testing.T, d mirror.Delivery) mirror.Outcome {
	t.Helper()
	outcomes := c.task().Run(t.Context(), []mirror.Delivery{d})
	if len(outcomes) != 1 || outcomes[0].Key != d.Key {
		t.Fatalf("outcomes = %+v, want one with key %q", outcomes, d.Key)
	}
	return outcomes[0]
}

func (c *clusters) task() *mirror.Task {
	remote := func(topic string) (string, error) { return "us." + topic, nil }
	o := c.options
	o.Drain, o.Budget = time.Millisecond, 1500*time.Millisecond
	return mirror.NewTask(&c.source, &c.target, &c.state, remote, o)
}

// catchUp runs a catch-up.
func (c *clusters) catchUp(t *testing.T) error {
	t.Helper()
	return c.task().CatchUp(t.Context(), orders, true)
}

// dead is the topic of the dead letter queue.
const dead = "dead"

func (c *clusters) item(t *testing.T) watermark.State {
	t.Helper()
	s, err := c.state.Get(t.Context(), orders)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// deliver makes a delivery of the source's records from first to last, inclusive.
func (c *clusters) deliver(first, last int64) mirror.Delivery {
	d := mirror.Delivery{Key: "orders-0", Partition: orders}
	for _, r := range c.source.records {
		if r.Offset >= first && r.Offset <= last {
			d.Offsets = append(d.Offsets, r.Offset)
			d.Records = append(d.Records, &kgo.Record{Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: r.Timestamp})
		}
	}
	return d
}

type fakeSource struct {
	id, topicID string
	records     []*kgo.Record
	start, end  int64
	logEnd      int64 // past end while a transaction is open
	err         error // of Topics
	reads       int
}

func (s *fakeSource) ClusterID(context.Context) (string, error) { return s.id, nil }

func (s *fakeSource) Topics(context.Context, []string) (map[string]mirror.Topic, error) {
	return map[string]mirror.Topic{orders.Topic: {ID: s.topicID, Partitions: 1}}, s.err
}

func (s *fakeSource) Ends(context.Context, mm2.TopicPartition) (mirror.Ends, error) {
	log := max(s.end, s.logEnd)
	return mirror.Ends{Start: s.start, LastStable: s.end, HighWatermark: log, LogEnd: log}, nil
}

func (*fakeSource) Peek(context.Context, mm2.TopicPartition, string, []mirror.Hole) map[int64]mirror.Span {
	return nil
}

func (*fakeSource) OffsetAt(context.Context, mm2.TopicPartition, time.Time) (int64, error) {
	return 2, nil
}

func (s *fakeSource) Walk(_ context.Context, _ mm2.TopicPartition, id string, from, to int64) iter.Seq2[mirror.Span, error] {
	s.reads++
	return func(yield func(mirror.Span, error) bool) {
		switch {
		case id != "" && id != s.topicID:
			yield(mirror.Span{}, mirror.ErrMissing)
			return
		case from < s.start:
			yield(mirror.Span{}, &mirror.ExpiredError{Start: s.start})
			return
		}
		span := mirror.Span{From: from, To: max(min(to, s.end), from)}
		for records := range within(s.records, span.From, span.To) {
			span.Records = append(span.Records, &kgo.Record{
				Offset: records[0].Offset, Key: records[0].Key, Value: records[0].Value, Headers: records[0].Headers, Timestamp: records[0].Timestamp,
			})
		}
		span.Compacted = span.To - span.From - int64(len(span.Records))
		if span.From < span.To && !yield(span, nil) {
			return
		}
		if span.To < to {
			yield(mirror.Span{}, mirror.ErrUnstable)
		}
	}
}

func within(all []*kgo.Record, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	return func(yield func([]*kgo.Record, error) bool) {
		for _, r := range all {
			if r.Offset >= from && r.Offset < to && !yield([]*kgo.Record{r}, nil) {
				return
			}
		}
	}
}

type fakeTarget struct {
	id      string
	created int32 // partitions of the remote topic; 0: it does not exist
	log     []*kgo.Record
	limits  mirror.Limits
	ids     int64
	hang    bool // Producer waits for its context
	fences  bool
	fenced  []int64
	letters []*kgo.Record // the dead letter queue

	produce func(records []*kgo.Record) (int, error) // nil: all are appended
	err     error                                    // of Read
}

func (f *fakeTarget) ClusterID(context.Context) (string, error) { return f.id, nil }

func (f *fakeTarget) Ensure(_ context.Context, topic string, partitions int32) error {
	if topic == dead {
		return nil
	}
	f.created = partitions
	return nil
}

func (f *fakeTarget) Limits(context.Context, string) (mirror.Limits, error) { return f.limits, nil }

func (f *fakeTarget) Fence(_ context.Context, _ mm2.TopicPartition, producers []int64) error {
	if f.fences {
		f.fenced = append(f.fenced, producers...)
		return nil
	}
	return mirror.ErrFenceRefused
}

func (*fakeTarget) ForgetLimits(string) {}

func (f *fakeTarget) Ends(context.Context, mm2.TopicPartition) (mirror.Ends, error) {
	if f.created == 0 {
		return mirror.Ends{}, mirror.ErrMissing
	}
	end := int64(len(f.log))
	return mirror.Ends{LastStable: end, HighWatermark: end, LogEnd: end}, nil
}

func (f *fakeTarget) Read(_ context.Context, _ mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	if f.err != nil {
		return func(yield func([]*kgo.Record, error) bool) { yield(nil, f.err) }
	}
	return within(f.log, from, to)
}

func (f *fakeTarget) Producer(ctx context.Context) (mirror.Producer, error) {
	if f.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	f.ids++
	return fakeProducer{f, f.ids}, nil
}

// append adds copies, as a broker does.
func (f *fakeTarget) append(records []*kgo.Record) {
	for _, r := range records {
		r.Offset = int64(len(f.log))
		c := *r
		c.Key, c.Value = slices.Clone(r.Key), slices.Clone(r.Value)
		f.log = append(f.log, &c)
	}
}

type fakeProducer struct {
	*fakeTarget
	id int64
}

func (p fakeProducer) ID() int64 { return p.id }
func (fakeProducer) Release()    {}

func (p fakeProducer) Produce(_ context.Context, records []*kgo.Record) (int, error) {
	if records[0].Topic == dead {
		p.letters = append(p.letters, records...)
		return len(records), nil
	}
	if p.produce != nil {
		return p.produce(records)
	}
	p.append(records)
	return len(records), nil
}
