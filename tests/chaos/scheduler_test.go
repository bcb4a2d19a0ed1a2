package chaos

import (
	"cmp"
	"errors"
	"slices"
	"testing/synctest"
	"time"

	"tidemark/shared/mirror/mirrortest"
)

// run plays the schedule until everything has arrived and nothing is under way.
func (w *world) run() error {
	const most = 20_000
	w.mu.Lock() // the scheduler has the world to itself, except in quiesce and pause
	defer w.mu.Unlock()
	for range most {
		w.quiesce()
		if w.broken != nil || w.settled() {
			return w.check()
		}
		switch k := w.rng.IntN(24); {
		case w.overdue():
		case k < 2 && len(w.late) > 0:
			w.land(&w.late, w.rng.IntN(len(w.late)))
		case k == 2 && len(w.echoes) > 0:
			w.land(&w.echoes, w.rng.IntN(len(w.echoes)))
		case k == 3:
			w.disturb()
		case k == 6 && w.internal.running < 2 && w.internal.ticks < 4:
			w.read()
			w.tick()
		case w.live+w.internal.running-len(w.frozen) < 3 && (len(w.parked) == 0 || k == 4) && !time.Now().Before(w.again):
			w.invoke()
			w.quiesce()
			if len(w.parked) == 0 {
				w.pause(time.Second)
			}
		case len(w.parked) == 0 || k == 5:
			w.pause(time.Duration(1+w.rng.IntN(4000)) * time.Millisecond)
		default:
			w.decide(w.parked[w.rng.IntN(len(w.parked))])
		}
	}
	return errors.New("the schedule does not end")
}

// quiesce waits until every goroutine is parked or waits for time to pass. The order of the parked calls is then made the
// schedule's, not the runtime's.
func (w *world) quiesce() {
	w.mu.Unlock()
	synctest.Wait()
	w.mu.Lock()
	slices.SortFunc(w.parked, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.inv.id, b.inv.id), cmp.Compare(a.part, b.part), cmp.Compare(a.seq, b.seq))
	})
}

// overdue lands what has to have landed by now and thaws whoever has stood still long enough.
func (w *world) overdue() bool {
	now := time.Now()
	if len(w.late) > 0 && !now.Before(w.late[0].by) {
		w.land(&w.late, 0)
		return true
	}
	for i, c := range w.frozen {
		if now.After(c.inv.deadline.Add(drain)) {
			w.frozen = slices.Delete(w.frozen, i, i+1)
			w.note("thaw %d/p%d %s", c.inv.id, c.part, c.name)
			c.verdict <- pass
			return true
		}
	}
	return false
}

// pause lets time pass, but not past the moment by which a late produce has landed.
func (w *world) pause(d time.Duration) {
	if len(w.late) > 0 {
		d = max(min(d, time.Until(w.late[0].by)), time.Millisecond)
	}
	w.note("pause %v", d)
	w.mu.Unlock()
	time.Sleep(d)
	w.mu.Lock()
}

func (w *world) land(queue *[]late, i int) {
	l := (*queue)[i]
	*queue = slices.Delete(*queue, i, i+1)
	l.apply()
	w.note("land p%d", l.part)
	w.watch(l.part)
}

// disturb lets a remote partition live its own life: replicate, compact, hold a marker of somebody's transaction.
func (w *world) disturb() {
	part := w.rng.IntN(len(w.parts))
	p := w.parts[part]
	switch w.rng.IntN(6) {
	case 0:
		if p.created {
			p.append(mirrortest.Control())
		}
	case 1:
		p.compact(w.rng.IntN(16))
	default:
		p.hw = p.end()
	}
	w.note("disturb p%d: high watermark %d of %d", part, p.hw, p.end())
}

// decide lets one parked call through, or something worse.
func (w *world) decide(c *call) {
	v, odds := pass, 8
	if c.name == "claim" || c.name == "topics" {
		odds = 40 // the most frequent calls: they would use up the faults of all others
	}
	if w.faults > 0 && w.rng.IntN(odds) == 0 {
		v = verdict(1 + w.rng.IntN(int(verdicts)-1))
		if v == echo && c.name != "claim" && c.name != "begin" && c.name != "commit" {
			v = pass
		} else {
			w.faults--
		}
	}
	w.count(c.name, v)
	w.note("%d/p%d %s: %s", c.inv.id, c.part, c.name, v)
	w.parked = slices.DeleteFunc(w.parked, func(o *call) bool { return o == c })
	var dying []*call
	if v == killBefore || v == killAfter { // the process dies, its other partitions with it
		c.inv.dead = true
		for _, o := range slices.Concat(w.parked, w.frozen) {
			if o.inv == c.inv {
				dying = append(dying, o)
			}
		}
		mine := func(o *call) bool { return o.inv == c.inv }
		w.parked, w.frozen = slices.DeleteFunc(w.parked, mine), slices.DeleteFunc(w.frozen, mine)
	}
	if v == freeze {
		w.frozen = append(w.frozen, c)
	}
	c.verdict <- v
	w.quiesce()
	for _, o := range dying {
		o.verdict <- killBefore
		w.quiesce()
	}
}

func (w *world) count(name string, v verdict) {
	row := w.hits[name]
	if row == nil {
		row = new([verdicts]int)
		w.hits[name] = row
	}
	row[v]++
}
