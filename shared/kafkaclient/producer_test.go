package kafkaclient_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/kafkaclient"
	"tidemark/shared/mirror"
)

// producerOf takes a producer that is released when the test ends.
func producerOf(t *testing.T, target *kafkaclient.Target) mirror.Producer {
	t.Helper()
	p, err := target.Producer(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	return p
}

// values reads the values of orders back, as the cluster holds them.
func values(t *testing.T, c *kfake.Cluster) []string {
	t.Helper()
	target := targetOf(t, seeds(c))
	ends, err := target.Ends(soon(t), orders)
	if err != nil {
		t.Fatal(err)
	}
	records, err := all(target.Read(soon(t), orders, ends.Start, ends.HighWatermark))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range records {
		got = append(got, string(r.Value))
	}
	return got
}

func TestProduceKeepsEveryByte(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	target := targetOf(t, seeds(c))
	sent := []*kgo.Record{
		{Timestamp: time.UnixMilli(0)},
		{Key: []byte{}, Value: []byte{}, Timestamp: time.UnixMilli(-1)},
		{Key: []byte{0, 255}, Value: []byte(strings.Repeat("v", 2<<10)), Timestamp: time.UnixMilli(1545084650987), Headers: []kgo.RecordHeader{
			{Key: "", Value: nil}, {Key: "h", Value: []byte{}}, {Key: "h", Value: []byte{255}},
		}},
	}
	for _, r := range sent {
		r.Topic = orders.Topic
	}
	n, err := producerOf(t, target).Produce(soon(t), sent)
	if n != len(sent) || err != nil {
		t.Fatalf("Produce = %d, %v, want %d", n, err, len(sent))
	}
	got, err := all(target.Read(soon(t), orders, 0, 3))
	if err != nil || len(got) != len(sent) {
		t.Fatalf("%d records read, %v, want %d", len(got), err, len(sent))
	}
	for i, r := range got {
		if sent[i].Offset != int64(i) {
			t.Errorf("record %d was acknowledged at %d", i, sent[i].Offset)
		}
		if diff := cmp.Diff([]any{sent[i].Key, sent[i].Value, sent[i].Headers, sent[i].Timestamp.UnixMilli()}, []any{r.Key, r.Value, r.Headers, r.Timestamp.UnixMilli()}); diff != "" {
			t.Errorf("record %d (-sent +read):\n%s", i, diff)
		}
	}
}

func TestLargeRecordWhereTheTopicAllowsIt(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	if err := c.CreateTopic("large", 1, map[string]string{"max.message.bytes": "4000000"}); err != nil {
		t.Fatal(err)
	}
	target := targetOf(t, seeds(c))
	limits, err := target.Limits(soon(t), "large")
	if err != nil || limits.MaxMessageBytes != 4_000_000 {
		t.Fatalf("Limits = %+v, %v, want 4000000 bytes", limits, err)
	}
	n, err := producerOf(t, target).Produce(soon(t), []*kgo.Record{{Topic: "large", Value: make([]byte, 2<<20), Timestamp: time.UnixMilli(1)}})
	if n != 1 || err != nil {
		t.Errorf("Produce of 2 MiB = %d, %v, want 1", n, err)
	}
}

func TestRefusalLeavesNothingBehindIt(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	target := targetOf(t, seeds(c))
	p := producerOf(t, target)
	id := p.ID()
	if n, err := p.Produce(soon(t), valued("a")); n != 1 || err != nil {
		t.Fatalf("Produce = %d, %v, want 1", n, err)
	}
	refused := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: orders.Topic, Err: kerr.MessageTooLarge, Count: 1})
	n, err := p.Produce(soon(t), valued("b", "c", "d"))
	if n != 0 || !errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, mirror.ErrUnknown) || refused.Hits() != 1 {
		t.Errorf("Produce = %d, %v after %d refusals, want 0 and a certain MESSAGE_TOO_LARGE", n, err, refused.Hits())
	}
	if got := values(t, c); len(got) != 1 {
		t.Errorf("target holds %q, want the record before the refused ones", got)
	}
	p.Release()
	if next := producerOf(t, target); next.ID() == id {
		t.Errorf("a producer that saw a failure is used again under its id %d", id)
	}
}

