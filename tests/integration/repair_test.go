//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/mapping"
	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// reaches waits until a partition's watermark stands at next, released.
func (f *flow) reaches(t *testing.T, p int32, next int64) {
	t.Helper()
	upstream, _ := f.partition(p)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		s, err := f.store.Get(t.Context(), upstream)
		if err != nil {
			t.Fatal(err)
		}
		if s.Next == next && s.Owner == "" && s.Stall == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: next %d, owner %q, stall %+v, want %d, released\n%s", upstream, s.Next, s.Owner, s.Stall, next, f.report())
		}
	}
}

// values are the values of a partition's records, as a read_committed consumer sees them.
func (b *broker) values(t *testing.T, tp mm2.TopicPartition, n int) []string {
	t.Helper()
	client := b.client(t, kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{tp.Topic: {tp.Partition: kgo.NewOffset().AtStart()}}))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var all []string
	for len(all) < n {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("read %s: %d of %d records: %v", tp, len(all), n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { all = append(all, string(r.Value)) })
	}
	return all
}

// sameValues wants the target to hold exactly what a read_committed consumer sees on the source.
func (f *flow) sameValues(t *testing.T, p int32, n int) {
	t.Helper()
	upstream, downstream := f.partition(p)
	want, got := source.values(t, upstream, n), target.values(t, downstream, n)
	if len(want) != n || len(got) != n {
		t.Fatalf("%s has %d records, %s %d, want %d", upstream, len(want), downstream, len(got), n)
	}
	for i := range want {
		if want[i] != got[i] {
			t.Fatalf("record %d of %s differs from its copy", i, upstream)
		}
	}
	if end := target.end(t, downstream); end != int64(n) {
		t.Errorf("%s ends at %d, want %d: nothing else was written", downstream, end, n)
	}
}

// transactions writes n transactions of size records, and aborts each so many; 0: none. It returns how many are committed.
func transactions(t *testing.T, tp mm2.TopicPartition, n, size, abort int) (committed int) {
	t.Helper()
	writer := source.client(t, kgo.TransactionalID(tp.String()))
	for i := range n {
		if err := writer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		records := make([]*kgo.Record, size)
		for j := range records {
			records[j] = &kgo.Record{Topic: tp.Topic, Partition: tp.Partition, Value: fmt.Appendf(noise(1000), " %d.%d", i, j)}
		}
		write(t, writer, records...)
		end := kgo.TryCommit
		if abort > 0 && i%abort == abort-1 {
			end = kgo.TryAbort
		} else {
			committed += size
		}
		if err := writer.EndTransaction(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	return committed
}

// TestTransactionalSource mirrors transactions, some of them aborted, through trigger and function.
func TestTransactionalSource(t *testing.T) {
	t.Parallel()
	tp := mm2.TopicPartition{Topic: source.topic(t, 1)}
	f := newFlow(t, tp.Topic, settings{trigger: mapping.Options{BatchSize: 500}})
	const n, size = 40, 25
	committed := transactions(t, tp, n, size, 4)
	f.reaches(t, 0, n*(size+1)-size-2) // behind the last record that was committed: the last transaction was aborted
	f.sameValues(t, 0, committed)
	if got := f.metric(t, mirror.OffsetsControl) + f.metric(t, mirror.OffsetsAborted); got == 0 {
		t.Error("no hole was explained")
	}
	if got := f.metric(t, mirror.RecordsLost); got != 0 {
		t.Errorf("%s = %d, want 0", mirror.RecordsLost, got)
	}
}

// TestDroppedByTheTrigger leaves out of the deliveries a record of 9 MB, as the trigger does with what its payload cannot
// hold, and the last record of the topic, which nothing ever reveals but a catch-up.
func TestDroppedByTheTrigger(t *testing.T) {
	t.Parallel()
	tp := mm2.TopicPartition{Topic: source.topic(t, 1, "max.message.bytes=10485760")}
	target.topicNamed(t, "source."+tp.Topic, 1, "max.message.bytes=10485760")
	records := numbered(tp, 20)
	records[7].Value = noise(9 << 20)
	write(t, source.client(t, kgo.ProducerBatchMaxBytes(10<<20)), records...)
	f := newFlow(t, tp.Topic, settings{idle: true})
	for _, delivered := range [][]*kgo.Record{records[:7], records[8:19]} {
		if _, err := f.function.Invoke(t.Context(), event(t, tp, delivered...)); err != nil {
			t.Fatal(err)
		}
	}
	f.reaches(t, 0, 19)
	if _, err := f.function.Invoke(t.Context(), fmt.Appendf(nil, `{"action":"catch-up","topic":%q,"partition":0}`, tp.Topic)); err != nil {
		t.Fatal(err)
	}
	f.reaches(t, 0, 20)
	f.same(t, 20)
}

// TestRecreatedTopic deletes the source topic and makes it again, shorter and longer than what was mirrored, with a
// consumer running. A new log that begins with the old one's records can be told from it by the topic's id alone.
func TestRecreatedTopic(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		again int
		same  bool
	}{
		"shorter": {30, false}, "longer": {300, false}, "longer and alike": {300, true},
	} {
		again := c.again
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tp := mm2.TopicPartition{Topic: source.topic(t, 1)}
			f := newFlow(t, tp.Topic, settings{trigger: mapping.Options{BatchSize: 50}})
			const first = 100
			old := numbered(tp, first)
			write(t, source.client(t), old...)
			f.reaches(t, 0, first)
			if _, err := source.admin(t).DeleteTopic(t.Context(), tp.Topic); err != nil {
				t.Fatal(err)
			}
			source.awaitPartitions(t, tp.Topic, 0)
			source.topic(t, 1)
			records := numbered(tp, again)
			for i, r := range records {
				if !c.same {
					r.Value = fmt.Append(nil, "again ", i)
				} else if i < first {
					r.Timestamp = old[i].Timestamp
				}
			}
			write(t, source.client(t), records...)
			// Whatever the trigger brings, or does not, a catch-up reads the new log.
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
				if _, err := f.function.Invoke(t.Context(), fmt.Appendf(nil, `{"action":"catch-up","topic":%q,"partition":0}`, tp.Topic)); err == nil {
					if s, err := f.store.Get(t.Context(), tp); err == nil && s.Next == int64(again) && s.Owner == "" {
						break
					}
				}
				if time.Now().After(deadline) {
					t.Fatal("not caught up within a minute: " + f.report())
				}
			}
			_, downstream := f.partition(0)
			want := slices.Concat(old, records)
			got := target.values(t, downstream, len(want))
			for i, r := range want {
				if got[i] != string(r.Value) {
					t.Fatalf("record %d of the target is not record %d of both logs together", i, i)
				}
			}
			if end := target.end(t, downstream); end != int64(len(want)) {
				t.Errorf("the target ends at %d, want %d: both logs once", end, len(want))
			}
			t.Logf("%d records of the old log, %d of the new one, mirrored once and in order; trigger %+v", first, again, f.trigger.Stats())
		})
	}
}

