package tracker

import "time"

// State is what outlives an epoch: the watermark, and how long it has been held back where it stands. States are
// comparable.
type State struct {
	// Next is the next upstream offset to mirror.
	Next int64
	// HeadAt is when what lies at Next was first registered, to the millisecond; zero if nothing waits there.
	HeadAt time.Time
	// StalledSince is when that was first seen to have failed; zero if it has not.
	StalledSince time.Time
}

// State returns what to keep at the end of the epoch. The slots that have not advanced are not part of it: the trigger, or
// a read of the source, brings their records again.
func (t *Tracker) State() State {
	s := t.state
	if head, ok := t.Head(); ok {
		s.HeadAt = head.At
	}
	return s
}

// Restore returns the tracker of a new epoch, which starts without slots at s.Next. Until its watermark moves, the ages
// of its head and of its stall count from s. Failures themselves are not carried over: the new epoch stalls only where it
// fails again.
func Restore(s State) *Tracker {
	return &Tracker{floor: max(s.Next, 0), state: s}
}
