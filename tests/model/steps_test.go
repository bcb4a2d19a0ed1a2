package model

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/shared/watermark"
)

// next is a state that a step leads to, and the step's name.
type successor struct {
	world *world
	step  string
}

// successors are all that may happen next.
func (w *world) successors(source string, g guards) []successor {
	var all []successor
	add := func(step string, change func(c *world)) {
		c := w.clone()
		change(c)
		all = append(all, successor{c, step})
	}
	if int(w.hw) < len(w.log) {
		add("replicate", func(c *world) { c.hw = int8(len(c.log)) })
	}
	for i, f := range w.flying {
		add(fmt.Sprintf("land %c's", 'A'+f.producer), func(c *world) {
			c.flying = slices.Delete(c.flying, i, i+1)
			c.land(source, f)
		})
	}
	if e := w.echo; e != nil {
		add("commit once more", func(c *world) {
			c.echo = nil
			c.commit(*e, g)
		})
	}
	for i, m := range w.members {
		if m.stage == over {
			continue
		}
		if m.stage != claiming {
			add(owner(i)+" dies", func(c *world) { c.members[i].stage = over })
		}
		w.steps(i, source, g, add)
	}
	return all
}

// land appends a batch, unless its producer was fenced.
func (w *world) land(source string, f batch) {
	if w.fenced[f.producer] {
		return
	}
	for j := f.first; j < f.first+f.n; j++ {
		w.log, w.owners = append(w.log, source[j]), append(w.owners, f.producer)
	}
}

func (w *world) fence(producers [4]bool) {
	for p, foreign := range producers {
		if foreign {
			w.fenced[p] = true
			w.log, w.owners = append(w.log, marker), append(w.owners, -1)
		}
	}
}

// commit applies a commit by the rules.
func (w *world) commit(c watermark.Commit, g guards) bool {
	if g.commitFromAnyway {
		c.From = w.item.Next
	}
	s, err := w.item.Commit(c)
	if err == nil {
		w.back = w.back || s.Next < w.item.Next
		w.item = s
	}
	return err == nil
}

// steps are what invocation i may do.
func (w *world) steps(i int, source string, g guards, add func(string, func(*world))) {
	m, name := w.members[i], owner(i)
	switch m.stage {
	case claiming, reclaiming:
		w.claims(i, g, add)
	case fencing:
		add(name+" fences", func(c *world) {
			if !g.noFence {
				c.fence(m.foreign)
			}
			c.members[i].mark, c.members[i].stage = int8(len(c.log)), settling
		})
	case settling:
		if w.hw >= m.mark || g.tailTooEarly {
			add(name+" settles", func(c *world) { c.settle(i, source, g) })
		}
	case ending:
		add(name+" reads the end", func(c *world) {
			c.members[i].end, c.members[i].stage = int8(len(c.log)), beginning
			if g.beginAtHigh {
				c.members[i].end = c.hw
			}
		})
	case beginning:
		add(name+" begins", func(c *world) { c.begin(i, g) })
	case producing:
		for n := int8(1); int(m.next+n) <= len(source); n++ {
			add(fmt.Sprintf("%s hands %d over", name, n), func(c *world) {
				c.flying = append(c.flying, batch{int8(i), m.next, n})
				c.members[i].sent, c.members[i].stage = n, waiting
			})
		}
		if m.next > m.from && !g.plain {
			w.chunk(i, g, add)
		}
		add(name+" ends", func(c *world) { c.members[i].stage = committing })
	case waiting:
		w.outcomes(i, add)
	case committing, recommitting:
		w.commits(i, g, add)
	case over:
	}
}

func (w *world) claims(i int, g guards, add func(string, func(*world))) {
	claim := watermark.Claim{Owner: owner(i), Producer: int64(i), Now: moment(), Deadline: moment()}
	name := owner(i)
	take := func(c *world) (watermark.Grant, bool) {
		own := c.item.Owner == claim.Owner
		grant, err := c.item.Take(claim)
		if err != nil {
			return grant, false
		}
		c.item = grant.State
		if g.forgetForeign && !own {
			c.item.Producers = []int64{int64(i)}
		}
		if g.cleanByNonce && own {
			grant.Settle, grant.Foreign = false, nil
		}
		return grant, true
	}
	add(name+" claims", func(c *world) {
		grant, ok := take(c)
		c.members[i].granted(grant, ok)
	})
	if w.members[i].stage == claiming && !g.plain {
		add(name+" claims, the answer is lost", func(c *world) {
			take(c)
			c.members[i].stage = reclaiming
		})
	}
}

// granted takes over what a claim returned.
func (m *invocation) granted(g watermark.Grant, ok bool) {
	if !ok {
		m.stage = over
		return
	}
	m.epoch, m.next, m.from, m.down = int8(g.State.Epoch), int8(g.State.Next), int8(g.State.Next), int8(g.State.DownstreamNext)
	for _, id := range g.Foreign {
		m.foreign[id] = true
	}
	switch m.settle = g.Settle && g.State.Begun(); {
	case m.settle:
		m.stage = fencing
	case !g.State.Begun():
		m.stage = ending
	default:
		m.stage = producing
	}
}

func (w *world) settle(i int, source string, g guards) {
	m := &w.members[i]
	found := w.compare(source, m.next, m.down, g)
	m.next += int8(found.Matched)
	m.down, m.settle, m.stage = w.hw, false, producing
}

