//go:build integration

package integration

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/bed"
	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// looks counts how the source is asked about holes.
type looks struct {
	mirror.Source
	walks, peeked atomic.Int64
}

func (s *looks) Walk(ctx context.Context, tp mm2.TopicPartition, id string, from, to int64) iter.Seq2[mirror.Span, error] {
	s.walks.Add(1)
	return s.Source.Walk(ctx, tp, id, from, to)
}

func (s *looks) Peek(ctx context.Context, tp mm2.TopicPartition, id string, holes []mirror.Hole) map[int64]mirror.Span {
	peeked := s.Source.Peek(ctx, tp, id, holes)
	s.peeked.Add(int64(len(peeked)))
	return peeked
}

// TestCostOfHoles measures how much longer an invocation takes whose records lie in transactions of a hundred, with or without
// aborted ones among them, or between others that were compacted away, than one with as many records and no hole. The state
// table is the second emulator, whose answers take as long as DynamoDB's.
func TestCostOfHoles(t *testing.T) {
	const n, size, rounds, warm, peeks = 60, 100, 30, 10, 200
	tp := mm2.TopicPartition{Topic: source.topic(t, 3)}
	whole := transactions(t, tp, n, size, 4)
	plain := mm2.TopicPartition{Topic: tp.Topic, Partition: 1}
	write(t, source.client(t), noisy(plain, whole)...)
	clean := mm2.TopicPartition{Topic: tp.Topic, Partition: 2}
	transactions(t, clean, whole/size, size, 0)
	kinds := []struct {
		name string
		mirror.Delivery
		took []time.Duration
	}{
		{name: "no hole", Delivery: source.delivery(t, plain, whole)},
		{name: "transactions", Delivery: source.delivery(t, clean, whole)},
		{name: "and aborted ones", Delivery: source.delivery(t, tp, whole)},
		{name: "compacted", Delivery: source.delivery(t, compacted(t, whole), whole)},
	}
	looks := &looks{Source: sourceOf(t, source)}
	target := targetOf(t, target)
	for range peeks { // a broker in service has compiled what it runs
		looks.Source.Peek(t.Context(), tp, "", holesOf(kinds[2].Delivery))
	}
	for round := range rounds {
		ground, err := bed.Start(t.Context(), bed.Options{Source: []string{source.addr}, Target: []string{source.addr}, DynamoDB: aws.url, Table: fmt.Sprint("holes-", round)})
		if err != nil {
			t.Fatal(err)
		}
		task := mirror.NewTask(looks, target, ground.State, func(topic string) (string, error) { return fmt.Sprint(round, ".", topic), nil }, mirror.Options{})
		for i := range kinds {
			k := &kinds[i]
			first, rest := k.Delivery, k.Delivery
			first.Offsets, first.Records, rest.Offsets, rest.Records = first.Offsets[:1], first.Records[:1], rest.Offsets[1:], rest.Records[1:]
			if o := task.Run(t.Context(), []mirror.Delivery{first})[0]; o.Err != nil { // it makes topic and item
				t.Fatal(o.Err)
			}
			began := time.Now()
			if o := task.Run(t.Context(), []mirror.Delivery{rest})[0]; o.Err != nil {
				t.Fatal(o.Err)
			}
			if round >= warm {
				k.took = append(k.took, time.Since(began))
			}
		}
		ground.Close()
	}
	for _, k := range kinds {
		slices.Sort(k.took)
		median, base := k.took[len(k.took)/2], kinds[0].took[len(k.took)/2]
		t.Logf("%-20s %d records, %d holes: %v, of which holes %.0f%%", k.name, len(k.Offsets), len(holesOf(k.Delivery)),
			median.Round(time.Microsecond), 100*(1-base.Seconds()/median.Seconds()))
	}
	if looks.walks.Load() > 5*rounds || looks.peeked.Load() < rounds*n {
		t.Errorf("%d walks, %d holes looked into at once, want nearly all of them so", looks.walks.Load(), looks.peeked.Load())
	}
}

// delivery reads n committed records of a partition as a trigger would.
func (b *broker) delivery(t *testing.T, tp mm2.TopicPartition, n int) mirror.Delivery {
	t.Helper()
	reader := b.client(t, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxPartitionBytes(8<<20),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{tp.Topic: {tp.Partition: kgo.NewOffset().AtStart()}}))
	d := mirror.Delivery{Key: tp.String(), Partition: tp}
	for len(d.Offsets) < n {
		reader.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			d.Offsets = append(d.Offsets, r.Offset)
			d.Records = append(d.Records, &kgo.Record{Key: r.Key, Value: r.Value, Timestamp: r.Timestamp})
		})
	}
	d.Offsets, d.Records = d.Offsets[:n], d.Records[:n]
	return d
}

// holesOf are the holes between a delivery's records.
func holesOf(d mirror.Delivery) (holes []mirror.Hole) {
	for i, offset := range d.Offsets[1:] {
		if before := d.Offsets[i] + 1; before < offset {
			holes = append(holes, mirror.Hole{From: before, To: offset})
		}
	}
	return holes
}

// noisy are n records of a partition that do not compress, of 1 KB.
func noisy(tp mm2.TopicPartition, n int) []*kgo.Record {
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: tp.Topic, Partition: tp.Partition, Value: fmt.Appendf(noise(1000), " %d", i)}
	}
	return records
}

// compacted makes a partition whose first n records stand at every second offset.
func compacted(t *testing.T, n int) mm2.TopicPartition {
	t.Helper()
	tp := mm2.TopicPartition{Topic: source.topicNamed(t, strings.ReplaceAll(t.Name(), "/", ".")+".compacted", 1, "cleanup.policy=compact", "min.cleanable.dirty.ratio=0.001", "segment.bytes=1048576")}
	records := noisy(tp, 2*n)
	for i, r := range records {
		if r.Key = []byte("replaced"); i%2 == 0 {
			r.Key = fmt.Append(nil, i)
		}
	}
	client := source.client(t)
	write(t, client, records...)
	write(t, client, &kgo.Record{Topic: tp.Topic, Key: []byte("replaced")})
	for i := range 3 { // a full segment rolls, and only what is not in the last one is compacted
		write(t, client, &kgo.Record{Topic: tp.Topic, Key: fmt.Append(nil, "filler ", i), Value: noise(600 << 10)})
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		if d := source.delivery(t, tp, n); d.Offsets[n-1] == int64(2*(n-1)) {
			return tp
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not compacted", tp)
		}
	}
}
