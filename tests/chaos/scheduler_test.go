package chaos

import (
	"cmp"
	"errors"
	"slices"
	"testing/synctest"
	"time"
)

// run plays the schedule: the world with its faults first, then, with faults over, what is left to do.
func (w *world) run() error {
	const most = 3_000
	w.mu.Lock() // the scheduler has the world to itself, except in quiesce and pause
	defer w.mu.Unlock()
	for range min(30+w.rng.IntN(250), w.plan.length) {
		if w.turn(); w.broken != nil {
			return w.broken
		}
	}
	w.faults, w.upheaval, w.generous, w.over = 0, 0, true, true
	w.note("faults are over")
	for len(w.echoes) > 0 {
		w.land(&w.echoes, 0)
	}
	for _, p := range w.parts {
		p.log.stable = p.log.end() // open transactions end
	}
	if !w.until(most, w.idleNow) {
		return errors.Join(w.broken, errors.New("the schedule does not end"))
	}
	for pass := range 3 { // what the trigger still brings, then two passes
		w.pause(20 * time.Minute) // no parked partition is left alone any more
		for range 20 {
			if pass > 0 || !w.bringRest() {
				break
			}
			if !w.until(most, w.idleNow) {
				return errors.Join(w.broken, errors.New("the trigger's invocations do not end"))
			}
		}
		if pass == 0 {
			if err := w.explained(); err != nil {
				return err
			}
			continue
		}
		for part := range w.parts {
			w.catchUp(int32(part), true)
		}
		if !w.until(most, w.idleNow) {
			return errors.Join(w.broken, errors.New("the passes do not end"))
		}
	}
	for len(w.late) > 0 && w.broken == nil { // whatever still lands must have been fenced
		w.land(&w.late, 0)
	}
	if w.broken != nil {
		return w.broken
	}
	return w.check()
}

// bringRest lets the trigger bring what it has not brought yet; false when there is nothing.
func (w *world) bringRest() bool {
	var batch []brought
	for part, p := range w.parts {
		if b := w.fetch(int32(part), p); p.position < p.log.stable && len(b.offsets) > 0 {
			batch = append(batch, b)
		}
	}
	w.start(batch)
	return len(batch) > 0
}

// idleNow says whether nothing is under way.
func (w *world) idleNow() bool { return w.live+w.internal.running == 0 }

// until takes turns until done; false when that takes too many, or an invariant breaks.
func (w *world) until(most int, done func() bool) bool {
	for range most {
		w.quiesce()
		if done() || w.broken != nil {
			return w.broken == nil
		}
		w.turn()
	}
	return false
}

// turn lets one thing happen.
func (w *world) turn() {
	w.quiesce()
	for _, p := range w.parts {
		if w.over { // followers are well
			p.hw, p.lag, p.log.lag, p.shortage = p.end(), 0, 0, shortage{}
		}
	}
	switch k := w.rng.IntN(32); {
	case w.overdue():
	case k < 2 && len(w.late) > 0:
		w.land(&w.late, w.rng.IntN(len(w.late)))
	case (k == 2 || k > 28) && len(w.echoes) > 0:
		w.land(&w.echoes, w.rng.IntN(len(w.echoes)))
	case k <= 4:
		w.disturb(w.rng.IntN(len(w.parts)))
	case k == 5 && w.upheaval > 0:
		part := w.rng.IntN(len(w.parts))
		w.upheave(func() { w.upset(part) })
	case k == 6 && w.internal.running < 2 && w.internal.ticks < 4 && !w.over:
		w.read()
		w.tick()
	case !w.over && w.live+w.internal.running-len(w.frozen) < 3 && (len(w.parked) == 0 || k == 7) && !time.Now().Before(w.again):
		w.invoke()
		w.quiesce()
		if len(w.parked) == 0 {
			w.pause(time.Second)
		}
	case len(w.parked) == 0 || k == 8:
		longest := 4000
		if w.over {
			longest = 50
		}
		w.pause(time.Duration(1+w.rng.IntN(longest)) * time.Millisecond)
	default:
		w.decide(w.parked[w.rng.IntN(len(w.parked))])
	}
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
	slices.SortFunc(w.idle, func(a, b *process) int { return cmp.Compare(a.id, b.id) })
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

// decide lets one parked call through, or something worse.
func (w *world) decide(c *call) {
	v, odds := pass, 8
	switch c.name {
	case "claim", "topics", "producer": // the most frequent calls: they would use up the faults of all others
		odds = 40
	case "fence", "walk", "source ends", "target read", "ensure", "limits":
		odds = 4
	case "letter": // the least frequent
		odds = 2
	}
	if w.faults > 0 && w.rng.IntN(odds) == 0 {
		v = verdict(1 + w.rng.IntN(int(verdicts)-1))
		switch {
		case v == echo && !isWrite(c.name):
			v = pass
		case !w.happens():
			v = pass
			w.faults--
		default:
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

// isWrite says whether a call is a write of the state, which may reach the table twice.
func isWrite(call string) bool {
	return call == "claim" || call == "begin" || call == "commit" || call == "leave"
}

func (w *world) count(name string, v verdict) {
	row := w.hits.calls[name]
	if row == nil {
		row = new([verdicts]int)
		w.hits.calls[name] = row
	}
	row[v]++
}
