package chaos

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
)

// brought is what the trigger brings of one partition: copies, taken when it read them.
type brought struct {
	part    int32
	id      string // of the log that it was read from
	cuts    int    // how often that was truncated by then
	offsets []int64
	records []*kgo.Record
}

func (b brought) delivery() mirror.Delivery {
	d := mirror.Delivery{Key: at(b.part).String(), Partition: at(b.part)}
	for i, r := range b.records {
		c := *r
		d.Offsets, d.Records = append(d.Offsets, b.offsets[i]), append(d.Records, &c)
	}
	return d
}

// invoke starts an invocation: over what the trigger reads next, over what it brought before, or a catch-up.
func (w *world) invoke() {
	var batch []brought
	switch {
	case len(w.past) > 0 && w.rng.IntN(6) == 0:
		batch = w.past[w.rng.IntN(len(w.past))]
		w.hits.events["batch again"]++
	case w.rng.IntN(5) == 0:
		part := w.rng.IntN(len(w.parts))
		w.hits.events["catch-up"]++
		w.catchUp(int32(part), w.rng.IntN(4) > 0)
		return
	default:
		for part, p := range w.parts {
			if b := w.fetch(int32(part), p); w.rng.IntN(4) > 0 && len(b.offsets) > 0 {
				batch = append(batch, b)
			}
		}
	}
	w.start(batch)
}

func (w *world) start(batch []brought) {
	if len(batch) == 0 {
		return
	}
	w.past = append(w.past, batch)
	inv := w.process()
	for _, b := range batch {
		w.note("invoke %d: p%d %v", inv.id, b.part, b.offsets)
	}
	w.live++
	go w.serve(inv, batch)
}

// fetch reads a batch of one partition: from the trigger's position or, now and then, from an older one; cut anywhere.
func (w *world) fetch(part int32, p *partition) brought {
	l := &p.log
	from := min(p.position, l.shown()-1)
	if from > 0 && w.rng.IntN(5) == 0 {
		from = w.rng.Int64N(from)
	}
	from = max(from, l.start)
	b := brought{part: part, id: l.id, cuts: p.cuts}
	for n := 1 + w.rng.IntN(12); n > 0 && from < l.shown(); from++ {
		e := l.entries[from]
		if e.kind != data || p.dropped[e.record.ProducerID] {
			continue
		}
		b.offsets, b.records = append(b.offsets, from), append(b.records, e.record)
		n--
	}
	return b
}

// process is the next one: one that ended an invocation before, with what it keeps, or a new one.
func (w *world) process() *process {
	inv := &process{id: w.started, deadline: time.Now().Add(timeout), seq: map[int32]int{}}
	w.started++
	if w.faults > 0 && w.rng.IntN(60) == 0 {
		w.faults--
		if inv.mute = w.happens(); inv.mute {
			w.hits.events["no producer"]++
		}
	}
	if w.skew > 0 && !w.over && w.rng.IntN(20) == 0 {
		if skew := time.Duration(w.rng.Int64N(int64(2*w.skew))) - w.skew; w.happens() {
			w.skewed, inv.skew = true, skew
			w.event("clock skew", 0, "%v of process %d", inv.skew, inv.id)
		}
	}
	if n := len(w.idle); n > 0 && w.rng.IntN(2) == 0 {
		inv.pool = w.idle[n-1].pool
		w.idle = w.idle[:n-1]
	}
	return inv
}

// task is what a process runs.
func (w *world) task(inv *process) *mirror.Task {
	o := mirror.Options{Metrics: w, Budget: budget, Drain: drain, Chunk: 200, Wait: !w.fences && inv.id%2 == 0}
	if w.letters {
		o.DeadLetter = deadTo
	}
	return mirror.NewTask(source{cluster{w, inv, "source"}}, target{cluster{w, inv, "target"}}, store{w, inv},
		func(topic string) (string, error) { return "source." + topic, nil }, o)
}

// serve is the process of one invocation, and the trigger's reaction to its answer.
func (w *world) serve(inv *process, batch []brought) {
	ctx, cancel := context.WithDeadline(context.Background(), inv.deadline)
	defer cancel()
	deliveries := make([]mirror.Delivery, len(batch))
	for i, b := range batch {
		deliveries[i] = b.delivery()
	}
	outcomes := w.task(inv).Run(ctx, deliveries)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended(inv)
	w.unsure = w.unsure || inv.dead || slices.ContainsFunc(outcomes, func(o mirror.Outcome) bool { return o.Err != nil || o.Parked != nil })
	failed := inv.dead || slices.ContainsFunc(outcomes, func(o mirror.Outcome) bool { return o.Err != nil })
	if failed {
		w.again = time.Now().Add(2 * time.Second) // the trigger backs off
	}
	if inv.dead || failed && !w.items {
		return
	}
	for i, o := range outcomes {
		w.answered(inv, batch[i], o)
	}
}

func (w *world) ended(inv *process) {
	w.live--
	if !inv.dead {
		w.idle = append(w.idle, inv)
	}
}

// answered moves the trigger on, and checks that whatever it will not bring again is done, or parked.
func (w *world) answered(inv *process, b brought, o mirror.Outcome) {
	p := w.parts[b.part]
	w.note("%d/p%d answers: undelivered %d, failed %t, parked %t", inv.id, b.part, o.Undelivered, o.Err != nil, o.Parked != nil)
	end := b.offsets[len(b.offsets)-1] + 1
	if o.Err != nil {
		end = slices.Min(o.Undelivered)
	}
	for i, r := range b.records {
		if !p.untold && o.Parked == nil && b.offsets[i] < end && !slices.Contains(o.Undelivered, b.offsets[i]) && p.missing(r.ProducerID) {
			w.breaks("partition %d: record %d at %d was answered for, and is nowhere", b.part, r.ProducerID, b.offsets[i])
		}
	}
	for i, r := range b.records { // whoever goes over to a new log has to close the old one with what was delivered of it
		_, copied := p.known[r.ProducerID]
		if o.Err == nil && o.Parked == nil && p.switcher == inv.id+1 && b.offsets[i] >= p.switchedAt && b.id != p.log.id && !p.wasCut && p.kinds == 0 && !copied && p.letters[r.ProducerID] == 0 {
			w.breaks("partition %d: record %d closed the old log, and is nowhere", b.part, r.ProducerID)
		}
	}
	if b.id == p.log.id && b.cuts == p.cuts {
		p.position = max(p.position, end)
	}
}

// catchUp starts a catch-up.
func (w *world) catchUp(part int32, scheduled bool) {
	inv := w.process()
	w.note("catch-up %d: p%d", inv.id, part)
	w.live++
	go func() {
		ctx, cancel := context.WithDeadline(context.Background(), inv.deadline)
		defer cancel()
		err := w.task(inv).CatchUp(ctx, at(part), scheduled)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.note("catch-up %d ends: %t", inv.id, err == nil)
		w.unsure = true // it explains what lies behind the last record, and does not pass it
		w.ended(inv)
	}()
}

func sortLate(l []late) {
	slices.SortFunc(l, func(a, b late) int {
		return cmp.Or(a.by.Compare(b.by), cmp.Compare(a.process, b.process), cmp.Compare(a.part, b.part))
	})
}
