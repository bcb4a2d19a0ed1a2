package mirror_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// only is what a trigger in items mode brings again: the offsets that the answer named.
func (c *clusters) only(offsets []int64) mirror.Delivery {
	d := mirror.Delivery{Key: "orders-0", Partition: orders}
	for _, o := range offsets {
		one := c.deliver(o, o)
		d.Offsets, d.Records = append(d.Offsets, one.Offsets...), append(d.Records, one.Records...)
	}
	return d
}

// BatchItemFailures names offsets from next on only, also when it is not proven (or disproven) that what lies below
// next is a redelivery. In items mode the trigger brings the rest alone, which begins at next: nothing shows any more.
func TestItemsModeBringsRegrownRecordsAgain(t *testing.T) {
	for name, transient := range map[string]bool{"step back": false, "source unreachable at first": true} {
		t.Run(name, func(t *testing.T) {
			c := newClusters(5)
			if o := c.run(t, c.deliver(0, 2)); o.Err != nil {
				t.Fatal(o.Err)
			}
			// Unclean election: the source ends at 1, then regrows with other records under the same id.
			for i := 1; i <= 2; i++ {
				r := record(int64(i))
				r.Value = append(r.Value, " regrown"...)
				c.source.records[i] = r
			}
			if transient {
				c.source.err = errors.New("connection refused")
			}
			d := c.deliver(1, 4)
			for range 5 { // what the trigger does in items mode
				o := c.run(t, d)
				c.source.err = nil
				if o.Err == nil {
					break
				}
				d = c.only(o.Undelivered)
			}
			want := []string{"value 0", "value 1", "value 2", "value 1 regrown", "value 2 regrown", "value 3", "value 4"}
			if diff := cmp.Diff(want, c.values()); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
		})
	}
}

// One answer without ids (a broker with an older Metadata version in a rolling upgrade) erases the stored id, and the
// guard against recreated topics with it.
func TestAnswerWithoutTopicIDKeepsTheGuard(t *testing.T) {
	c := newClusters(8)
	c.run(t, c.deliver(0, 2))
	c.source.topicID = ""
	c.run(t, c.deliver(3, 3))
	c.source.topicID = "second" // recreated, longer; the running consumer goes on at 4
	if o := c.run(t, c.deliver(4, 5)); o.Err != nil || len(c.values()) != 4+6 {
		t.Errorf("err = %v, item id %q, target %q, want the new log's first six records behind the old one's four", o.Err, c.item(t).TopicID, c.values())
	}
}

// Pending throws away what the delivery holds when the source has lost a record of it since (compaction).
func TestPendingKeepsWhatTheDeliveryHolds(t *testing.T) {
	c := newClusters(8)
	c.run(t, c.deliver(0, 0))
	c.target.produce = func(records []*kgo.Record) (int, error) {
		c.target.append(records)
		return 0, mirror.ErrUnknown
	}
	c.run(t, c.deliver(1, 7)) // all seven landed
	c.target.produce = nil
	d := c.deliver(1, 5)
	all := slices.Clone(c.source.records)
	c.source.records = slices.Delete(c.source.records, 3, 4) // compacted after the trigger had read it
	o := c.run(t, d)
	c.source.records = all
	if got := c.values(); len(got) != 8 {
		t.Errorf("outcome %v; target %q, want 8 records without duplicates", o.Err, got)
	}
}

// The same with retention: the source's log start passes next, the delivery holds a part, the source the rest.
func TestPendingPassesExpiryByTheDelivery(t *testing.T) {
	c := newClusters(8)
	c.run(t, c.deliver(0, 0))
	c.target.produce = func(records []*kgo.Record) (int, error) {
		c.target.append(records)
		return 0, mirror.ErrUnknown
	}
	c.run(t, c.deliver(1, 7))
	c.target.produce = nil
	d := c.deliver(1, 5)
	c.source.start = 3
	c.run(t, d)
	c.run(t, c.deliver(6, 7))
	if got := c.values(); len(got) != 8 {
		t.Errorf("target %q, want 8 records without duplicates", got)
	}
}

// While the tail cannot be settled, each retry adds a producer id, keeps the claim for budget + drain although it
// handed nothing over, and the item never says why (stall).
func TestUnsettledItemDoesNotGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClusters(8)
		c.run(t, c.deliver(0, 0))
		c.target.produce = func([]*kgo.Record) (int, error) { return 0, mirror.ErrUnknown }
		c.run(t, c.deliver(1, 3))
		c.target.produce = nil
		c.source.err = errors.New("connection refused")
		start := time.Now()
		for range 100 {
			c.run(t, c.deliver(1, 3))
		}
		if s := c.item(t); len(s.Producers) > 2 || s.Stall == nil {
			t.Errorf("after 100 retries: %d producer ids in the item, stall %v; waited %v for nobody", len(s.Producers), s.Stall, time.Since(start))
		}
	})
}

