package chaos

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// plan is a schedule: all that its seed brings about, or less.
type plan struct {
	seed   uint64
	length int          // turns with faults, at most
	less   map[int]bool // the faults and upheavals that are left out, by their number
	lie    bool         // whether the fence is acknowledged and nothing is done: for the test of the tests
}

func whole(seed uint64) plan { return plan{seed: seed, length: math.MaxInt} }

// String implements fmt.Stringer.
func (p plan) String() string {
	length := "all"
	if p.length < math.MaxInt {
		length = strconv.Itoa(p.length)
	}
	return fmt.Sprintf("%s turns of seed %d, without faults %v", length, p.seed, slices.Sorted(maps.Keys(p.less)))
}

// happens says whether the next fault or upheaval is not left out.
func (w *world) happens() bool {
	w.injected++
	if w.plan.less[w.injected-1] {
		return false
	}
	w.happened++
	return true
}

// upheave lets an upheaval happen that is not left out. It draws from a stream of its own: without it, what follows is drawn as
// before.
func (w *world) upheave(change func()) {
	w.upheaval--
	if !w.happens() {
		return
	}
	shared := w.rng
	w.rng = rand.New(rand.NewPCG(w.plan.seed, uint64(w.injected)))
	change()
	w.rng = shared
}

// minimiser looks for less of a schedule that fails in the same way.
type minimiser struct {
	way   string
	play  func(plan) result
	tries int // schedules that it may still play
}

// minimise cuts a schedule that failed short and leaves one fault or upheaval after another out of it, as long as it fails in the
// same way. What is left is not the least there is, but each of it is needed beside the rest, if the tries reach that far.
func minimise(p plan, failed error, play func(plan) result) plan {
	m := &minimiser{way: way(failed), play: play, tries: 400}
	for {
		less := m.omit(m.cut(p))
		if less.length == p.length && len(less.less) == len(p.less) {
			return p
		}
		p = less
	}
}

// fails says whether a schedule fails in the same way; none does when the tries are over.
func (m *minimiser) fails(p plan) (result, bool) {
	if m.tries == 0 {
		return result{}, false
	}
	m.tries--
	r := m.play(p)
	return r, r.err != nil && way(r.err) == m.way
}

// cut ends the faults and upheavals earlier. A schedule has 280 turns with them at most.
func (m *minimiser) cut(p plan) plan {
	for step := 128; step > 0; {
		shorter := p
		shorter.length = min(p.length, 280) - step
		if shorter.length < 0 {
			step /= 2
		} else if _, ok := m.fails(shorter); ok {
			p = shorter
		} else {
			step /= 2
		}
	}
	return p
}

// omit leaves out what is not needed, the last first.
func (m *minimiser) omit(p plan) plan {
	r, _ := m.fails(p)
	for i := r.injected - 1; i >= 0; i-- {
		if p.less[i] {
			continue
		}
		if less := p.without(i); m.same(less) {
			p = less
		}
	}
	return p
}

func (m *minimiser) same(p plan) bool {
	_, ok := m.fails(p)
	return ok
}

// without leaves one more out.
func (p plan) without(i int) plan {
	less := map[int]bool{i: true}
	maps.Copy(less, p.less)
	p.less = less
	return p
}

// way is how a schedule failed first, whatever the numbers.
func way(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, first)
}

// TestMinimise breaks the fence, and wants the first schedule that shows it to fail in the same way with fewer faults, each of
// which is needed.
func TestMinimise(t *testing.T) {
	seed, full := unfenced(t)
	silent := func(p plan) result { return play(t, p, newTable(), nil) }
	least := minimise(liar(seed), full.err, silent)
	got := silent(least)
	if got.err == nil || way(got.err) != way(full.err) {
		t.Errorf("%v: %v, want it to fail as before: %v", least, got.err, full.err)
	}
	if got.happened >= full.happened || least.length == math.MaxInt {
		t.Errorf("%v: %d of %d faults are left", least, got.happened, full.happened)
	}
	for i := range got.injected {
		if least.less[i] {
			continue
		}
		if r := silent(least.without(i)); r.err != nil && way(r.err) == way(full.err) {
			t.Errorf("%v: fails in the same way without fault %d too", least, i)
		}
	}
	if again := minimise(liar(seed), full.err, silent); again.String() != least.String() {
		t.Errorf("minimised to %v, then to %v", least, again)
	}
	honest := least
	honest.lie = false
	if r := silent(honest); r.err != nil {
		t.Errorf("with the fence: %v", r.err)
	}
	t.Logf("%d faults and upheavals, all turns; %d needed: %v: %v", full.happened, got.happened, least, got.err)
}

func liar(seed uint64) plan {
	p := whole(seed)
	p.lie = true
	return p
}

// unfenced is the first schedule with four faults or more that fails for want of a fence.
func unfenced(t *testing.T) (uint64, result) {
	t.Helper()
	for seed := uint64(1); seed <= 5_000; seed++ {
		if r := play(t, liar(seed), newTable(), nil); r.err != nil && r.happened >= 4 {
			return seed, r
		}
	}
	t.Fatal("no schedule of the first 5,000 needs the fence")
	return 0, result{}
}
