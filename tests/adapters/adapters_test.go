package adapters

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/kafkaclient"
	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
	"tidemark/shared/watermark/watermarktest"
)

var adapters = flag.Int("adapters", 16, "how many seeds to play over embedded brokers, with the real adapters")

// TestAdapters plays seeds with the real adapters over embedded brokers. It is not deterministic, so that a failure prints
// what happened. Embedded brokers do not refuse a fenced producer; that is for real ones to show.
func TestAdapters(t *testing.T) {
	t.Parallel()
	const together = 64
	slots := make(chan struct{}, together)
	for seed := range *adapters {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			newBench(t, uint64(seed)).play(t)
		})
	}
}

// bench is two embedded clusters and one partition.
type bench struct {
	mu  sync.Mutex // guards rng and well
	rng *rand.Rand
	log strings.Builder

	well   bool // no more faults
	topic  string
	source *kfake.Cluster
	target *kfake.Cluster
	state  watermarktest.Memory

	offsets []int64
	records []*kgo.Record
	end     int64
}

func newBench(t *testing.T, seed uint64) *bench {
	t.Helper()
	b := &bench{rng: rand.New(rand.NewPCG(seed, 99)), topic: "t"}
	for _, c := range []**kfake.Cluster{&b.source, &b.target} {
		id := map[**kfake.Cluster]string{&b.source: "source", &b.target: "target"}[c]
		cluster, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.ClusterID(id))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		*c = cluster
	}
	b.fill(t)
	for _, c := range []*kfake.Cluster{b.source, b.target} {
		b.disturb(c)
	}
	return b
}

