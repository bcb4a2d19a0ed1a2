// Package tracker computes how far the watermark of one partition may advance.
//
// A [Tracker] is told of stretches of upstream offsets in order (Register) and of their fates in any order (Resolve), and
// says how far the contiguous delivered prefix reaches (Advance). The invariant: Next never passes an offset that is
// pending or failed. A failed slot at the head stalls the watermark for good; what was delivered before it still counts,
// nothing behind it does.
//
// One Tracker lives for one epoch: one claim of one partition by one invocation. A retry is a new epoch that starts where
// the last one stood, and a [State] carries over how long the same offset has held the watermark back. So neither a failed
// head nor one whose answer never comes looks young for ever.
//
// A Tracker does no I/O, reads no clock and is not safe for concurrent use.
package tracker

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Status is the fate of a slot.
type Status uint8

// A slot starts Pending and is resolved once.
const (
	Pending Status = iota
	Delivered
	Failed
)

// Outcome is what Resolve did. Only Applied changes anything.
type Outcome uint8

const (
	// Applied means the slot went from Pending to Delivered or Failed.
	Applied Outcome = iota
	// Duplicate means the slot was resolved before and keeps its fate, also if the new one is worse.
	Duplicate
	// AlreadyAdvanced means the watermark has passed the slot: a duplicate of a resolution that was used up.
	AlreadyAdvanced
	// Unregistered means no slot has this sequence number yet. If its registration is under way, retry once after it.
	Unregistered
)

// Errors of Register. Both mean a mistake of the caller's; the tracker is unchanged and stays usable.
var (
	// ErrSequence is a sequence number other than the next one.
	ErrSequence = errors.New("sequence number is not the next one")
	// ErrOffsets is a stretch that does not lie wholly above the one before it, or that ends at the largest int64, so
	// that the offset past it does not exist.
	ErrOffsets = errors.New("offsets do not rise")
)

// Slot is one registered stretch of upstream offsets.
type Slot struct {
	First, Last int64 // both inclusive; offsets between two slots are the caller's to explain
	Status      Status
	// At is when the stretch was registered, to the millisecond: in this epoch or, at a head that earlier epochs did not
	// get past either, in the first of them.
	At time.Time
}

// Stall is a failed slot at the head.
type Stall struct {
	Sequence uint64
	Slot     Slot
	// Since is when Advance first met it, in this epoch or in the first of those that it has held back.
	Since time.Time
}

// slot is a Slot without pointers, so that ten thousand of them are nothing to the garbage collector.
type slot struct {
	first, last int64
	at          int64 // Unix milliseconds
	status      Status
}

// Tracker is the contiguity tracker of one partition in one epoch. Use [New] or [Restore].
type Tracker struct {
	slots []slot // slots[front:] have not advanced
	front int
	head  uint64 // sequence number of slots[front]
	floor int64  // smallest first offset that the next slot may have

	stalled bool // the head is failed, and Advance has seen it
	state   State
}

// New returns a tracker whose watermark stands at next, the next upstream offset to mirror.
func New(next int64) *Tracker { return Restore(State{Next: next}) }

// Grow makes room for n more slots at once. Registering needs no call of it, but is faster after one.
func (t *Tracker) Grow(n int) { t.slots = slices.Grow(t.slots, max(n, 0)) }

// Register adds the stretch first..last (both inclusive) as the slot with sequence number seq, registered at the time at.
// Numbers start at 0 in each epoch and follow each other; offsets must rise. Registering behind a stall is allowed, for
// what is in flight still arrives, but it will never advance. The errors are [ErrSequence] and [ErrOffsets].
func (t *Tracker) Register(seq uint64, first, last int64, at time.Time) error {
	if want := t.Sequence(); seq != want {
		return fmt.Errorf("register slot %d, want %d: %w", seq, want, ErrSequence)
	}
	if first < t.floor || last < first || last == math.MaxInt64 {
		return fmt.Errorf("register offsets %d to %d, want %d or more: %w", first, last, t.floor, ErrOffsets)
	}
	if len(t.slots) == cap(t.slots) && t.front > len(t.slots)/2 {
		// Most of it has advanced: reuse that instead of growing, so that memory follows what is pending.
		t.slots, t.front = t.slots[:copy(t.slots, t.slots[t.front:])], 0
	}
	t.slots = append(t.slots, slot{first: first, last: last, at: at.UnixMilli()})
	t.floor = last + 1
	return nil
}

// Sequence is the sequence number that Register expects.
func (t *Tracker) Sequence() uint64 { return t.head + uint64(t.Pending()) }

// Resolve settles the slot seq. Any status but [Delivered] fails it: a fate that the caller forgot to set must not advance
// the watermark.
func (t *Tracker) Resolve(seq uint64, s Status) Outcome {
	if seq < t.head {
		return AlreadyAdvanced
	}
	if seq >= t.Sequence() {
		return Unregistered
	}
	slot := &t.slots[t.front+int(seq-t.head)]
	if slot.status != Pending {
		return Duplicate
	}
	slot.status = Failed
	if s == Delivered {
		slot.status = Delivered
	}
	return Applied
}

// Advance moves the watermark past the contiguous delivered prefix and returns where it stands, and whether it moved. A
// failed head stalls it from then on; now is taken as the beginning of the stall.
func (t *Tracker) Advance(now time.Time) (next int64, moved bool) {
	from := t.front
	for t.front < len(t.slots) && t.slots[t.front].status == Delivered {
		t.front++
	}
	if moved = t.front > from; moved {
		t.head += uint64(t.front - from)
		t.state = State{Next: t.slots[t.front-1].last + 1} // what held it back before is behind it
	}
	switch {
	case t.front == len(t.slots):
		t.slots, t.front = t.slots[:0], 0
	case t.slots[t.front].status == Failed:
		t.stalled = true
		if t.state.StalledSince.IsZero() {
			t.state.StalledSince = now
		}
	}
	return t.state.Next, moved
}

// Next is the watermark: the next upstream offset to mirror, all before it being delivered or the caller's to explain.
func (t *Tracker) Next() int64 { return t.state.Next }

// Pending counts the slots that have not advanced, delivered ones behind the head included. It bounds the memory of the
// tracker and what a retry has to bring again.
func (t *Tracker) Pending() int { return len(t.slots) - t.front }

// Head is the oldest slot that has not advanced; false if there is none. A head that stays [Pending] is one whose answer
// does not come: it is no stall, and its At says how long it hangs.
func (t *Tracker) Head() (Slot, bool) {
	if t.Pending() == 0 {
		return Slot{}, false
	}
	head := t.slots[t.front]
	at := time.UnixMilli(head.at).UTC()
	if since := t.state.HeadAt; !since.IsZero() && since.Before(at) {
		at = since
	}
	return Slot{First: head.first, Last: head.last, Status: head.status, At: at}, true
}

// Stalled returns the failed head once Advance has met it, and from then on for good. A failure behind a pending head is
// no stall yet.
func (t *Tracker) Stalled() (Stall, bool) {
	if !t.stalled {
		return Stall{}, false
	}
	head, _ := t.Head()
	return Stall{Sequence: t.head, Slot: head, Since: t.state.StalledSince}, true
}
