package chaos

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mirror/mirrortest"
)

// partition is one partition in both model clusters, and the trigger's view of it.
type partition struct {
	index int
	log   log
	lives int // how often its log was made again or cut: records tell apart which one they are of
	// kinds is how many contents there are; few make identical neighbours. 0: each record is unlike any other. Only then may
	// records vanish from the source: of two that are equal in everything, nobody could tell which one was mirrored.
	kinds    int64
	tags     int64
	dropped  map[int64]bool // tags that the trigger never brings
	large    map[int64]bool // tags that the target refuses while its limit is low
	position int64          // where the trigger reads on

	remote
	watermark int64           // as it stood after the last state write
	letters   map[int64]int   // tags in the dead letter queue
	known     map[int64]int64 // target offset of the first copy of each tag that was ever there

	// For the oracle.
	newest           int64  // tag that landed last in order
	seen             string // id that the last item named
	floor            int64  // where mirroring that log began
	cuts             int    // how often its log was truncated
	expired, thinned bool   // on the source
	reborn           bool
	switcher         int   // the process that went over to the present log, counted from 1
	switchedAt       int64 // the watermark in the old log then
	wasCut           bool  // some log of it was truncated
	untold           bool  // nothing was left to tell a log that was cut from the one before
	shared, wiped    bool  // on the target
}

// remote is the target's log of a partition. The index of a copy is its offset.
type remote struct {
	created bool
	base    int64 // log start
	copies  []placed
	hw      int64
	shortage
	lag    int64          // what a new leader does not show yet of what is replicated
	fenced map[int64]bool // producer ids
}

// shown is the high watermark as the leader tells it.
func (r *remote) shown() int64 { return max(r.hw-r.lag, min(r.base, r.hw)) }

// placed is one offset of the target's log.
type placed struct {
	record *kgo.Record
	gone   bool // compacted away
}

func (r *remote) end() int64 { return int64(len(r.copies)) }

func (w *world) newPartition(created bool) *partition {
	p := &partition{
		newest: -1, dropped: map[int64]bool{}, large: map[int64]bool{}, letters: map[int64]int{}, known: map[int64]int64{},
		index: len(w.parts),
		log:   log{id: "id-0"}, remote: remote{created: created, fenced: map[int64]bool{}},
	}
	if w.rng.IntN(2) == 0 {
		p.kinds = 1 + w.rng.Int64N(30)
	}
	w.fill(p, 1+w.rng.IntN(25), w.rng.IntN(4) == 0)
	if w.rng.IntN(3) == 0 && created { // what stood there before the flow began
		p.put(w, mirrortest.Control(), &kgo.Record{ProducerID: foreign, Value: []byte("foreign")}, mirrortest.Control())
		p.hw = w.rng.Int64N(p.end() + 1)
	}
	return p
}

// visible is what a raw read sees: control records among the rest, nothing past the high watermark.
func (r *remote) visible() []*kgo.Record {
	var all []*kgo.Record
	for _, c := range r.copies[min(r.base, r.hw):r.shown()] {
		if !c.gone {
			all = append(all, c.record)
		}
	}
	return all
}

// put appends copies, as a broker does.
func (p *partition) put(w *world, records ...*kgo.Record) {
	for _, r := range records {
		c := *r
		if w.stamps && !r.Attrs.IsControl() {
			c = *mirrortest.LogAppendTime(&kgo.Record{Value: r.Value, Timestamp: time.UnixMilli(1)})
			c.ProducerID = r.ProducerID
		}
		c.Offset = p.end()
		if tag := c.ProducerID; !c.Attrs.IsControl() && tag != foreign {
			w.appended++
			w.witness(p, tag, c.Offset)
		}
		p.copies = append(p.copies, placed{record: &c})
	}
}

