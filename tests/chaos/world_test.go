package chaos

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mirror/mirrortest"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
	"tidemark/shared/watermark/watermarktest"
)

const (
	topic   = "t"
	timeout = 40 * time.Second // of an invocation
	budget  = 10 * time.Second
	drain   = 5 * time.Second
	faults  = 6 // a schedule's, at most

	foreign = -1 // tag of a record that is not ours
)

// world is one schedule: model clusters, the state table, the trigger and everything under way.
type world struct {
	rng    *rand.Rand
	faults int // still to inject

	mu        sync.Mutex // guards parked and producers: several partitions of a process run until each has parked
	parked    []*call
	producers int64

	live    int // invocations under way
	started int
	frozen  []*call
	late    []late // sorted by their latest time
	echoes  []late // duplicates of state writes
	again   time.Time
	items   bool // whether the trigger brings again what the answer names only (batchItemFailures)

	parts    []*partition
	state    watermarktest.Memory
	internal internal

	broken error // an invariant that did not hold on the way
	hits   map[string]*[verdicts]int
	trace  uint64
	steps  *strings.Builder // nil: not wanted
}

// newWorld makes the clusters: a few partitions, some with identical neighbours, some with a record that the trigger drops.
func newWorld(seed uint64, hits map[string]*[verdicts]int) *world {
	rng := rand.New(rand.NewPCG(seed, 0))
	w := &world{rng: rng, faults: 1 + rng.IntN(faults), hits: hits, internal: newInternal()}
	created := rng.IntN(4) > 0
	w.items = rng.IntN(2) == 0
	for range 1 + rng.IntN(3) {
		p := &partition{dropped: -1, created: created, sourceEnd: int64(1 + rng.IntN(25))}
		kinds := 1 + rng.IntN(30) // few kinds: identical neighbours
		for offset := range p.sourceEnd {
			kind := rng.IntN(kinds)
			p.source = append(p.source, &kgo.Record{
				Offset: offset, ProducerID: offset, Timestamp: time.UnixMilli(int64(kind)), Value: fmt.Append(nil, kind),
			})
		}
		if rng.IntN(12) == 0 && p.sourceEnd > 1 {
			p.dropped = rng.Int64N(p.sourceEnd)
		}
		if rng.IntN(3) == 0 && created { // what stood there before the flow began
			p.append(mirrortest.Control(), &kgo.Record{ProducerID: foreign, Value: []byte("foreign")}, mirrortest.Control())
			p.hw = rng.Int64N(p.end() + 1)
		}
		w.parts = append(w.parts, p)
	}
	return w
}

func (w *world) note(format string, args ...any) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d ", w.trace)
	fmt.Fprintf(h, format, args...)
	w.trace = h.Sum64()
	if w.steps != nil {
		fmt.Fprintf(w.steps, format+"\n", args...)
	}
}

func (w *world) item(part int32) watermark.State {
	s, _ := w.state.Get(context.Background(), mm2.TopicPartition{Topic: topic, Partition: part})
	return s
}

// invoke starts an invocation over deliveries of some partitions: from the trigger's position or, now and then, from an
// older one; cut anywhere.
func (w *world) invoke() {
	inv := &process{id: w.started, deadline: time.Now().Add(timeout), seq: map[int32]int{}}
	w.started++
	var deliveries []mirror.Delivery
	for part, p := range w.parts {
		if d := w.deliver(int32(part), p); w.rng.IntN(4) > 0 && len(d.Offsets) > 0 {
			deliveries = append(deliveries, d)
		}
	}
	if len(deliveries) == 0 {
		return
	}
	w.note("invoke %d", inv.id)
	w.live++
	go w.serve(inv, deliveries)
}

func (w *world) deliver(part int32, p *partition) mirror.Delivery {
	from := min(p.position, p.sourceEnd-1)
	if from > 0 && w.rng.IntN(5) == 0 {
		from = w.rng.Int64N(from)
	}
	d := mirror.Delivery{Key: fmt.Sprint(topic, "-", part), Partition: mm2.TopicPartition{Topic: topic, Partition: part}}
	for n := 1 + w.rng.IntN(12); n > 0 && from < p.sourceEnd; from++ {
		if from == p.dropped {
			continue
		}
		r := p.source[from]
		d.Offsets = append(d.Offsets, r.Offset)
		d.Records = append(d.Records, &kgo.Record{Value: r.Value, Timestamp: r.Timestamp, ProducerID: r.ProducerID})
		n--
	}
	return d
}

