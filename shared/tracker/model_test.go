package tracker_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/shared/tracker"
)

// model is the tracker told naively: every slot of the epoch by its number, and how many of them have advanced.
type model struct {
	slots    []tracker.Slot
	advanced int
	stalled  bool
	state    tracker.State
}

func (m *model) floor() int64 {
	if n := len(m.slots); n > 0 {
		return m.slots[n-1].Last + 1
	}
	return m.state.Next
}

// advance is the longest delivered prefix, unless a failure blocks it first.
func (m *model) advance(now time.Time) (int64, bool) {
	moved := false
	for _, s := range m.slots[m.advanced:] {
		if s.Status != tracker.Delivered {
			if s.Status == tracker.Failed && !m.stalled {
				m.stalled = true
				if m.state.StalledSince.IsZero() {
					m.state.StalledSince = now
				}
			}
			break
		}
		m.advanced++
		m.state, moved = tracker.State{Next: s.Last + 1}, true
	}
	return m.state.Next, moved
}

func (m *model) resolve(seq uint64, s tracker.Status) tracker.Outcome {
	switch {
	case seq < uint64(m.advanced):
		return tracker.AlreadyAdvanced
	case seq >= uint64(len(m.slots)):
		return tracker.Unregistered
	case m.slots[seq].Status != tracker.Pending:
		return tracker.Duplicate
	}
	m.slots[seq].Status = s
	return tracker.Applied
}

// head is the oldest slot left, with the age that earlier epochs gave it.
func (m *model) head() (tracker.Slot, bool) {
	if m.advanced == len(m.slots) {
		return tracker.Slot{}, false
	}
	head := m.slots[m.advanced]
	if !m.state.HeadAt.IsZero() {
		head.At = m.state.HeadAt
	}
	return head, true
}

func (m *model) saved() tracker.State {
	s := m.state
	if head, ok := m.head(); ok {
		s.HeadAt = head.At
	}
	return s
}

func TestTrackerMatchesReferenceModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		next := rapid.Int64Range(0, 1000).Draw(t, "next")
		m := &model{state: tracker.State{Next: next}}
		tr := tracker.New(next)
		clock := 0
		tick := func() time.Time { clock++; return at(clock) }

		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				first := m.floor() + rapid.Int64Range(0, 3).Draw(t, "gap")
				last := first + rapid.Int64Range(0, 99).Draw(t, "length")
				now := tick()
				if err := tr.Register(uint64(len(m.slots)), first, last, now); err != nil {
					t.Fatalf("Register(%d, %d, %d) = %v", len(m.slots), first, last, err)
				}
				m.slots = append(m.slots, tracker.Slot{First: first, Last: last, At: now})
			},
			"register wrongly": func(t *rapid.T) {
				seq := rapid.Uint64().Filter(func(n uint64) bool { return n != uint64(len(m.slots)) }).Draw(t, "seq")
				if err := tr.Register(seq, m.floor(), m.floor(), tick()); !errors.Is(err, tracker.ErrSequence) {
					t.Fatalf("Register(%d) = %v, want ErrSequence", seq, err)
				}
				first := m.floor() - rapid.Int64Range(1, 10).Draw(t, "overlap")
				if err := tr.Register(uint64(len(m.slots)), first, m.floor(), tick()); !errors.Is(err, tracker.ErrOffsets) {
					t.Fatalf("Register from %d = %v, want ErrOffsets", first, err)
				}
			},
			"resolve": func(t *rapid.T) {
				// Any slot, so that all four outcomes come up; the one past the last is not registered.
				seq := rapid.Uint64Range(0, uint64(len(m.slots))).Draw(t, "seq")
				// A failure stalls the epoch, so it is the rarer fate.
				status := rapid.SampledFrom([]tracker.Status{tracker.Delivered, tracker.Delivered, tracker.Delivered, tracker.Failed}).Draw(t, "status")
				if got, want := tr.Resolve(seq, status), m.resolve(seq, status); got != want {
					t.Fatalf("Resolve(%d, %d) = %d, want %d", seq, status, got, want)
				}
			},
			"advance": func(t *rapid.T) {
				now, before := tick(), tr.Next()
				got, moved := tr.Advance(now)
				want, wantMoved := m.advance(now)
				if got != want || moved != wantMoved {
					t.Fatalf("Advance() = %d, %t, want %d, %t", got, moved, want, wantMoved)
				}
				if moved != (got > before) {
					t.Fatalf("Advance() = %d, %t from %d: not monotonic", got, moved, before)
				}
			},
			"grow": func(t *rapid.T) { tr.Grow(rapid.IntRange(-1, 20).Draw(t, "slots")) },
			"end the epoch": func(*rapid.T) {
				m.state = m.saved()
				m.slots, m.advanced, m.stalled = nil, 0, false
				tr = tracker.Restore(tr.State())
			},
			"": func(t *rapid.T) { compare(t, tr, m) },
		})
	})
}

func compare(t *rapid.T, tr *tracker.Tracker, m *model) {
	t.Helper()
	if got, want := tr.Pending(), len(m.slots)-m.advanced; got != want {
		t.Fatalf("Pending() = %d, want %d", got, want)
	}
	if got, want := tr.Sequence(), uint64(len(m.slots)); got != want {
		t.Fatalf("Sequence() = %d, want %d", got, want)
	}
	if got, want := tr.State(), m.saved(); got != want {
		t.Fatalf("State() = %+v, want %+v", got, want)
	}
	head, ok := m.head()
	if got, gotOK := tr.Head(); got != head || gotOK != ok {
		t.Fatalf("Head() = %+v, %t, want %+v, %t", got, gotOK, head, ok)
	}
	var stall tracker.Stall
	if m.stalled {
		stall = tracker.Stall{Sequence: uint64(m.advanced), Slot: head, Since: m.state.StalledSince}
	}
	if got, gotOK := tr.Stalled(); got != stall || gotOK != m.stalled {
		t.Fatalf("Stalled() = %+v, %t, want %+v, %t", got, gotOK, stall, m.stalled)
	}
}