// disturb lets a remote partition live its own life: replicate, compact, expire, hold what is somebody else's, be deleted.
func (w *world) disturb(part int) {
	p := w.parts[part]
	switch k := w.rng.IntN(24); {
	case k < 4:
		if p.created {
			p.put(w, mirrortest.Control())
			w.event("foreign marker", part, "at %d", p.end()-1)
		}
	case k < 8:
		w.compactTarget(part, p)
	case k == 8 && w.upheaval > 0 && p.created:
		w.upheave(func() {
			p.put(w, &kgo.Record{ProducerID: foreign, Value: []byte("foreign")})
			p.shared = true
			w.event("foreign writer", part, "at %d", p.end()-1)
		})
	case k == 9 && w.upheaval > 0 && p.hw > p.base:
		w.upheave(func() {
			p.base += 1 + w.rng.Int64N(p.hw-p.base)
			p.shared = true
			w.event("target expires", part, "log start %d of %d", p.base, p.hw)
		})
	case k == 10 && w.upheaval > 0 && p.created && w.rng.IntN(3) == 0:
		w.upheave(func() { w.wipe(part, p) })
	case k == 11 && w.upheaval > 0 && p.hw > p.base:
		w.upheave(func() {
			p.lag = w.rng.Int64N(p.hw - p.base + 1)
			w.event("target leader moves", part, "shows %d of %d", p.shown(), p.hw)
		})
	case k == 12 && w.upheaval > 0 && p.created:
		w.upheave(func() { w.shorten(part, p) })
	case p.stalled():
		w.note("p%d does not replicate", part)
	default:
		p.hw, p.lag, p.log.lag = p.end(), 0, 0
		w.note("replicate p%d up to %d", part, p.hw)
	}
}

// wipe deletes the remote topic, with what was under way to it.
func (w *world) wipe(part int, p *partition) {
	p.remote, p.wiped = remote{fenced: p.fenced}, true // an old producer knows the topic by its old id
	for tag := range p.known {
		p.known[tag] = -1
	}
	w.late = slices.DeleteFunc(w.late, func(l late) bool { return l.part == int32(part) })
	w.event("target topic deleted", part, "")
}

// compactTarget removes one record of ours that is not the last one visible. A record of somebody else that vanishes from
// among ours before they were settled could not be told from one of ours.
func (w *world) compactTarget(part int, p *partition) {
	var removable []int64
	for offset := p.base; offset < p.hw; offset++ {
		if r := p.copies[offset].record; !r.Attrs.IsControl() && r.ProducerID != foreign {
			removable = append(removable, offset)
		}
	}
	if len(removable) > 1 {
		offset := removable[w.rng.IntN(len(removable)-1)]
		p.copies[offset].gone = true
		w.event("target compacts", part, "offset %d", offset)
	}
}

// late is something that was sent and arrives later, at the latest at by (zero: whenever).
type late struct {
	process  int
	part     int32
	producer int64
	by       time.Time
	apply    func()
}

// producer is a client with an id of its own. Batches are handed over one after another; each is appended when its call
// passes and acknowledged when it is replicated.
type producer struct {
	target
	id     int64
	coin   *rand.Rand // its own: several may meet their deadline at one moment, in any order
	broken bool
}

func (p *producer) ID() int64 { return p.id }

// Release gives the producer back to its process.
func (p *producer) Release() {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if !p.broken && !p.inv.dead {
		p.inv.pool = append(p.inv.pool, p.id)
		slices.Sort(p.inv.pool)
	}
}

func (p *producer) Produce(ctx context.Context, records []*kgo.Record) (int, error) {
	p.coin = rand.New(rand.NewPCG(uint64(p.inv.id), uint64(records[0].ProducerID)<<32|uint64(records[0].Partition)))
	if records[0].Topic == deadTo {
		return p.letter(ctx, records)
	}
	n := 0
	for n < len(records) {
		k := n + 1 + p.coin.IntN(len(records)-n)
		acked, err := p.batch(ctx, records[n:k])
		if err != nil {
			p.broken = true
			return n, err
		}
		n += acked
	}
	return n, nil
}

