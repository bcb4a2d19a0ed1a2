package chaos

import (
	"context"
	"time"
)

// shortage is what a remote partition lacks of its replicas, and until when; zero: nothing.
type shortage struct {
	slow time.Time // a follower in sync fetches nothing: what is appended gets no acknowledgement
	few  time.Time // fewer in sync than min.insync.replicas: nothing is appended, and the client tries again
}

func (s *shortage) stalled() bool { return time.Now().Before(s.slow) }

func (s *shortage) scarce() bool { return time.Now().Before(s.few) }

// shorten takes replicas from a remote partition, for less or more time than an owner has.
func (w *world) shorten(part int, p *partition) {
	until := time.Now().Add(time.Duration(1+w.rng.IntN(30_000)) * time.Millisecond)
	if w.rng.IntN(2) == 0 {
		p.few = until
		w.event("target lacks replicas", part, "until %v", time.Until(until))
		return
	}
	p.slow = until
	w.event("target follower stalls", part, "for %v, %d of %d replicated", time.Until(until), p.hw, p.end())
}

// wait lets time pass as long as something lasts. It looks a few times a second, as a client does that tries again, and under
// the world's lock: whoever waits wakes by the clock, not by the schedule.
func (w *world) wait(ctx context.Context, lasts func() bool) error {
	const pause = 300 * time.Millisecond
	for w.locked(lasts) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (w *world) locked(ask func() bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return ask()
}
