package chaos

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	number = flag.Uint64("schedules", 2000, "how many schedules to play")
	first  = flag.Uint64("seed", 1, "seed of the first schedule")
)

// TestSchedules plays n schedules from the first seed on. A failure prints the seed, and the steps of the schedule when
// everything was left out of it that the failure does not need.
func TestSchedules(t *testing.T) {
	const workers = 2
	start := time.Now()
	tables := make([]table, workers)
	var failed atomic.Bool
	t.Run("workers", func(t *testing.T) {
		for worker := range workers {
			tables[worker] = newTable()
			t.Run(strconv.Itoa(worker), func(t *testing.T) {
				t.Parallel()
				for seed := *first + uint64(worker); seed < *first+*number && !failed.Load(); seed += workers {
					if r := play(t, whole(seed), tables[worker], nil); r.err != nil {
						failed.Store(true)
						explain(t, seed, r)
					}
				}
			})
		}
	})
	if failed.Load() {
		return
	}
	took := time.Since(start)
	t.Logf("%d schedules, 0 lost, 0 reordered, 0 duplicated: %.0f a second", *number, float64(*number)/took.Seconds())
	report(t, tables)
}

// explain ends the test with a schedule that failed: how, and what is left of it if everything that is not needed is left out.
func explain(t *testing.T, seed uint64, full result) {
	t.Helper()
	least := minimise(whole(seed), full.err, func(p plan) result { return play(t, p, newTable(), nil) })
	var steps strings.Builder
	r := play(t, least, newTable(), &steps)
	t.Fatalf("seed %d: %v\nminimised: %d of %d faults and upheavals, %d steps: %v: %v\n%s",
		seed, full.err, r.happened, full.happened, strings.Count(steps.String(), "\n"), least, r.err, &steps)
}

// report prints how often each fault hit each call, and wants every one of them to have in a long run: a fault that
// never hits proves nothing.
func report(t *testing.T, tables []table) {
	t.Helper()
	all := newTable()
	for _, table := range tables {
		for name, row := range table.calls {
			if all.calls[name] == nil {
				all.calls[name] = new([verdicts]int)
			}
			for v, n := range row {
				all.calls[name][v] += n
			}
		}
		for name, n := range table.events {
			all.events[name] += n
		}
	}
	least := 0
	if *number >= 10_000 {
		least = int(*number / 1000)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-13s", "")
	for v := range verdicts {
		fmt.Fprintf(&b, "%12s", v)
	}
	for _, name := range slices.Sorted(maps.Keys(all.calls)) {
		fmt.Fprintf(&b, "\n%-13s", name)
		for v, n := range all.calls[name] {
			fmt.Fprintf(&b, "%12d", n)
			if n < least && (isWrite(name) || verdict(v) != echo) {
				t.Errorf("%s: %s hit %d times, want %d at least", name, verdict(v), n, least)
			}
		}
	}
	t.Logf("faults by call:\n%s", &b)
	b.Reset()
	for _, name := range slices.Sorted(maps.Keys(all.events)) {
		fmt.Fprintf(&b, "\n%-24s%12d", name, all.events[name])
		if all.events[name] < least {
			t.Errorf("%s happened %d times, want %d at least", name, all.events[name], least)
		}
	}
	t.Logf("events of the world:%s", &b)
}

// result is how a schedule ended.
type result struct {
	err      error
	trace    uint64
	injected int // faults and upheavals, those that were left out among them
	happened int // without those
}

func play(t *testing.T, p plan, hits table, steps *strings.Builder) (r result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		w := newWorld(p, hits)
		w.steps = steps
		r.err = w.run()
		r.trace, r.injected, r.happened = w.trace, w.injected, w.happened
		w.abandon()
	})
	return r
}

// abandon ends whatever a failed schedule left behind, so that its bubble can close.
func (w *world) abandon() {
	for {
		synctest.Wait()
		w.mu.Lock()
		calls := slices.Concat(w.parked, w.frozen)
		w.parked, w.frozen = nil, nil
		for _, c := range calls {
			c.inv.dead = true
		}
		live := w.live + w.internal.running
		w.mu.Unlock()
		for _, c := range calls {
			c.verdict <- killBefore
		}
		if live == 0 {
			return
		}
		time.Sleep(time.Second)
	}
}

// TestSameSeedSameSchedule plays seeds again and wants the same steps: else a seed would not replay a failure.
func TestSameSeedSameSchedule(t *testing.T) {
	for seed := range uint64(100) {
		want := play(t, whole(seed), newTable(), nil)
		for range 3 {
			if got := play(t, whole(seed), newTable(), nil); got.trace != want.trace {
				t.Errorf("seed %d: the schedules differ", seed)
				break
			}
		}
	}
}