// batch hands one batch over and waits for its acknowledgement.
func (p *producer) batch(ctx context.Context, records []*kgo.Record) (int, error) {
	part := p.w.parts[records[0].Partition]
	v, err := p.w.step(ctx, p.inv, records[0].Partition, "produce")
	for err == nil && part.scarce() {
		if v == killAfter {
			return 0, errors.Join(mirror.ErrUnknown, after(v))
		}
		if err := p.w.wait(ctx, part.scarce); err != nil { // the client tries again until then; its last request may be under way
			if p.coin.IntN(2) == 0 {
				p.late(ctx, records)
			}
			return 0, errors.Join(mirror.ErrUnknown, err)
		}
		v, err = p.w.step(ctx, p.inv, records[0].Partition, "produce")
	}
	switch {
	case v == failBefore: // a certain failure
		return 0, err
	case err != nil: // killed, or out of time: perhaps it was under way already
		if v == killBefore && p.coin.IntN(2) == 0 || errors.Is(err, context.DeadlineExceeded) && p.coin.IntN(2) == 0 {
			p.late(ctx, records)
		}
		return 0, errors.Join(mirror.ErrUnknown, err)
	case ctx.Err() != nil && !p.w.fences: // thawed: the client looks at the time before it hands anything over
		return 0, ctx.Err()
	case v != pass && p.coin.IntN(2) == 0:
		p.late(ctx, records)
		return 0, errors.Join(mirror.ErrUnknown, after(v))
	case !part.created:
		return 0, mirror.ErrMissing
	case part.fenced[p.id]:
		return 0, errors.Join(mirror.ErrUnknown, errors.New("fenced"))
	}
	base := part.end()
	part.put(p.w, records...)
	p.w.note("p%d +%d at %d, from record %d on", records[0].Partition, len(records), base, records[0].ProducerID)
	if v != pass {
		return 0, errors.Join(mirror.ErrUnknown, after(v))
	}
	if err := p.w.wait(ctx, part.stalled); err != nil {
		return 0, errors.Join(mirror.ErrUnknown, err)
	}
	v, err = p.w.step(ctx, p.inv, records[0].Partition, "acknowledge")
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err == nil && part.end() < base+int64(len(records)) {
		err = mirror.ErrMissing // deleted meanwhile
	}
	if err != nil {
		return 0, errors.Join(mirror.ErrUnknown, err)
	}
	part.hw = max(part.hw, base+int64(len(records)))
	if v != pass {
		return 0, errors.Join(mirror.ErrUnknown, after(v))
	}
	for i, r := range records {
		r.Offset = base + int64(i)
	}
	return len(records), nil
}

// letter writes to the dead letter queue.
func (p *producer) letter(ctx context.Context, records []*kgo.Record) (int, error) {
	part, tag := buried(records[0])
	v, err := p.w.step(ctx, p.inv, part, "letter")
	if err != nil {
		p.broken = true
		return 0, err
	}
	p.w.parts[part].letters[tag]++
	if err := after(v); err != nil {
		p.broken = true
		return 0, errors.Join(mirror.ErrUnknown, err)
	}
	return len(records), nil
}

// buried returns the partition and the tag of a record in the dead letter queue.
func buried(r *kgo.Record) (part int32, tag int64) {
	for _, h := range r.Headers {
		if h.Key == "__connect.errors.partition" {
			n, _ := strconv.Atoi(string(h.Value))
			part = int32(n)
		}
	}
	tag, _ = strconv.ParseInt(string(r.Value[bytes.LastIndexByte(r.Value, 0)+1:]), 10, 64)
	return part, tag
}

// late leaves a request in a broker's queue. The waiting rule assumes that it is appended within the drain margin, less what two
// clocks differ by; a fence assumes nothing.
func (p *producer) late(ctx context.Context, records []*kgo.Record) {
	deadline, _ := ctx.Deadline()
	part, copies := p.w.parts[records[0].Partition], make([]*kgo.Record, len(records))
	for i, r := range records {
		c := *r
		copies[i] = &c
	}
	by := deadline.Add(drain - 2*p.w.skew - time.Millisecond)
	if p.w.fences {
		by = deadline.Add(10 * timeout)
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.w.late = append(p.w.late, late{
		process: p.inv.id, part: records[0].Partition, producer: p.id, by: by, apply: func() {
			if !part.fenced[p.id] && !part.scarce() {
				part.put(p.w, copies...)
			}
		},
	})
	sortLate(p.w.late)
}