// fill writes plain records, transactions and aborted ones, and reads back what a trigger would.
func (b *bench) fill(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	plain, err := kgo.NewClient(kgo.SeedBrokers(b.source.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := kadm.NewClient(plain).CreateTopic(ctx, 1, 1, nil, b.topic); err != nil {
		t.Fatal(err)
	}
	transactional, err := kgo.NewClient(kgo.SeedBrokers(b.source.ListenAddrs()...), kgo.TransactionalID("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer transactional.Close()
	for i := range 4 + b.rng.IntN(10) {
		records := make([]*kgo.Record, 1+b.rng.IntN(8))
		for j := range records {
			records[j] = &kgo.Record{Topic: b.topic, Value: fmt.Appendf(nil, "%d.%d", i, j), Timestamp: time.UnixMilli(int64(1000 + i))}
		}
		kind := b.rng.IntN(3)
		if kind == 0 {
			if err := plain.ProduceSync(ctx, records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		errs := []error{
			transactional.BeginTransaction(), transactional.ProduceSync(ctx, records...).FirstErr(),
			transactional.EndTransaction(ctx, kgo.TransactionEndTry(kind == 1)),
		}
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	b.read(t, plain)
}

func (b *bench) read(t *testing.T, client *kgo.Client) {
	t.Helper()
	ends, err := kadm.NewClient(client).ListCommittedOffsets(t.Context(), b.topic)
	if err != nil {
		t.Fatal(err)
	}
	last, _ := ends.Lookup(b.topic, 0)
	b.end = last.Offset
	all, err := values(t.Context(), b.source, b.topic, b.end)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		b.offsets, b.records = append(b.offsets, r.Offset), append(b.records, r)
	}
}

// values are the records of a partition up to an end, as a read_committed consumer sees them.
func values(ctx context.Context, c *kfake.Cluster, topic string, end int64) ([]*kgo.Record, error) {
	log, err := kafkaclient.NewSource([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...)}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	var all []*kgo.Record
	for records, err := range log.Read(ctx, mm2.TopicPartition{Topic: topic}, 0, end) {
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	return all, nil
}

// disturb has a cluster answer some requests with errors that a client is to try again, and leave some unanswered.
func (b *bench) disturb(c *kfake.Cluster) {
	c.Control(func(request kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.well || b.rng.IntN(25) > 0 {
			return nil, nil, false
		}
		switch request.(type) {
		case *kmsg.ProduceRequest, *kmsg.FetchRequest, *kmsg.ListOffsetsRequest, *kmsg.MetadataRequest, *kmsg.WriteTxnMarkersRequest:
			fmt.Fprintf(&b.log, "%s: connection cut\n", kmsg.NameForKey(request.Key()))
			return nil, errors.New("connection cut"), true
		}
		return nil, nil, false
	})
}

func (b *bench) pick(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rng.IntN(n)
}

func (b *bench) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(&b.log, format+"\n", args...)
}

// play mirrors with faults, then without, and compares both logs.
func (b *bench) play(t *testing.T) {
	t.Helper()
	tp := mm2.TopicPartition{Topic: b.topic}
	for range 4 + b.pick(4) {
		b.invoke(t.Context(), tp)
	}
	b.mu.Lock()
	b.well = true
	b.mu.Unlock()
	deadline := time.Now().Add(time.Minute)
	for {
		task, closeTask := b.task()
		err := task.CatchUp(t.Context(), tp, false)
		closeTask()
		s, _ := b.state.Get(t.Context(), tp)
		if err == nil && s.Owner == "" && (len(b.offsets) == 0 || s.Next == b.offsets[len(b.offsets)-1]+1) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not caught up: %v, %+v\n%s", err, s, &b.log)
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.compare(t)
}

// invoke runs one invocation over a random part of what the trigger has, and kills it at a random moment now and then.
func (b *bench) invoke(ctx context.Context, tp mm2.TopicPartition) {
	if len(b.offsets) == 0 {
		return
	}
	s, _ := b.state.Get(ctx, tp)
	first, _ := slices.BinarySearch(b.offsets, max(s.Next, 0))
	first = min(first, len(b.offsets)-1)
	if b.pick(3) == 0 {
		first = b.pick(first + 1)
	}
	last := min(first+1+b.pick(20), len(b.offsets))
	d := mirror.Delivery{Key: "t-0", Partition: tp}
	for i := first; i < last; i++ {
		if b.pick(15) == 0 && i > first {
			continue // the trigger drops it
		}
		c := *b.records[i]
		d.Offsets, d.Records = append(d.Offsets, b.offsets[i]), append(d.Records, &kgo.Record{Key: c.Key, Value: c.Value, Headers: c.Headers, Timestamp: c.Timestamp})
	}
	limit := 10 * time.Second
	if b.pick(3) == 0 {
		limit = time.Duration(1200+b.pick(100)) * time.Millisecond // too little time
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if b.pick(3) == 0 {
		time.AfterFunc(time.Duration(b.pick(20))*time.Millisecond, cancel) // killed
	}
	task, closeTask := b.task()
	defer closeTask()
	o := task.Run(ctx, []mirror.Delivery{d})[0]
	b.note("%d to %d: %v, parked %v", d.Offsets[0], d.Offsets[len(d.Offsets)-1], o.Err, o.Parked)
}

// task is one process. Its state store loses the answers to some writes.
func (b *bench) task() (*mirror.Task, func()) {
	discard := slog.New(slog.DiscardHandler)
	source, errSource := kafkaclient.NewSource([]kgo.Opt{kgo.SeedBrokers(b.source.ListenAddrs()...)}, discard)
	target, errTarget := kafkaclient.NewTarget([]kgo.Opt{kgo.SeedBrokers(b.target.ListenAddrs()...)}, -1, discard)
	if err := errors.Join(errSource, errTarget); err != nil {
		panic(err)
	}
	task := mirror.NewTask(source, target, forgetful{&b.state, b}, func(topic string) (string, error) { return "source." + topic, nil },
		mirror.Options{Budget: 1500 * time.Millisecond, Drain: 50 * time.Millisecond, Margin: 50 * time.Millisecond, Chunk: 2000})
	return task, func() { source.Close(); target.Close() }
}

// forgetful is a state store some of whose writes fail, before or after they were applied.
type forgetful struct {
	*watermarktest.Memory
	b *bench
}

func (f forgetful) fault(apply func() error) error {
	f.b.mu.Lock()
	fate := f.b.rng.IntN(20)
	if f.b.well {
		fate = 20
	}
	f.b.mu.Unlock()
	if fate == 0 {
		return kerr.RequestTimedOut
	}
	err := apply()
	if fate == 1 {
		return errors.Join(err, kerr.RequestTimedOut)
	}
	return err
}

func (f forgetful) Claim(ctx context.Context, c watermark.Claim) (g watermark.Grant, err error) {
	err = f.fault(func() error { g, err = f.Memory.Claim(ctx, c); return err })
	return g, err
}

func (f forgetful) Begin(ctx context.Context, w watermark.Begin) error {
	return f.fault(func() error { return f.Memory.Begin(ctx, w) })
}

func (f forgetful) Commit(ctx context.Context, c watermark.Commit) error {
	return f.fault(func() error { return f.Memory.Commit(ctx, c) })
}

func (b *bench) compare(t *testing.T) {
	t.Helper()
	s, _ := b.state.Get(t.Context(), mm2.TopicPartition{Topic: b.topic})
	copies, err := values(t.Context(), b.target, "source."+b.topic, s.DownstreamNext)
	if err != nil {
		t.Fatal(err)
	}
	for i := range max(len(copies), len(b.records)) {
		if i >= len(copies) || i >= len(b.records) || string(copies[i].Value) != string(b.records[i].Value) {
			t.Fatalf("record %d differs: the target holds %d records, want %d\n%s", i, len(copies), len(b.records), &b.log)
		}
	}
}