// serve is the process of one invocation, and the trigger's reaction to its answer.
func (w *world) serve(inv *process, deliveries []mirror.Delivery) {
	ctx, cancel := context.WithDeadline(context.Background(), inv.deadline)
	defer cancel()
	task := mirror.NewTask(source{cluster{w, inv, "source"}}, target{cluster{w, inv, "target"}}, store{w, inv},
		func(topic string) (string, error) { return "source." + topic, nil }, mirror.Options{Budget: budget, Drain: drain})
	outcomes := task.Run(ctx, deliveries)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live--
	for i, o := range outcomes {
		part := deliveries[i].Partition.Partition
		if inv.dead || o.Err != nil {
			w.again = time.Now().Add(2 * time.Second) // the trigger backs off
			if w.items && !inv.dead {
				w.bringAgain(part, deliveries[i].Offsets, o.Undelivered)
			}
			continue
		}
		end := deliveries[i].Offsets[len(deliveries[i].Offsets)-1] + 1
		if next := w.item(part).Next; next < end && w.broken == nil {
			w.broken = fmt.Errorf("partition %d: success was answered up to %d, the watermark stands at %d", part, end, next)
		}
		w.parts[part].position = max(w.parts[part].position, end)
	}
}

// bringAgain moves the trigger on to what a failed answer names. Whatever of the delivery it does not name has to be done.
func (w *world) bringAgain(part int32, delivered, undelivered []int64) {
	next := w.item(part).Next
	for _, offset := range delivered {
		if offset >= next && !slices.Contains(undelivered, offset) && w.broken == nil {
			w.broken = fmt.Errorf("partition %d: %d is not answered as undelivered, the watermark stands at %d", part, offset, next)
		}
	}
	w.parts[part].position = max(w.parts[part].position, slices.Min(undelivered))
}

// watch checks after every state write that the watermark passed nothing that is not durable, and did not go back.
func (w *world) watch(part int32) {
	s, p := w.item(part), w.parts[part]
	if !s.Begun() {
		return
	}
	durable := int64(0)
	for _, e := range p.log[:p.hw] {
		if !e.record.Attrs.IsControl() && e.record.ProducerID == durable {
			durable++
		}
	}
	switch {
	case w.broken != nil:
	case s.Next > durable:
		w.broken = fmt.Errorf("partition %d: watermark %d passes %d, which is not durable", part, s.Next, durable)
	case s.Next < p.watermark:
		w.broken = fmt.Errorf("partition %d: watermark %d stood at %d before", part, s.Next, p.watermark)
	}
	p.watermark = s.Next
}

// settled says whether every partition stands where it has to, released, with nothing under way.
func (w *world) settled() bool {
	if w.live > 0 || w.internal.running > 0 || len(w.late) > 0 || len(w.echoes) > 0 {
		return false
	}
	for part, p := range w.parts {
		s := w.item(int32(part))
		if s.Owner != "" || len(s.Producers) > 0 {
			return false
		}
		if s.Next != p.goal() || p.dropped < 0 && p.position < p.sourceEnd || (s.Stall != nil) != p.revealed() {
			return false
		}
	}
	return true
}

// check compares both logs, record by record, and the items with them.
func (w *world) check() error {
	if w.broken != nil {
		return w.broken
	}
	for part, p := range w.parts {
		next, end := int64(0), int64(0)
		for offset, e := range p.log {
			if e.record.Attrs.IsControl() || e.record.ProducerID == foreign {
				continue
			}
			if tag := e.record.ProducerID; tag != next {
				return fmt.Errorf("partition %d: target offset %d holds record %d, want %d", part, offset, tag, next)
			}
			next, end = next+1, int64(offset)+1
		}
		s := w.item(int32(part))
		switch {
		case next != p.goal():
			return fmt.Errorf("partition %d: the target holds %d records, want %d", part, next, p.goal())
		case s.Next > 0 && p.log[s.DownstreamLast].record.ProducerID != s.Next-1:
			return fmt.Errorf("partition %d: downstream last %d does not hold record %d", part, s.DownstreamLast, s.Next-1)
		case s.DownstreamNext < end:
			return fmt.Errorf("partition %d: downstream next %d, the target's last record ends at %d", part, s.DownstreamNext, end)
		}
	}
	return nil
}