// TestFencedProducerIsRefused writes abort markers for a producer that has written to the partition, and for one that has
// not: neither can append any more.
func TestFencedProducerIsRefused(t *testing.T) {
	t.Parallel()
	tp := mm2.TopicPartition{Topic: target.topic(t, 1)}
	cluster := targetOf(t, target)
	for _, wrote := range []bool{true, false} {
		zombie := target.client(t, kgo.StopProducerOnDataLossDetected(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if wrote {
			write(t, zombie, numbered(tp, 3)...)
		}
		id, _, err := zombie.ProducerID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := cluster.Fence(t.Context(), tp, []int64{id}); err != nil {
			t.Fatalf("Fence: %v", err)
		}
		ends, err := cluster.Ends(t.Context(), tp)
		if err != nil || ends.HighWatermark != ends.LogEnd {
			t.Errorf("ends %+v, %v, want the marker below the high watermark", ends, err)
		}
		err = zombie.ProduceSync(t.Context(), numbered(tp, 1)...).FirstErr()
		if !errors.Is(err, kerr.InvalidProducerEpoch) {
			t.Errorf("produce of a fenced producer that wrote before: %t: %v, want INVALID_PRODUCER_EPOCH", wrote, err)
		}
		if after, err := cluster.Ends(t.Context(), tp); err != nil || after.LogEnd != ends.LogEnd {
			t.Errorf("the log ends at %d, %v, want %d: nothing behind the fence", after.LogEnd, err, ends.LogEnd)
		}
	}
}

// TestNothingLandsBehindTheFence pauses the broker with a produce under way, and fences while it is paused: once the fence
// stands, the log is final.
func TestNothingLandsBehindTheFence(t *testing.T) {
	tp := mm2.TopicPartition{Topic: target.topic(t, 1)}
	cluster := targetOf(t, target)
	zombie := target.client(t, kgo.StopProducerOnDataLossDetected(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	write(t, zombie, numbered(tp, 1)...)
	id, _, err := zombie.ProducerID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Ends(t.Context(), tp); err != nil { // connected
		t.Fatal(err)
	}
	target.signal(t, syscall.SIGSTOP)
	t.Cleanup(func() { target.signal(t, syscall.SIGCONT) })
	outcomes := make(chan error, 1)
	go func() {
		outcomes <- zombie.ProduceSync(context.WithoutCancel(t.Context()), numbered(tp, 5)...).FirstErr()
	}()
	time.Sleep(time.Second) // it is in the broker's socket by now
	fenced := make(chan error, 1)
	go func() { fenced <- cluster.Fence(t.Context(), tp, []int64{id}) }()
	time.Sleep(time.Second)
	target.signal(t, syscall.SIGCONT)
	if err := <-fenced; err != nil {
		t.Fatalf("Fence: %v", err)
	}
	ends, err := cluster.Ends(t.Context(), tp)
	if err != nil {
		t.Fatal(err)
	}
	landed := <-outcomes
	_ = zombie.ProduceSync(t.Context(), numbered(tp, 1)...) // refused, or not even sent
	after, err := cluster.Ends(t.Context(), tp)
	if err != nil || after.LogEnd != ends.HighWatermark {
		t.Errorf("the log ends at %d behind the fence at %d (%v); the zombie's produce: %v", after.LogEnd, ends.HighWatermark, err, landed)
	}
}