// TestUnknownOutcomes lets a broker answer what proves nothing.
func TestUnknownOutcomes(t *testing.T) {
	t.Parallel()
	for _, answer := range []*kerr.Error{kerr.TopicAuthorizationFailed, kerr.OutOfOrderSequenceNumber, kerr.InvalidProducerEpoch, kerr.UnknownProducerID} {
		t.Run(answer.Error(), func(t *testing.T) {
			t.Parallel()
			c := brokers(t)
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: orders.Topic, Err: answer, Count: -1})
			n, err := producerOf(t, targetOf(t, seeds(c))).Produce(soon(t), valued("a", "b"))
			if n != 0 || !errors.Is(err, mirror.ErrUnknown) || !errors.Is(err, answer) {
				t.Errorf("Produce = %d, %v, want 0 and an unknown outcome", n, err)
			}
		})
	}
}

// TestRecordsAreLetGo has a broker that does not answer in time. When Produce returns, the records' bytes belong to
// somebody else: nothing that is written over them may arrive.
func TestRecordsAreLetGo(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	target := targetOf(t, seeds(c))
	p := producerOf(t, target)
	held := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.SleepControl(func() { <-held })
		return nil, nil, false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	records := valued("first", "second")
	begun := time.Now()
	n, err := p.Produce(ctx, records)
	if n != 0 || !errors.Is(err, mirror.ErrUnknown) || time.Since(begun) > 5*time.Second {
		t.Errorf("Produce = %d, %v after %v, want an unknown outcome when the context ends", n, err, time.Since(begun))
	}
	for _, r := range records {
		copy(r.Value, "XXXXXX")
	}
	close(held)
	id := p.ID()
	p.Release()
	next := producerOf(t, target)
	if next.ID() == id {
		t.Errorf("a producer with records under way is used again under its id %d", id)
	}
	if n, err := next.Produce(soon(t), valued("third")); n != 1 || err != nil {
		t.Fatalf("Produce by the next one = %d, %v", n, err)
	}
	for _, v := range values(t, c) {
		if strings.Contains(v, "X") {
			t.Errorf("the target holds %q, which was written over a record after Produce had returned", v)
		}
	}
}

func TestNothingIsHandedOverTooLate(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	p := producerOf(t, targetOf(t, seeds(c)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := p.Produce(ctx, valued("late")); n != 0 || !errors.Is(err, context.Canceled) || errors.Is(err, mirror.ErrUnknown) {
		t.Errorf("Produce = %d, %v, want 0 and a certain end", n, err)
	}
	if got := values(t, c); len(got) > 0 {
		t.Errorf("target holds %q, want nothing", got)
	}
}

func TestIdleProducersAreUsedAgain(t *testing.T) {
	t.Parallel()
	target := targetOf(t, seeds(brokers(t)))
	first, errFirst := target.Producer(soon(t))
	second, errSecond := target.Producer(soon(t))
	if err := errors.Join(errFirst, errSecond); err != nil || first.ID() == second.ID() {
		t.Fatalf("two producers at once: ids %d and %d, %v, want two", first.ID(), second.ID(), err)
	}
	second.Release()
	first.Release()
	if again := producerOf(t, target); again.ID() != first.ID() {
		t.Errorf("producer %d, want %d, the one released last", again.ID(), first.ID())
	}
}

func TestGrownTopicIsWritten(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	target := targetOf(t, seeds(c))
	p := producerOf(t, target)
	if n, err := p.Produce(soon(t), valued("a")); n != 1 || err != nil {
		t.Fatalf("Produce = %d, %v", n, err)
	}
	if err := target.Ensure(soon(t), orders.Topic, 3); err != nil {
		t.Fatal(err)
	}
	r := valued("b")
	r[0].Partition = 2
	if n, err := p.Produce(soon(t), r); n != 1 || err != nil {
		t.Errorf("Produce to a partition that was added = %d, %v, want 1", n, err)
	}
	missing := valued("c")
	missing[0].Partition = 7
	if n, err := p.Produce(soon(t), missing); n != 0 || !errors.Is(err, mirror.ErrMissing) || errors.Is(err, mirror.ErrUnknown) {
		t.Errorf("Produce to a partition that does not exist = %d, %v, want 0 and a certain ErrMissing", n, err)
	}
}