type hangingSource struct{ *fakeSource }

func (hangingSource) Topics(ctx context.Context, _ []string) (map[string]mirror.Topic, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Identify keeps no margin: with a timeout below the budget nothing is left to commit and answer.
func TestHangingSourceLeavesTimeToAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClusters(3)
		const timeout = 15 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		task := mirror.NewTask(hangingSource{&c.source}, &c.target, &c.state, func(topic string) (string, error) { return topic, nil }, mirror.Options{})
		start := time.Now()
		task.Run(ctx, []mirror.Delivery{c.deliver(0, 2)})
		if took := time.Since(start); took > timeout-2*time.Second {
			t.Errorf("the answer came after %v, want it 2 s before the deadline of %v", took, timeout)
		}
	})
}

type counts struct {
	mu sync.Mutex
	n  map[string]int64
}

func (c *counts) Add(name string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int64{}
	}
	c.n[name] += n
}

// The target was recreated (or lost its end by an unclean election): its end is below downstream_next. The tail of a
// dead owner is not looked at, the records are sent again, and no metric says so.
func TestTargetBehindIsCounted(t *testing.T) {
	c := newClusters(8)
	c.run(t, c.deliver(0, 4))
	c.target.log = nil // deleted and made again
	c.target.produce = func(records []*kgo.Record) (int, error) {
		c.target.append(records)
		return 0, mirror.ErrUnknown
	}
	c.run(t, c.deliver(5, 6))
	c.target.produce = nil
	m := &counts{}
	task := mirror.NewTask(&c.source, &c.target, &c.state, func(string) (string, error) { return "us.orders", nil },
		mirror.Options{Drain: time.Millisecond, Budget: 1500 * time.Millisecond, Metrics: m})
	o := task.Run(t.Context(), []mirror.Delivery{c.deliver(5, 6)})[0]
	if o.Err == nil && len(c.target.log) > 2 && m.n[mirror.DuplicatesPossible] == 0 {
		t.Errorf("success; target %q has duplicates, metrics %v say nothing of them", c.values(), m.n)
	}
}

// A partition that was begun but has mirrored nothing has no digest; a delivery below next is taken for truncation.
func TestOlderDeliveryThanTheStartIsDropped(t *testing.T) {
	c := newClusters(8)
	now := time.Now()
	g, err := c.state.Claim(t.Context(), watermark.Claim{Partition: orders, Owner: "x", Now: now, Deadline: now.Add(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	c.target.created = 1
	if err := c.state.Begin(t.Context(), watermark.Begin{Partition: orders, Epoch: g.State.Epoch, Owner: "x", TopicID: "first", Next: 4}); err != nil {
		t.Fatal(err)
	}
	to := watermark.State{Partition: orders, Epoch: g.State.Epoch, TopicID: "first", Next: 4, DownstreamLast: watermark.None}
	if err := c.state.Commit(t.Context(), watermark.Commit{Owner: "x", From: 4, State: to}); err != nil {
		t.Fatal(err)
	}
	if o := c.run(t, c.deliver(2, 6)); o.Err != nil {
		t.Errorf("begun at 4, nothing mirrored yet, delivery 2 to 6: %v", o.Err)
	}
}

// An open transaction on the source: next is above the last stable offset (the trigger reads uncommitted), and the
// read of next-1 waits for it although the answer is known beforehand.
type open struct {
	*fakeSource
	stable int64
}

func (s open) Ends(context.Context, mm2.TopicPartition) (mirror.Ends, error) {
	return mirror.Ends{LastStable: s.stable, HighWatermark: s.end, LogEnd: s.end}, nil
}

func (s open) Walk(ctx context.Context, tp mm2.TopicPartition, id string, from, to int64) iter.Seq2[mirror.Span, error] {
	if to > s.stable {
		return func(yield func(mirror.Span, error) bool) { yield(mirror.Span{}, mirror.ErrUnstable) }
	}
	return s.fakeSource.Walk(ctx, tp, id, from, to)
}

func TestRedeliveryDoesNotWaitForATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClusters(6)
		c.run(t, c.deliver(0, 5))
		task := mirror.NewTask(open{&c.source, 2}, &c.target, &c.state, func(string) (string, error) { return "us.orders", nil }, mirror.Options{})
		start := time.Now()
		o := task.Run(t.Context(), []mirror.Delivery{c.deliver(0, 2)})[0]
		if took := time.Since(start); took > time.Second {
			t.Errorf("redelivery below next behind an open transaction took %v: %v", took, o.Err)
		}
	})
}
