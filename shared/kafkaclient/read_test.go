package kafkaclient_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// offsets are those of the data records, and of the control records, that a read yields.
func offsets(t *testing.T, records []*kgo.Record, err error) (data, control []int64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Attrs.IsControl() {
			control = append(control, r.Offset)
		} else {
			data = append(data, r.Offset)
		}
	}
	return data, control
}

// TestReadOverTransactions reads a log of one committed, one aborted and one open transaction.
func TestReadOverTransactions(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	transact := func(end kgo.TransactionEndTry, id string) *kgo.Client {
		w := writer(t, c, kgo.TransactionalID(id))
		if err := w.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		write(t, w, id+"-1", id+"-2")
		if id != "open" {
			if err := w.EndTransaction(t.Context(), end); err != nil {
				t.Fatal(err)
			}
		}
		return w
	}
	transact(kgo.TryCommit, "committed") // 0, 1, marker 2
	transact(kgo.TryAbort, "aborted")    // 3, 4, marker 5
	write(t, writer(t, c), "plain")      // 6
	transact(kgo.TryCommit, "open")      // 7, 8
	source, target := sourceOf(t, seeds(c)), targetOf(t, seeds(c))
	ends, err := source.Ends(soon(t), orders)
	if want := (mirror.Ends{Start: 0, LastStable: 7, HighWatermark: 9, LogEnd: 9}); err != nil || ends != want {
		t.Fatalf("Ends = %+v, %v, want %+v", ends, err, want)
	}
	records, err := all(source.Read(soon(t), orders, 0, ends.LastStable))
	if data, control := offsets(t, records, err); !slices.Equal(data, []int64{0, 1, 6}) || len(control) > 0 {
		t.Errorf("source: data at %v, control records at %v, want committed data only", data, control)
	}
	records, err = all(target.Read(soon(t), orders, 0, ends.HighWatermark))
	if data, control := offsets(t, records, err); !slices.Equal(data, []int64{0, 1, 3, 4, 6, 7, 8}) || !slices.Equal(control, []int64{2, 5}) {
		t.Errorf("target: data at %v, control records at %v, want the log as it is", data, control)
	}
}

func TestReadWithinBatches(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	w := writer(t, c)
	write(t, w, "0", "1", "2", "3")
	write(t, w, "4", "5")
	for _, stretch := range [][2]int64{{0, 6}, {1, 3}, {3, 5}, {2, 2}} {
		records, err := all(sourceOf(t, seeds(c)).Read(soon(t), orders, stretch[0], stretch[1]))
		data, _ := offsets(t, records, err)
		var want []int64
		for offset := stretch[0]; offset < stretch[1]; offset++ {
			want = append(want, offset)
		}
		if !slices.Equal(data, want) {
			t.Errorf("Read(%d, %d) = %v, want %v", stretch[0], stretch[1], data, want)
		}
	}
}

func TestReadOutOfRange(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	write(t, writer(t, c), "0", "1")
	for _, from := range []int64{-1, 3} {
		if _, err := all(sourceOf(t, seeds(c)).Read(soon(t), orders, from, 9)); !errors.Is(err, kerr.OffsetOutOfRange) {
			t.Errorf("Read from %d: %v, want OFFSET_OUT_OF_RANGE", from, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if records, err := all(sourceOf(t, seeds(c)).Read(ctx, orders, 0, 9)); err == nil {
		t.Errorf("Read past the end = %d records and no error, want one when the context ends", len(records))
	}
}

func TestMissingPartitions(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	for _, tp := range []mm2.TopicPartition{{Topic: "none"}, {Topic: orders.Topic, Partition: 5}} {
		if _, err := targetOf(t, seeds(c)).Ends(soon(t), tp); !errors.Is(err, mirror.ErrMissing) {
			t.Errorf("Ends(%s): %v, want ErrMissing", tp, err)
		}
		if _, err := all(targetOf(t, seeds(c)).Read(soon(t), tp, 0, 1)); !errors.Is(err, mirror.ErrMissing) {
			t.Errorf("Read(%s): %v, want ErrMissing", tp, err)
		}
	}
}

func TestEnsure(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	target := targetOf(t, seeds(c))
	for _, partitions := range []int32{2, 2, 5, 3} {
		errs := make(chan error)
		for range 4 { // several invocations at once
			go func() { errs <- target.Ensure(soon(t), "remote", partitions) }()
		}
		for range 4 {
			if err := <-errs; err != nil {
				t.Errorf("Ensure of %d partitions: %v", partitions, err)
			}
		}
	}
	topics, err := sourceOf(t, seeds(c)).Topics(soon(t), []string{"remote"})
	if err != nil || topics["remote"].Partitions != 5 {
		t.Errorf("remote topic %+v, %v, want 5 partitions: never fewer", topics["remote"], err)
	}
}

func TestRaisedLimitIsAskedForAgain(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	target := targetOf(t, seeds(c))
	limit := func() int {
		t.Helper()
		limits, err := target.Limits(soon(t), "limited")
		if err != nil {
			t.Fatal(err)
		}
		return limits.MaxMessageBytes
	}
	if err := c.CreateTopic("limited", 1, map[string]string{"max.message.bytes": "2000"}); err != nil {
		t.Fatal(err)
	}
	if got := limit(); got != 2000 {
		t.Fatalf("limit %d, want 2000", got)
	}
	if err := errors.Join(c.DeleteTopic("limited"), c.CreateTopic("limited", 1, map[string]string{"max.message.bytes": "3000"})); err != nil {
		t.Fatal(err)
	}
	if got := limit(); got != 2000 {
		t.Errorf("limit %d, want the answer that is kept", got)
	}
	target.ForgetLimits("limited")
	if got := limit(); got != 3000 {
		t.Errorf("limit %d after ForgetLimits, want 3000", got)
	}
}
