package compare_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/compare"
	"tidemark/infra/local/traffic"
)

// side is a topic on a cluster of its own.
func side(t *testing.T, topic string, partitions int32) compare.Side {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(partitions, topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return compare.Side{Brokers: c.ListenAddrs(), Topic: topic}
}

func client(t *testing.T, s compare.Side, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(s.Brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func TestTopicsReadBothSidesWhole(t *testing.T) {
	t.Parallel()
	source, target := side(t, "orders", 3), side(t, "us.orders", 3)
	load := traffic.Load{Seed: 1, Records: 900, Partitions: 2} // partition 2 stays empty
	for _, s := range []compare.Side{source, target} {
		if err := traffic.Produce(t.Context(), s.Brokers, s.Topic, load); err != nil {
			t.Fatal(err)
		}
	}
	// A record that was never committed, with its marker, is nobody's; the log ends with the marker.
	transaction := client(t, target, kgo.TransactionalID("t"))
	if err := transaction.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := transaction.ProduceSync(t.Context(), &kgo.Record{Topic: "us.orders", Partition: 1, Value: []byte("aborted")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := transaction.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	h := compare.NewHasher()
	h.SkipTimestamps = true // each of the two was made at its own time
	report, err := compare.Topics(t.Context(), h, source, target)
	if err != nil {
		t.Fatal(err)
	}
	want := compare.Report{{Source: 450, Target: 450}, {Source: 450, Target: 450}, {}}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}

	extra := &kgo.Record{Topic: "us.orders", Partition: 2, Value: []byte("extra")}
	if err := client(t, target).ProduceSync(t.Context(), extra).FirstErr(); err != nil {
		t.Fatal(err)
	}
	report, err = compare.Topics(t.Context(), h, source, target)
	if err != nil || report.Equal() || len(report[2].Foreign) != 1 {
		t.Errorf("report after a foreign record = %+v, %v, want it in partition 2", report, err)
	}
}

func TestTopicsStartAtTheLogStart(t *testing.T) {
	t.Parallel()
	source := side(t, "orders", 1)
	if err := traffic.Produce(t.Context(), source.Brokers, "orders", traffic.Load{Records: 10, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	var before kadm.Offsets
	before.AddOffset("orders", 0, 4, -1)
	if _, err := kadm.NewClient(client(t, source)).DeleteRecords(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	report, err := compare.Topics(t.Context(), compare.NewHasher(), source, compare.Side{Brokers: source.Brokers, Topic: "missing"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(report[0].Lost), "[4 5 6 7 8 9]"; got != want {
		t.Errorf("lost = %s, want %s: what was not deleted", got, want)
	}
}
