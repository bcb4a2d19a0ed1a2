package mapping_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/mapping"
)

const topic = "orders"

// source is a cluster with a topic.
type source struct {
	cluster *kfake.Cluster
	client  *kgo.Client
	sent    map[int32]int // records per partition
}

func newSource(t *testing.T, partitions int32) *source {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(partitions, topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &source{cluster, client, make(map[int32]int)}
}

// send produces n records of a value's size to each of some partitions.
func (s *source) send(t *testing.T, n, size int, partitions ...int32) {
	t.Helper()
	var records []*kgo.Record
	for _, p := range partitions {
		s.sent[p] += n
		for range n {
			records = append(records, &kgo.Record{Topic: topic, Partition: p, Value: []byte(strings.Repeat("v", size))})
		}
	}
	if err := s.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// batch is what one invocation got: the offsets of each partition.
type batch map[string][]int64

// function is a function under test's control that keeps what it was given.
type function struct {
	answer func(n int, b batch) (string, error) // of invocation n, from 0; nil: success

	mu      sync.Mutex
	got     []batch
	largest int // bytes
}

func (f *function) invoke(_ context.Context, payload []byte) ([]byte, error) {
	var event struct {
		Records map[string][]struct{ Offset int64 }
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, err
	}
	b := make(batch)
	for partition, records := range event.Records {
		for _, r := range records {
			b[partition] = append(b[partition], r.Offset)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, b)
	f.largest = max(f.largest, len(payload))
	clear(payload) // a function may decode in place
	if f.answer == nil {
		return []byte("null"), nil
	}
	body, err := f.answer(len(f.got)-1, b)
	return []byte(body), err
}

// offsets are those of a partition over all invocations, in order of invocation.
func (f *function) offsets(partition string) []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []int64
	for _, b := range f.got {
		out = append(out, b[partition]...)
	}
	return out
}

// start runs a mapping until stop is called, which waits for its end and returns what it counted.
func start(t *testing.T, s *source, f *function, o mapping.Options) (m *mapping.Mapping, stop func() mapping.Stats) {
	t.Helper()
	m = mapping.New(s.cluster.ListenAddrs(), topic, f.invoke, o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	var once sync.Once
	stop = func() mapping.Stats {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run = %v", err)
			}
		})
		return m.Stats()
	}
	t.Cleanup(func() { stop() })
	return m, stop
}

// eventually waits until a condition holds.
func eventually(t *testing.T, m *mapping.Mapping, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("Stats() = %+v after 10 s, want %s", m.Stats(), what)
		}
	}
}

// await waits until the mapping has delivered n records.
func await(t *testing.T, m *mapping.Mapping, n int) {
	t.Helper()
	eventually(t, m, fmt.Sprintf("%d records", n), func() bool { return m.Stats().Records >= n })
}

// upTo is 0, 1, ... n-1.
func upTo(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

func (s *source) committed(t *testing.T) map[int32]int64 {
	t.Helper()
	offsets, err := kadm.NewClient(s.client).FetchOffsetsForTopics(t.Context(), "tidemark.local."+topic, topic)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		t.Fatal(err)
	}
	out := make(map[int32]int64)
	offsets.Each(func(o kadm.OffsetResponse) { out[o.Partition] = o.At })
	return out
}

