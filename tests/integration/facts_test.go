//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/kafkaclient"
	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// What the adapter to Kafka takes for granted about brokers, asked of a real one.

func sourceOf(t *testing.T, b *broker) *kafkaclient.Source {
	t.Helper()
	s, err := kafkaclient.NewSource([]kgo.Opt{kgo.SeedBrokers(b.addr)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("NewSource: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

func targetOf(t *testing.T, b *broker) *kafkaclient.Target {
	t.Helper()
	s, err := kafkaclient.NewTarget([]kgo.Opt{kgo.SeedBrokers(b.addr)}, -1, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("NewTarget: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// begin writes records in a transaction that stays open.
func begin(t *testing.T, client *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	if err := client.BeginTransaction(); err != nil {
		t.Fatalf("begin transaction: %v", err)
	}
	write(t, client, records...)
}

// end commits or aborts the transaction and waits until its marker is in the log, which is after the coordinator's answer.
func end(t *testing.T, client *kgo.Client, commit kgo.TransactionEndTry, tp mm2.TopicPartition) {
	t.Helper()
	if err := client.EndTransaction(t.Context(), commit); err != nil {
		t.Fatalf("end transaction: %v", err)
	}
	for log := sourceOf(t, source); ; time.Sleep(10 * time.Millisecond) {
		ends, err := log.Ends(t.Context(), tp)
		if err != nil {
			t.Fatal(err)
		}
		if ends.LastStable == ends.HighWatermark {
			return
		}
	}
}

func TestEndsAreTheLeaders(t *testing.T) {
	t.Parallel()
	tp := mm2.TopicPartition{Topic: source.topic(t, 1)}
	log := sourceOf(t, source)
	want := func(when string, want mirror.Ends) {
		t.Helper()
		got, err := log.Ends(t.Context(), tp)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Ends(%s) %s: %v (-want +got):\n%s", tp, when, err, diff)
		}
	}
	want("of an empty log", mirror.Ends{})
	write(t, source.client(t), numbered(tp, 10)...)
	want("after 10 records", mirror.Ends{LastStable: 10, HighWatermark: 10, LogEnd: 10})
	writer := source.client(t, kgo.TransactionalID(tp.Topic))
	begin(t, writer, numbered(tp, 5)...)
	want("in a transaction", mirror.Ends{LastStable: 10, HighWatermark: 15, LogEnd: 15})
	end(t, writer, kgo.TryAbort, tp)
	want("behind the marker", mirror.Ends{LastStable: 16, HighWatermark: 16, LogEnd: 16})
	source.deleteBefore(t, tp, 7)
	want("after records were deleted", mirror.Ends{Start: 7, LastStable: 16, HighWatermark: 16, LogEnd: 16})

	for _, missing := range []mm2.TopicPartition{{Topic: tp.Topic, Partition: 1}, {Topic: tp.Topic + ".none"}} {
		if _, err := log.Ends(t.Context(), missing); !errors.Is(err, mirror.ErrMissing) {
			t.Errorf("Ends(%s) = %v, want %v", missing, err, mirror.ErrMissing)
		}
	}
}

// seen is what matters of a record here.
func seen(records []*kgo.Record) []string {
	out := make([]string, len(records))
	for i, r := range records {
		out[i] = fmt.Sprintf("%d: %d bytes", r.Offset, len(r.Value))
		if r.Attrs.IsControl() {
			out[i] = fmt.Sprintf("%d: control", r.Offset)
		}
	}
	return out
}

func read(ctx context.Context, log mirror.Log, tp mm2.TopicPartition, from, to int64) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var all []*kgo.Record
	for records, err := range log.Read(ctx, tp, from, to) {
		if err != nil {
			return seen(all), err
		}
		all = append(all, records...)
	}
	return seen(all), nil
}

func TestReadOverTransactions(t *testing.T) {
	t.Parallel()
	tp := mm2.TopicPartition{Topic: source.topic(t, 1)}
	plain, writer := source.client(t), source.client(t, kgo.TransactionalID(tp.Topic))
	transaction := func(n int, commit kgo.TransactionEndTry) {
		t.Helper()
		begin(t, writer, numbered(tp, n)...)
		end(t, writer, commit, tp)
	}
	write(t, plain, numbered(tp, 2)...) // 0, 1
	transaction(2, kgo.TryAbort)        // 2, 3, marker 4
	write(t, plain, numbered(tp, 1)...) // 5
	transaction(2, kgo.TryCommit)       // 6, 7, marker 8
	transaction(1, kgo.TryAbort)        // 9, marker 10
	tests := []struct {
		name     string
		log      mirror.Log
		from, to int64
		want     []string
	}{
		{"committed", sourceOf(t, source), 0, 11, []string{"0: 0 bytes", "1: 1 bytes", "5: 0 bytes", "6: 0 bytes", "7: 1 bytes"}},
		{"committed, one record of two", sourceOf(t, source), 1, 7, []string{"1: 1 bytes", "5: 0 bytes", "6: 0 bytes"}},
		{"committed, aborted ones only", sourceOf(t, source), 2, 5, []string{}},
		{"committed, a marker alone", sourceOf(t, source), 8, 9, []string{}},
		{"committed, the end", sourceOf(t, source), 8, 11, []string{}},
		{"raw", targetOf(t, source), 0, 11, []string{
			"0: 0 bytes", "1: 1 bytes", "2: 0 bytes", "3: 1 bytes", "4: control", "5: 0 bytes",
			"6: 0 bytes", "7: 1 bytes", "8: control", "9: 0 bytes", "10: control",
		}},
		{"raw, from a marker to a marker", targetOf(t, source), 4, 8, []string{"4: control", "5: 0 bytes", "6: 0 bytes", "7: 1 bytes"}},
		{"raw, nothing", targetOf(t, source), 3, 3, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(t.Context(), tt.log, tp, tt.from, tt.to)
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("Read(%d, %d): %v (-want +got):\n%s", tt.from, tt.to, err, diff)
			}
		})
	}
}

func TestReadOfWhatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	tp := mm2.TopicPartition{Topic: source.topic(t, 1)}
	write(t, source.client(t), numbered(tp, 10)...)
	source.deleteBefore(t, tp, 5)
	for _, tt := range []struct {
		tp   mm2.TopicPartition
		want error
	}{
		{tp, kerr.OffsetOutOfRange},
		{mm2.TopicPartition{Topic: tp.Topic, Partition: 1}, mirror.ErrMissing},
		{mm2.TopicPartition{Topic: tp.Topic + ".none"}, mirror.ErrMissing},
	} {
		if got, err := read(t.Context(), sourceOf(t, source), tt.tp, 4, 8); !errors.Is(err, tt.want) || len(got) > 0 {
			t.Errorf("Read(%s, 4, 8) = %v, %v, want nothing, %v", tt.tp, got, err, tt.want)
		}
	}
}

// TestReadOverCompactedOffsets reads a batch that compaction has emptied but for its last record, and one that is gone.
func TestReadOverCompactedOffsets(t *testing.T) {
	t.Parallel()
	tp := mm2.TopicPartition{Topic: source.topic(t, 1, "cleanup.policy=compact", "min.cleanable.dirty.ratio=0.001", "segment.bytes=1048576")}
	client := source.client(t)
	const n = 30
	for range 2 {
		records := numbered(tp, n)
		for i, r := range records {
			r.Key = []byte{byte(i / (n - 1))} // the last one has a key of its own
		}
		write(t, client, records...)
	}
	// A full segment rolls, and only what is not in the last one is compacted.
	const filler = 600 << 10
	for i := range 3 {
		write(t, client, &kgo.Record{Topic: tp.Topic, Key: []byte{byte(100 + i)}, Value: noise(filler)})
	}
	want := []string{"58: 28 bytes", "59: 29 bytes"}
	var got []string
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		if got, err = read(t.Context(), sourceOf(t, source), tp, 0, 2*n); err != nil || cmp.Equal(got, want) {
			break
		}
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Read(0, %d): %v (-want +got):\n%s", 2*n, err, diff)
	}
	if got, err := read(t.Context(), sourceOf(t, source), tp, 3, 20); err != nil || len(got) > 0 {
		t.Errorf("Read(3, 20) = %v, %v, want nothing", got, err)
	}
}

// noise is what does not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // never fails
	return b
}

