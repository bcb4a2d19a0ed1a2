package chaos

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
)

// partition is one partition in both model clusters, and the trigger's view of it.
type partition struct {
	source    []*kgo.Record // offsets rise; Record.ProducerID is the offset too, a tag that nothing compares
	sourceEnd int64
	dropped   int64 // offset that the trigger never brings; -1: none

	created bool
	log     []entry // the target's; the index is the offset
	hw      int64   // the target's high watermark

	position  int64 // where the trigger reads on
	watermark int64 // as it stood after the last state write
}

// entry is one offset of the target's log.
type entry struct {
	record *kgo.Record
	gone   bool // compacted away
}

func (p *partition) end() int64 { return int64(len(p.log)) }

// goal is the offset at which this partition has to stand in the end: a hole stops it.
func (p *partition) goal() int64 {
	if p.dropped >= 0 {
		return p.dropped
	}
	return p.sourceEnd
}

// revealed says whether a hole shows: the last record of the source has none behind it that would.
func (p *partition) revealed() bool { return p.dropped >= 0 && p.dropped < p.sourceEnd-1 }

// visible is what a raw read sees: control records among the rest, nothing past the high watermark.
func (p *partition) visible() []*kgo.Record {
	var all []*kgo.Record
	for _, e := range p.log[:p.hw] {
		if !e.gone {
			all = append(all, e.record)
		}
	}
	return all
}

func (p *partition) append(records ...*kgo.Record) {
	for _, r := range records {
		c := *r
		c.Offset = p.end()
		p.log = append(p.log, entry{record: &c})
	}
}

// compact removes one record that is not the last one visible.
func (p *partition) compact(pick int) {
	var data []int
	for i, e := range p.log[:p.hw] {
		if !e.record.Attrs.IsControl() {
			data = append(data, i)
		}
	}
	if len(data) > 1 {
		p.log[data[pick%(len(data)-1)]].gone = true
	}
}

// late is something that was sent and arrives later, at the latest at by (zero: any time).
type late struct {
	process int
	part    int32
	by      time.Time
	apply   func()
}

// producer is a client with an id of its own. Batches are handed over one after another; each is appended when its call
// passes and acknowledged when it is replicated.
type producer struct {
	target
	id   int64
	coin *rand.Rand // its own: several may meet their deadline at one moment, in any order
}

func (p *producer) ID() int64 { return p.id }

func (*producer) Release() {}

func (p *producer) Produce(ctx context.Context, records []*kgo.Record) (int, error) {
	p.coin = rand.New(rand.NewPCG(uint64(p.inv.id), uint64(records[0].ProducerID)<<32|uint64(records[0].Partition)))
	n := 0
	for n < len(records) {
		k := n + 1 + p.coin.IntN(len(records)-n)
		acked, err := p.batch(ctx, records[n:k])
		if err != nil {
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
	switch {
	case v == failBefore: // a broker's refusal
		return 0, err
	case err != nil: // killed, or out of time: perhaps it was under way already
		if v == killBefore && p.coin.IntN(2) == 0 || errors.Is(err, context.DeadlineExceeded) && p.coin.IntN(2) == 0 {
			p.late(ctx, records)
		}
		return 0, errors.Join(mirror.ErrUnknown, err)
	case ctx.Err() != nil: // thawed: the client looks at the time before it hands anything over
		return 0, ctx.Err()
	case v != pass && p.coin.IntN(2) == 0:
		p.late(ctx, records)
		return 0, errors.Join(mirror.ErrUnknown, after(v))
	}
	base := part.end()
	part.append(records...)
	p.w.note("p%d +%d", records[0].Partition, len(records))
	if v != pass {
		return 0, errors.Join(mirror.ErrUnknown, after(v))
	}
	v, err = p.w.step(ctx, p.inv, records[0].Partition, "acknowledge")
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
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

// late leaves a request in a broker's queue. The waiting rule assumes that it is appended within the drain margin.
func (p *producer) late(ctx context.Context, records []*kgo.Record) {
	deadline, _ := ctx.Deadline()
	part, copies := p.w.parts[records[0].Partition], make([]*kgo.Record, len(records))
	for i, r := range records {
		c := *r
		copies[i] = &c
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	p.w.late = append(p.w.late, late{
		process: p.inv.id, part: records[0].Partition, by: deadline.Add(drain - time.Millisecond), apply: func() { part.append(copies...) },
	})
	slices.SortFunc(p.w.late, func(a, b late) int {
		return cmp.Or(a.by.Compare(b.by), cmp.Compare(a.process, b.process), cmp.Compare(a.part, b.part))
	})
}