func TestDeliversInOrderAndCommits(t *testing.T) {
	t.Parallel()
	s, f := newSource(t, 3), &function{}
	s.send(t, 250, 10, 0, 1, 2)
	m, stop := start(t, s, f, mapping.Options{Pollers: 2, BatchSize: 40})
	await(t, m, 750)
	stop()
	for p := range int32(3) {
		if diff := cmp.Diff(upTo(250), f.offsets(fmt.Sprintf("orders-%d", p))); diff != "" {
			t.Errorf("partition %d (-want +got):\n%s", p, diff)
		}
	}
	for _, b := range f.got {
		if n := len(b["orders-0"]) + len(b["orders-1"]) + len(b["orders-2"]); n > 40 {
			t.Errorf("a batch of %d records, want 40 at most", n)
		}
		if len(b["orders-1"]) > 0 && len(b) > 1 {
			t.Errorf("partition 1 came with another, want it alone with the second poller")
		}
	}
	if diff := cmp.Diff(map[int32]int64{0: 250, 1: 250, 2: 250}, s.committed(t)); diff != "" {
		t.Errorf("committed (-want +got):\n%s", diff)
	}

	// A mapping that starts again goes on from there.
	s.send(t, 5, 10, 0, 1, 2)
	again := &function{}
	m, _ = start(t, s, again, mapping.Options{})
	await(t, m, 15)
	if diff := cmp.Diff([]int64{250, 251, 252, 253, 254}, again.offsets("orders-2")); diff != "" {
		t.Errorf("partition 2 after a restart (-want +got):\n%s", diff)
	}
}

func TestFailedBatchIsRetriedWholeBeforeTheNext(t *testing.T) {
	t.Parallel()
	s := newSource(t, 1)
	f := &function{answer: func(n int, _ batch) (string, error) {
		if n == 1 || n == 2 {
			return "", errors.New("broker gone")
		}
		return `{"batchItemFailures":[{"itemIdentifier":{"partition":"orders-0","offset":0}}]}`, nil // of no meaning in this mode
	}}
	s.send(t, 30, 10, 0)
	m, stop := start(t, s, f, mapping.Options{BatchSize: 10})
	await(t, m, 30)
	stats := stop()
	second := []int64{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	want := []batch{
		{"orders-0": upTo(10)}, {"orders-0": second}, {"orders-0": second}, {"orders-0": second}, {"orders-0": upTo(30)[20:]},
	}
	if diff := cmp.Diff(want, f.got); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
	if want := (mapping.Stats{Batches: 3, Records: 30, Failures: 2}); stats != want {
		t.Errorf("Stats() = %+v, want %+v", stats, want)
	}
}

func TestItemsModeRetriesJustTheNamedRecords(t *testing.T) {
	t.Parallel()
	s := newSource(t, 1)
	f := &function{answer: func(n int, _ batch) (string, error) {
		switch n {
		case 0:
			return `{"batchItemFailures":[{"itemIdentifier":{"partition":"orders-0","offset":3}},` +
				`{"itemIdentifier":{"partition":"orders-0","offset":4}}]}`, nil
		case 1:
			return `{"batchItemFailures":[{"itemIdentifier":{"partition":"orders-0","offset":4}}]}`, nil
		default:
			return `{"batchItemFailures":[]}`, nil
		}
	}}
	s.send(t, 8, 10, 0)
	m, stop := start(t, s, f, mapping.Options{BatchSize: 5, ReportItems: true})
	await(t, m, 8)
	stop()
	want := []batch{{"orders-0": upTo(5)}, {"orders-0": {3, 4}}, {"orders-0": {4}}, {"orders-0": {5, 6, 7}}}
	if diff := cmp.Diff(want, f.got); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
}

func TestNothingIsCommittedBeforeSuccess(t *testing.T) {
	t.Parallel()
	s := newSource(t, 1)
	f := &function{answer: func(int, batch) (string, error) { return "", errors.New("broker gone") }}
	s.send(t, 3, 10, 0)
	m, stop := start(t, s, f, mapping.Options{})
	eventually(t, m, "2 failures", func() bool { return m.Stats().Failures >= 2 })
	stop()
	if at, ok := s.committed(t)[0]; ok && at >= 0 {
		t.Errorf("committed = %d, want nothing", at)
	}
}

func TestPayloadLimitCutsBatchesAndPassesOverWhatCannotTravel(t *testing.T) {
	t.Parallel()
	s, f := newSource(t, 1), &function{}
	s.send(t, 20, 600, 0)
	s.send(t, 1, 9000, 0) // offset 20
	s.send(t, 20, 600, 0)
	m, stop := start(t, s, f, mapping.Options{MaxPayload: 8000})
	await(t, m, 40)
	stats := stop()
	if f.largest > 8000 || f.largest < 7000 {
		t.Errorf("largest payload = %d bytes, want little below 8000", f.largest)
	}
	if got, want := f.offsets("orders-0"), append(upTo(20), upTo(41)[21:]...); !cmp.Equal(want, got) {
		t.Errorf("offsets = %v, want %v", got, want)
	}
	if stats.Oversized != 1 {
		t.Errorf("oversized = %d, want 1", stats.Oversized)
	}
}

func TestWindowFillsABatch(t *testing.T) {
	t.Parallel()
	s, f := newSource(t, 2), &function{}
	m, _ := start(t, s, f, mapping.Options{Window: time.Minute, BatchSize: 6})
	for range 3 {
		s.send(t, 1, 10, 0, 1)
		time.Sleep(30 * time.Millisecond)
	}
	await(t, m, 6)
	if len(f.got) != 1 {
		t.Errorf("%d invocations, want 1", len(f.got))
	}
}

func TestFaultsRepeatWithoutALossOrASwap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		faults mapping.Faults
		want   []int64 // offsets of the partition, over all invocations
	}{
		{"redeliver", mapping.Faults{Redeliver: 2}, []int64{0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 8, 9, 10, 11}},
		{"overlap", mapping.Faults{Overlap: 2}, []int64{0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 8, 9, 10, 11}},
		{"twice", mapping.Faults{Twice: 2}, []int64{0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 8, 9, 10, 11}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, f := newSource(t, 1), &function{}
			s.send(t, 12, 10, 0)
			m, stop := start(t, s, f, mapping.Options{BatchSize: 4, Faults: tt.faults})
			eventually(t, m, "all repeated", func() bool { return len(f.offsets("orders-0")) >= len(tt.want) })
			stats := stop()
			if diff := cmp.Diff(tt.want, f.offsets("orders-0")); diff != "" {
				t.Errorf("offsets (-want +got):\n%s", diff)
			}
			if want := len(tt.want) - 12; stats.Repeated != want {
				t.Errorf("repeated = %d, want %d", stats.Repeated, want)
			}
		})
	}
}

