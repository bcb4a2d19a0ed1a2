//go:build java

package java

import (
	"fmt"
	"math"
	"math/rand/v2"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
)

type verb string

// The steps of a history: see Harness.java.
const (
	load   verb = "load"
	loaded verb = "loaded"
	sync   verb = "sync"
	ask    verb = "ask"
)

type step struct {
	verb                 verb
	mode                 offsetsync.Mode // load
	number               int32           // sync and ask: the partition
	upstream, downstream int64
}

func (s step) partition() mm2.TopicPartition {
	return mm2.TopicPartition{Topic: "orders", Partition: s.number}
}

// String is the step in the harness's words.
func (s step) String() string {
	switch s.verb {
	case load:
		return "load " + map[offsetsync.Mode]string{offsetsync.History: "history", offsetsync.LatestOnly: "latest"}[s.mode]
	case sync:
		return fmt.Sprintf("sync %d %d %d", s.number, s.upstream, s.downstream)
	case ask:
		return fmt.Sprintf("ask %d %d", s.number, s.upstream)
	default:
		return string(s.verb)
	}
}

// newHistory is the history of a seed: one to three partitions that are synced in their own ways, a part of it in the
// initial read, and questions in between and at the end.
func newHistory(seed uint64) []step {
	r := rand.New(rand.NewPCG(seed, 0))
	partitions := make([]*partition, 1+r.IntN(3))
	for i := range partitions {
		partitions[i] = newPartition(r, int32(i))
	}
	history := []step{{verb: load, mode: offsetsync.Mode(r.IntN(2))}}
	total := 1 + r.IntN(1<<(1+r.IntN(8)))
	reading, curiosity := r.IntN(total+1), r.Float64()
	for i := range total {
		if i == reading {
			history = append(history, step{verb: loaded})
		}
		p := partitions[r.IntN(len(partitions))]
		history = append(history, p.next())
		if r.Float64() < curiosity {
			history = append(history, p.question())
		}
	}
	if reading == total {
		history = append(history, step{verb: loaded})
	}
	for _, p := range partitions {
		for _, s := range p.syncs {
			history = append(history, p.ask(s.upstream-1), p.ask(s.upstream), p.ask(s.upstream+1))
		}
		history = append(history, p.question(), p.ask(math.MaxInt64), p.ask(math.MinInt64))
	}
	return history
}

// partition makes the syncs of one partition.
type partition struct {
	*rand.Rand
	number    int32
	gap       func() int64 // to the next upstream offset
	surprises float64      // how often something else comes than the next offset
	syncs     []step
}

func newPartition(r *rand.Rand, number int32) *partition {
	p := &partition{Rand: r, number: number}
	width := p.magnitude(40)
	p.gap = []func() int64{
		func() int64 { return 1 },
		func() int64 { return width },
		func() int64 { return 1 << r.IntN(1+r.IntN(62)) },
		func() int64 { return 1 + r.Int64N(width) },
		func() int64 { return p.magnitude(20) },
		func() int64 { return p.magnitude(62) },
		func() int64 { return []int64{1, 1, 1, 100, 200}[r.IntN(5)] },
	}[r.IntN(7)]
	p.surprises = []float64{0, 0, 0.02, 0.1, 0.5}[r.IntN(5)]
	first := step{verb: sync, number: number, upstream: r.Int64N(30), downstream: r.Int64N(1000)}
	if r.IntN(5) == 0 {
		first.upstream = p.extreme()
	}
	p.syncs = []step{first}
	return p
}

// magnitude is an offset of 1 up to 2^bits-1 whose length is drawn first, so that small ones are as likely as large ones.
func (p *partition) magnitude(bits int) int64 {
	low := int64(1) << p.IntN(bits)
	return low + p.Int64N(low)
}

// extreme is an offset around a bound of the arithmetic.
func (p *partition) extreme() int64 {
	bound := []int64{0, math.MaxInt64, math.MinInt64, 1 << 62, 1 << p.IntN(63)}[p.IntN(5)]
	return bound + p.Int64N(2*p.magnitude(10)) - p.magnitude(10) // may wrap around
}

// next returns the next sync: one farther on, unless a surprise comes.
func (p *partition) next() step {
	s := p.syncs[len(p.syncs)-1]
	gap := p.gap()
	s.upstream += gap // may wrap around, which is a way back
	s.downstream += 1 + p.Int64N(gap)
	if p.Float64() < p.surprises {
		s = p.surprise(s)
	}
	p.syncs = append(p.syncs, s)
	return s
}

func (p *partition) surprise(s step) step {
	last := p.syncs[len(p.syncs)-1]
	switch p.IntN(8) {
	case 0, 1: // the same record again
		return last
	case 2: // the same record, another copy
		s.upstream = last.upstream
	case 3: // the source went back a little
		s.upstream = last.upstream - p.magnitude(10)
	case 4: // the source went back
		s.upstream = p.syncs[p.IntN(len(p.syncs))].upstream
	case 5: // the target went back
		s.downstream = p.Int64N(100)
	case 6: // both began anew
		s.upstream, s.downstream = p.Int64N(30), p.Int64N(30)
	default:
		s.upstream, s.downstream = p.extreme(), p.extreme()
	}
	return s
}

func (p *partition) ask(upstream int64) step {
	return step{verb: ask, number: p.number, upstream: upstream}
}

// question asks for an offset near a sync, or anywhere.
func (p *partition) question() step {
	if p.IntN(10) == 0 {
		return p.ask(int64(p.Uint64()))
	}
	return p.ask(p.syncs[p.IntN(len(p.syncs))].upstream + p.magnitude(20) - p.magnitude(20))
}
