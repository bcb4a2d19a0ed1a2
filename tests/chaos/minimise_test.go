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
	return !w.plan.less[w.injected-1]
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

// minimise leaves one fault or upheaval after another out of a schedule that failed, and cuts it short, as long as it fails in
// the same way. What is left is not the least there is, but each of it is needed beside the rest.
func minimise(p plan, failed error, play func(plan) result) plan {
	const most = 400 // schedules
	tries := 0
	fails := func(p plan) (result, bool) {
		tries++
		r := play(p)
		return r, r.err != nil && way(r.err) == way(failed)
	}
	for before := -1; before != len(p.less) && tries < most; {
		before = len(p.less)
		r, _ := fails(p)
		for i := r.injected - 1; i >= 0 && tries < most; i-- {
			if p.less[i] {
				continue
			}
			less := maps.Clone(p.less)
			if less == nil {
				less = map[int]bool{}
			}
			less[i] = true
			shorter := p
			shorter.less = less
			if _, ok := fails(shorter); ok {
				p = shorter
			}
		}
	}
	for step := 128; step > 0 && tries < most; step /= 2 { // from the front: a schedule has 280 turns at most
		shorter := p
		shorter.length = min(p.length, 300) - step
		if _, ok := fails(shorter); shorter.length > 0 && ok {
			p, step = shorter, step*2
		}
	}
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

// TestMinimise breaks the fence, and wants the first schedule that shows it to fail in the same way with fewer faults, and
// each that is left to be needed.
func TestMinimise(t *testing.T) {
	for seed := uint64(1); ; seed++ {
		if seed > 5_000 {
			t.Fatal("no schedule of the first 5,000 needs the fence")
		}
		p := whole(seed)
		p.lie = true
		full := play(t, p, newTable(), nil)
		if full.err == nil || full.injected < 4 {
			continue
		}
		least := minimise(p, full.err, func(p plan) result { return play(t, p, newTable(), nil) })
		got := play(t, least, newTable(), nil)
		if got.err == nil || way(got.err) != way(full.err) {
			t.Errorf("%v: %v, want it to fail as before: %v", least, got.err, full.err)
		}
		if left := got.injected - len(least.less); left >= full.injected || least.length == math.MaxInt {
			t.Errorf("%v: %d of %d faults are left", least, left, full.injected)
		}
		t.Logf("%d faults and upheavals, all turns; %d needed: %v: %v", full.injected, got.injected-len(least.less), least, got.err)
		honest := least
		honest.lie = false
		if r := play(t, honest, newTable(), nil); r.err != nil {
			t.Errorf("with the fence: %v", r.err)
		}
		return
	}
}
