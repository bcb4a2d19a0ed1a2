//go:build integration

package integration

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/mapping"
	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

var soak = flag.Duration("soak", 3*time.Minute, "how long the soak goes on")

// TestSoak lets everything happen at once that can happen to a function and its brokers, under load and under a trigger that
// repeats and overlaps what it delivers: the function's process is killed at random moments, a broker stands still and goes
// on, once for longer than a claim lasts, or dies and comes back with what it had. One producer writes in transactions and
// aborts some. It has the brokers to itself.
func TestSoak(t *testing.T) {
	const partitions = 6
	topic := source.topic(t, partitions)
	f := newFlow(t, topic, settings{trigger: mapping.Options{
		BatchSize: 1500, Pollers: 3, Faults: mapping.Faults{Redeliver: 3, Overlap: 2, Twice: 4},
	}})
	m := &mischief{flow: f, random: rand.New(rand.NewPCG(*seed, 1)), did: map[string]int{}}
	writers := startWriters(t, topic, partitions)
	began := time.Now()
	for time.Since(began) < *soak || m.drawn < pack {
		m.one(t)
	}
	took := time.Since(began).Round(time.Second)
	writers.stop(t)
	f.caughtUp(t, partitions, 3*time.Minute)
	n := f.equal(t)
	t.Logf("%d records in %v; %v; %d transactions committed and %d aborted by %d producers; trigger %+v; %d takeovers unfenced, %d records found on the target, %d offsets of markers and aborted records",
		n, took, m.did, writers.committed, writers.aborted, writers.producers, f.trigger.Stats(), f.metric(t, mirror.UnfencedTakeovers), f.metric(t, mirror.RecordsSettled),
		f.metric(t, mirror.OffsetsControl)+f.metric(t, mirror.OffsetsAborted))
	for _, name := range []string{mirror.DuplicatesPossible, mirror.RecordsForeign, mirror.RecordsLost, mirror.UnfencedTakeovers} {
		if got := f.metric(t, name); got != 0 {
			t.Errorf("%s = %d, want 0", name, got)
		}
	}
	if few := int(took / (2 * time.Second)); writers.committed < few || writers.aborted < few/4 {
		t.Errorf("%d transactions committed and %d aborted, want one every two seconds at least", writers.committed, writers.aborted)
	}
	for _, what := range []string{"function killed", "target stood still", "source stood still", "target restarted", "source restarted"} {
		if m.did[what] == 0 {
			t.Errorf("never: %s", what)
		}
	}
}

// mischief is what happens to a flow.
type mischief struct {
	*flow
	random *rand.Rand
	cards  []int // what is still to be done before the pack is shuffled again
	drawn  int   // cards, so far
	long   bool  // a broker stood still for longer than a claim lasts
	did    map[string]int
}

// pack is how many things are done before each has been. The first pack is dealt to its end, however short the soak.
const pack = 16

// one does one thing and waits a little. Of a pack, one card is a broker's in each way, the others are the function's.
func (m *mischief) one(t *testing.T) {
	t.Helper()
	if len(m.cards) == 0 {
		m.cards = m.random.Perm(pack)
	}
	card := m.cards[0]
	m.cards = m.cards[1:]
	m.drawn++
	switch card {
	case 0:
		m.pause(t, source)
	case 1:
		m.pause(t, target)
	case 2:
		m.restart(t, source)
	case 3:
		m.restart(t, target)
	default:
		if m.kill() {
			m.did["function killed"]++
		}
	}
	time.Sleep(time.Duration(m.random.IntN(1500)) * time.Millisecond)
}

// pause has a broker stand still.
func (m *mischief) pause(t *testing.T, b *broker) {
	t.Helper()
	still := time.Duration(m.random.IntN(4000)) * time.Millisecond
	if b == target && !m.long {
		m.long, still = true, 30*time.Second
	}
	b.signal(t, syscall.SIGSTOP)
	time.Sleep(still)
	b.signal(t, syscall.SIGCONT)
	m.did[b.name+" stood still"]++
}

// restart has a broker die and come back.
func (m *mischief) restart(t *testing.T, b *broker) {
	t.Helper()
	b.stop()
	time.Sleep(time.Duration(m.random.IntN(2000)) * time.Millisecond)
	if err := b.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.did[b.name+" restarted"]++
}

// kill kills the process of an invocation at a random moment of it. It reports false when no invocation begins.
func (m *mischief) kill() bool {
	const idle = time.Second
	for {
		select {
		case <-m.began:
		case <-time.After(idle):
			return false
		}
		time.Sleep(time.Duration(m.random.IntN(200)) * time.Millisecond)
		if _, ok := m.function.Kill(); ok {
			return true
		}
	}
}

// writers write to a topic until they are stopped, whatever happens to its broker.
type writers struct {
	group              sync.WaitGroup
	cancel             context.CancelFunc
	topic              string
	partitions         int32
	committed, aborted int // transactions
	producers          int // that wrote them, one after the other
}

func startWriters(t *testing.T, topic string, partitions int32) *writers {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &writers{cancel: cancel, topic: topic, partitions: partitions}
	plain := source.client(t)
	o := newOdd()
	w.group.Go(func() {
		for ctx.Err() == nil {
			for p := range partitions {
				plain.ProduceSync(ctx, o.records(topic, p, 50)...) // what a dead broker did not take was never on the source
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	w.group.Go(func() {
		for ctx.Err() == nil {
			w.transact(ctx)
			w.producers++
		}
	})
	return w
}

// transact writes transactions until one cannot be ended: its producer may be of no use then, for the broker aborts what is
// open for too long, and refuses whoever had begun it.
func (w *writers) transact(ctx context.Context) {
	client, err := kgo.NewClient(kgo.SeedBrokers(source.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID(w.topic), kgo.TransactionTimeout(10*time.Second))
	if err != nil {
		return
	}
	defer client.Close()
	for err == nil && ctx.Err() == nil {
		err = w.transaction(ctx, client)
		time.Sleep(100 * time.Millisecond)
	}
}

// transaction writes a transaction of twenty records, and aborts every fourth.
func (w *writers) transaction(ctx context.Context, client *kgo.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	for j := range 20 {
		r := &kgo.Record{Topic: w.topic, Partition: int32(j) % w.partitions, Value: fmt.Appendf(nil, "transaction %d.%d", w.committed+w.aborted, j)}
		client.Produce(ctx, r, nil)
	}
	end, count := kgo.TryCommit, &w.committed
	if err := client.Flush(ctx); err != nil || (w.committed+w.aborted)%4 == 3 {
		end, count = kgo.TryAbort, &w.aborted
	}
	if err := client.EndTransaction(ctx, end); err != nil {
		return err
	}
	*count++
	return nil
}

// stop ends the writers, and writes one more record to each partition, so that none ends with a marker, which no delivery
// ever brings.
func (w *writers) stop(t *testing.T) {
	t.Helper()
	w.cancel()
	w.group.Wait()
	client := source.client(t)
	time.Sleep(11 * time.Second) // an open transaction times out
	for p := range w.partitions {
		write(t, client, &kgo.Record{Topic: w.topic, Partition: p, Value: []byte("the end")})
	}
	upstream := mm2.TopicPartition{Topic: w.topic}
	if source.end(t, upstream) == 0 {
		t.Error("nothing was written")
	}
}
