package offsetsync

// pair is a sync without the name of its partition.
type pair struct{ upstream, downstream int64 }

// slots is what is left of the syncs of one partition, all nil before the first one. Neighbours may be the same sync, and
// what makes two of them the same is identity, as in Java: two syncs with equal offsets are still two. With upstream
// offsets that rise, from 0 on, the slots hold to this:
//
//	A  slot 0 is the newest sync.
//	B  No step is too wide: for i < j and two syncs, slots[i].upstream <= slots[j].upstream + 2^j - 2^i.
//	C  No step is too narrow: for i < j and two syncs, slots[i].upstream >= slots[j].upstream + 2^max(i-2, 0).
//	D  slot 63 is the oldest sync that can be translated by: below 2^62 the first one, or the first since the source went back.
//
// B bounds what is read again: between slots i-1 and i fewer than 2^(i-1) upstream offsets are without a sync of their own.
// C leaves room for syncs of every age.
type slots [64]*pair

func (s *slots) fill(p *pair) {
	for i := range s {
		s[i] = p
	}
}

// add puts p into slot 0 and hands older syncs on to higher slots until a slot is met whose sync is still near enough to
// the slot below (OffsetSyncStore.updateSyncArray). From one slot to the next, the sync to hand on is the last one that
// fitted among those that the slots held before, from slot next on; a sync that fits nowhere is dropped.
func (s *slots) add(p *pair) {
	if s[0] == nil || p.upstream < s[0].upstream {
		s.fill(p)
		return
	}
	before := *s
	s[0] = p
	handed, next := p, 0
	for i := 1; i < len(s); i++ {
		for pass := true; pass && next < i; {
			old := before[next]
			apart := spaced(s[i-1], old, i-1)
			fits := apart && near(s[i-1], old, i-1, i) && (i+1 == len(s) || spaced(old, s[i+1], i))
			if fits {
				handed = old
			}
			// The same sync in the slot above has its turn there; one too close to the slot below will not get farther from it.
			pass = old == before[next+1] || !apart
			if fits || pass {
				next++
			}
		}
		if near(s[i-1], s[i], i-1, i) {
			return
		}
		s[i] = handed
	}
}

// near is invariant B for a in slot i and b in slot j; of a sync and itself it is true. A bound that comes out negative is
// one past the largest offset. At j = 63 the shift itself wraps around, in Go as in Java.
func near(a, b *pair, i, j int) bool {
	bound := b.upstream + 1<<j - 1<<i
	return bound < 0 || a.upstream <= bound
}

// spaced is invariant C for a in slot i and b in any higher one; of a sync and itself it is true. A bound that comes out
// negative is one past the largest offset, which no sync reaches.
func spaced(a, b *pair, i int) bool {
	bound := b.upstream + 1<<max(i-2, 0)
	return a == b || bound >= 0 && a.upstream >= bound
}

// newest is the newest sync at or below upstream, the first slot's that is; nil if there is none.
func (s *slots) newest(upstream int64) *pair {
	for _, p := range s {
		if p.upstream <= upstream {
			return p
		}
	}
	return nil
}

// place is where a group at upstream goes on by a sync at or below it: at its record, or behind it. What lies between the two
// may be read again. Without a sync the group is too far back.
func (p *pair) place(upstream int64) Place {
	switch {
	case p == nil:
		return Place{Downstream: -1}
	case p.upstream == upstream:
		return Place{Downstream: p.downstream}
	}
	return Place{Downstream: p.downstream + 1, Again: upstream - p.upstream - 1}
}