// TestRefusalLeavesNothingBehind has the broker refuse the second of three batches.
func TestRefusalLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	const limit, standard = 10_000, 1_048_588 // bytes: what the topic takes, and what a client takes it for that has not asked
	tp := mm2.TopicPartition{Topic: target.topic(t, 1, "max.message.bytes="+strconv.Itoa(limit))}
	cluster := targetOf(t, target)
	record := func(size int) *kgo.Record {
		return &kgo.Record{Topic: tp.Topic, Value: noise(size), Timestamp: time.UnixMilli(1)}
	}
	refused := []*kgo.Record{record(limit / 2), record(standard - limit/4), record(limit / 2), record(1)}
	producer, err := cluster.Producer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n, err := producer.Produce(t.Context(), refused)
	if n != 1 || !errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, mirror.ErrUnknown) {
		t.Errorf("Produce = %d, %v, want 1, %v for certain", n, err, kerr.MessageTooLarge)
	}
	producer.Release()
	time.Sleep(time.Second) // what was left behind would arrive
	if got := target.end(t, tp); got != 1 {
		t.Errorf("target ends at %d, want 1", got)
	}
	next, err := cluster.Producer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer next.Release()
	if next.ID() == producer.ID() {
		t.Errorf("the next producer has the id %d of the one that was refused", next.ID())
	}
	if n, err := next.Produce(t.Context(), refused[2:]); n != 2 || err != nil || target.end(t, tp) != 3 {
		t.Errorf("Produce of the rest = %d, %v and the target ends at %d, want 2, none and 3", n, err, target.end(t, tp))
	}
}