func TestNewPartitionIsFoundWhileRunning(t *testing.T) {
	t.Parallel()
	s, f := newSource(t, 1), &function{}
	s.send(t, 3, 10, 0)
	m, _ := start(t, s, f, mapping.Options{Pollers: 2, Refresh: 20 * time.Millisecond})
	await(t, m, 3)
	if _, err := kadm.NewClient(s.client).CreatePartitions(t.Context(), 1, topic); err != nil {
		t.Fatal(err)
	}
	for { // the producer learns of it in its own time
		r := kgo.Record{Topic: topic, Partition: 1, Value: []byte("first")}
		if s.client.ProduceSync(t.Context(), &r).FirstErr() == nil {
			break
		}
		s.client.ForceMetadataRefresh()
	}
	await(t, m, 4)
	if diff := cmp.Diff([]int64{0}, f.offsets("orders-1")); diff != "" {
		t.Errorf("new partition (-want +got):\n%s", diff)
	}
}

func TestRunNamesATopicItCannotRead(t *testing.T) {
	t.Parallel()
	s, f := newSource(t, 1), &function{}
	err := mapping.New(s.cluster.ListenAddrs(), "nosuch", f.invoke, mapping.Options{}).Run(t.Context())
	if !errors.Is(err, kerr.UnknownTopicOrPartition) || !strings.HasPrefix(err.Error(), "describe topic nosuch: ") {
		t.Errorf("Run on an unknown topic = %v, want %v naming it", err, kerr.UnknownTopicOrPartition)
	}
}
