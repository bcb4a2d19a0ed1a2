package chaos

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
	"tidemark/shared/watermark/watermarktest"
)

const (
	deadTo   = "dead"
	timeout  = 40 * time.Second // of an invocation
	budget   = 10 * time.Second
	drain    = 5 * time.Second
	faults   = 6 // a schedule's, at most
	upheaval = 4 // events of a schedule's world, at most

	mostParts = 4 // of a schedule's world

	foreign = -1 // tag of a record that is not ours
)

// world is one schedule: model clusters, the state table, the trigger and everything under way.
type world struct {
	rng      *rand.Rand
	faults   int // still to inject
	upheaval int // still to happen

	mu        sync.Mutex // guards what several partitions of a process touch until each has parked
	parked    []*call
	producers int64
	counts    map[string]int64 // what the processes counted

	live    int  // invocations under way
	over    bool // nothing new happens any more
	idle    []*process
	started int
	frozen  []*call
	late    []late // sorted by their latest time
	echoes  []late // duplicates of state writes
	again   time.Time
	past    [][]brought // what the trigger brought once and may bring again

	items    bool          // whether the trigger brings again what the answer names only (batchItemFailures)
	fences   bool          // whether the target cluster lets itself be fenced
	letters  bool          // whether there is a dead letter queue
	skewed   bool          // whether some process's clock is off
	skew     time.Duration // how far one may be, either way
	stamps   bool          // whether the target stamps records itself (LogAppendTime)
	lowered  bool          // whether the target's limit refuses large records
	generous bool          // whether the limit was raised: faults are over

	parts    []*partition
	state    watermarktest.Memory
	internal internal

	plan     plan
	injected int // faults and upheavals so far, those that the plan leaves out among them
	happened int // those that it does not

	unsure   bool  // whether what was explained is explained again: an invocation failed, died or parked, or a catch-up came
	appended int64 // records of ours on the target, those of deleted topics among them
	refused  int64 // producer ids that markers were written for

	broken error // an invariant that did not hold on the way
	hits   table
	trace  uint64
	steps  *strings.Builder // nil: not wanted
}

// table counts what happened: faults by call, events of the world by name.
type table struct {
	calls  map[string]*[verdicts]int
	events map[string]int
}

func newTable() table {
	return table{calls: map[string]*[verdicts]int{}, events: map[string]int{}}
}

// newWorld makes the clusters. Most worlds are plain in most ways, so that what a schedule mixes stays few things at once.
func newWorld(p plan, hits table) *world {
	rng := rand.New(rand.NewPCG(p.seed, 0))
	w := &world{plan: p, rng: rng, faults: rng.IntN(faults + 1), hits: hits, internal: newInternal(), counts: map[string]int64{}}
	if rng.IntN(2) == 0 {
		w.upheaval = 1 + rng.IntN(upheaval)
	}
	w.items = rng.IntN(2) == 0
	w.fences = rng.IntN(3) > 0
	switch {
	case w.fences:
		w.skew = 15 * time.Second
	case rng.IntN(2) == 0: // of two clocks, together, it takes from the drain margin
		w.skew = 1500 * time.Millisecond
	}
	w.letters = rng.IntN(4) == 0
	w.lowered = w.letters || rng.IntN(8) == 0
	w.stamps = rng.IntN(8) == 0
	created := rng.IntN(4) > 0
	for range 1 + rng.IntN(3) {
		w.parts = append(w.parts, w.newPartition(created))
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

// event notes and counts something that happened to the world.
func (w *world) event(name string, part int, format string, args ...any) {
	w.hits.events[name]++
	w.note("%s p%d: %s", name, part, fmt.Sprintf(format, args...))
}

func (w *world) breaks(format string, args ...any) {
	if w.broken == nil {
		w.broken = fmt.Errorf(format, args...)
	}
}

func (w *world) item(part int32) watermark.State {
	s, _ := w.state.Get(context.Background(), at(part))
	return s
}

// at names a partition: each is in a topic of its own, so that what is asked about a topic tells whose call it is.
func at(part int32) mm2.TopicPartition {
	return mm2.TopicPartition{Topic: fmt.Sprint("t", part), Partition: part}
}

// partOf is the partition that a topic, on the source or remote, is of.
func partOf(topic string) int32 {
	n, _ := strconv.Atoi(topic[len(topic)-1:])
	return int32(n)
}

// Add implements mirror.Metrics.
func (w *world) Add(name string, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[name] += n
	if name == "DuplicatesPossible" {
		w.note("duplicates are possible")
	}
}