func (w *world) begin(i int, g guards) {
	m := &w.members[i]
	b := watermark.Begin{Epoch: int64(m.epoch), Owner: owner(i), DownstreamNext: int64(m.end)}
	if g.beginByAnybody && w.item.DownstreamNext == watermark.None {
		b.Owner, b.Epoch = w.item.Owner, w.item.Epoch
	}
	s, err := w.item.Begin(b)
	if err != nil {
		if g.beginByAnybody {
			m.next, m.from, m.down, m.stage = 0, 0, int8(w.item.DownstreamNext), producing // it is there: go on
			return
		}
		m.stage = over
		return
	}
	w.item = s
	m.next, m.from, m.down, m.stage = 0, 0, m.end, producing
}

// outcomes are how a produce may end: acknowledged once it is replicated, or not known.
func (w *world) outcomes(i int, add func(string, func(*world))) {
	m, name := w.members[i], owner(i)
	mine := func(f batch) bool { return int(f.producer) == i }
	if flies := slices.ContainsFunc(w.flying, mine); !flies && !w.fenced[i] {
		last := int8(len(w.owners)) - 1
		for last >= 0 && w.owners[last] != int8(i) {
			last--
		}
		if last >= 0 && w.hw > last {
			add(name+" is acknowledged", func(c *world) {
				c.members[i].next += m.sent
				c.members[i].down, c.members[i].stage = last+1, producing
			})
		}
	}
	add(name+" gives up", func(c *world) { c.members[i].unknown, c.members[i].stage = true, committing })
}

func (w *world) commits(i int, g guards, add func(string, func(*world))) {
	m, name := w.members[i], owner(i)
	c := watermark.Commit{Owner: name, From: int64(m.from), State: w.item}
	s := &c.State
	s.Epoch, s.Next, s.DownstreamNext = int64(m.epoch), int64(m.next), int64(m.down)
	switch {
	case m.unknown && !g.dropUnknown:
		s.Owner, s.OwnerDeadline, s.Producers = name, moment(), []int64{int64(i)}
	default:
		s.Owner, s.Producers = "", nil
	}
	add(name+" commits", func(w *world) {
		w.commit(c, g)
		w.members[i].stage = over
	})
	if m.stage == committing && !g.plain {
		add(name+" commits, the answer is lost", func(w *world) {
			w.commit(c, g)
			w.members[i].stage = recommitting
		})
		if w.echo == nil {
			add(name+" commits, once more later", func(w *world) {
				w.commit(c, g)
				w.members[i].stage, w.echo = over, &c
			})
		}
	}
}

// chunk commits what is done and keeps the claim.
func (w *world) chunk(i int, g guards, add func(string, func(*world))) {
	m, name := w.members[i], owner(i)
	c := watermark.Commit{Owner: name, From: int64(m.from), State: w.item}
	s := &c.State
	s.Owner, s.OwnerDeadline, s.Producers = name, moment(), []int64{int64(i)}
	s.Epoch, s.Next, s.DownstreamNext = int64(m.epoch), int64(m.next), int64(m.down)
	apply := func(w *world) {
		w.members[i].from = m.next
		if !w.commit(c, g) {
			w.members[i].stage = over
		}
	}
	add(name+" commits a chunk", apply)
	if w.echo == nil {
		add(name+" commits a chunk, once more later", func(w *world) {
			apply(w)
			w.echo = &c
		})
	}
}

// finish lets one invocation without faults bring everything to its end, and says what is wrong then.
func (w *world) finish(source string, g guards) error {
	c := w.clone()
	last := len(c.members)
	grant, err := c.item.Take(watermark.Claim{Owner: owner(last), Producer: int64(last), Now: moment(), Deadline: moment()})
	if err != nil {
		return fmt.Errorf("the last claim: %w", err)
	}
	next, down := int8(grant.State.Next), int8(grant.State.DownstreamNext)
	if !grant.State.Begun() {
		next = 0
	} else if grant.Settle {
		var foreign [4]bool
		for _, id := range grant.Foreign {
			foreign[id] = true
		}
		if !g.noFence {
			c.fence(foreign)
		}
		if !g.tailTooEarly {
			c.hw = int8(len(c.log))
		}
		next += int8(c.compare(source, next, down, g).Matched)
	}
	if int(next) > len(source) {
		return fmt.Errorf("watermark %d passes the source's %d records", next, len(source))
	}
	c.log = append(c.log, source[next:]...)
	for _, f := range c.flying {
		c.land(source, f)
	}
	var got []byte
	for _, b := range c.log {
		if b != marker {
			got = append(got, b)
		}
	}
	if string(got) != source {
		return fmt.Errorf("the target holds %q, want %q", got, source)
	}
	return nil
}

// durable checks that the item's watermark passes nothing that is not replicated.
func (w *world) durable(source string) error {
	switch {
	case w.back:
		return errors.New("the watermark went back")
	case w.item.Next == watermark.None:
		return nil
	}
	n := int64(0)
	for _, b := range w.log[:w.hw] {
		if b != marker && n < int64(len(source)) && b == source[n] {
			n++
		}
	}
	if w.item.Next > n {
		return errors.New("the watermark passes what is not durable")
	}
	return nil
}
