package chaos

import (
	"fmt"

	"tidemark/shared/watermark"
)

// The oracle reads the clusters' logs, the dead letter queue and the items; it never asks the code under test. Tags rise
// over a partition's life, so a target that holds every record once and in order holds rising tags.

// missing says whether a record that the source still holds is neither on the target nor in the dead letter queue.
func (p *partition) missing(tag int64) bool {
	if _, ok := p.known[tag]; ok || p.letters[tag] > 0 {
		return false
	}
	return p.holds(tag)
}

// holds says whether a record is in the source's log as it is now.
func (p *partition) holds(tag int64) bool {
	for offset := p.log.start; offset < p.log.end(); offset++ {
		if p.log.tagOf(offset) == tag {
			return true
		}
	}
	return false
}

// witness checks an append to the target: nothing lands twice, nothing lands out of order, and nothing lands before a
// record that the source still holds and that precedes it.
func (w *world) witness(p *partition, tag, offset int64) {
	if at, again := p.known[tag]; again {
		if at >= 0 && !w.excused(p) {
			w.breaks("partition %d: record %d lands at %d, it stands at %d", p.index, tag, offset, at)
		}
		return
	}
	p.known[tag] = offset
	if p.wasCut && !p.holds(tag) {
		return // a delivery from before an unclean election may hold what the source has lost since, anywhere
	}
	if tag < p.newest && !w.excused(p) {
		w.breaks("partition %d: record %d lands at %d, behind record %d", p.index, tag, offset, p.newest)
	}
	p.newest = max(p.newest, tag)
	if p.untold = p.untold || p.cuts > 0 && p.shared && !p.comparable(p.log.end()); p.untold {
		return // the source was cut, and no copy was left to tell from where on
	}
	for o := p.log.start; o < p.log.end(); o++ {
		if before := p.log.tagOf(o); before >= 0 && before < tag && p.missing(before) {
			w.breaks("partition %d: record %d lands at %d, before record %d of offset %d", p.index, tag, offset, before, o)
		}
	}
}

// excused says whether the world made duplicates unavoidable: somebody else wrote among our records, or what an earlier
// owner left was gone on either side when it had to be told apart. The program must have said so, except where nothing
// can tell it: a remote topic that was deleted, made again and has grown past where the old one was.
func (w *world) excused(p *partition) bool {
	return p.wiped || (p.shared || p.thinned || p.expired || p.reborn || p.cuts > 0) && w.counts["DuplicatesPossible"] > 0
}

// watch checks after every state write that the watermark passed nothing that is not durable, and did not go back while
// the source did not.
func (w *world) watch(part int32) {
	s, p := w.item(part), w.parts[part]
	if !s.Begun() {
		return
	}
	if s.TopicID != p.log.id {
		return // of a log that is no more
	}
	if p.seen != s.TopicID {
		p.seen, p.watermark, p.floor = s.TopicID, s.Next, s.Next
	}
	if p.cuts > 0 { // what it says of the log as it was is for the end to compare
		last := s.Next - 1
		p.untold = p.untold || last >= p.log.start && last < p.log.end() && p.log.entries[last].kind == compacted
		return
	}
	for offset := p.log.start; offset < min(s.Next, p.log.end()); offset++ {
		tag := p.log.tagOf(offset)
		if tag < 0 || p.letters[tag] > 0 {
			continue
		}
		if at, ok := p.known[tag]; !ok || at >= p.hw {
			w.breaks("partition %d: watermark %d passes %d, which is not durable", part, s.Next, offset)
		}
	}
	if s.Next < p.watermark && !p.wiped {
		w.breaks("partition %d: watermark %d stood at %d before", part, s.Next, p.watermark)
	}
	p.watermark = s.Next
}

// check compares both logs, and the items and counts with them, when everything is over.
func (w *world) check() error {
	for part, p := range w.parts {
		if err := p.whole(w.item(int32(part))); err != nil {
			return fmt.Errorf("partition %d: %w", part, err)
		}
	}
	return w.counted()
}

func (p *partition) whole(s watermark.State) error {
	if p.untold || p.cuts > 0 && s.Stall != nil && s.Stall.Kind == watermark.NeedsPerson && !p.comparable(s.Next) {
		return nil // the source was truncated, and no copy is left to tell from where on
	}
	for offset := p.log.start; offset < p.log.stable; offset++ {
		if tag := p.log.tagOf(offset); tag >= 0 && p.missing(tag) {
			return fmt.Errorf("record %d at %d was never mirrored; the watermark stands at %d", tag, offset, s.Next)
		}
	}
	letters, held := int64(0), int64(0)
	for tag, n := range p.letters {
		if _, also := p.known[tag]; also && !p.shared {
			return fmt.Errorf("record %d is on the target and in the dead letter queue", tag)
		}
		letters += int64(n)
		if p.holds(tag) {
			held++
		}
	}
	last := int64(-1)
	for offset, c := range p.copies {
		if !c.record.Attrs.IsControl() && c.record.ProducerID != foreign {
			last = int64(offset)
		}
	}
	goal := p.log.goal()
	switch {
	case s.Owner != "" || len(s.Producers) > 0:
		return fmt.Errorf("a claim is left behind: owner %q, producers %d", s.Owner, s.Producers)
	case s.Stall != nil:
		return fmt.Errorf("stalled at %d: %s", s.Stall.Offset, s.Stall.Reason)
	case s.Next < goal || s.Next > p.log.stable:
		return fmt.Errorf("watermark %d, want %d, or up to %d", s.Next, goal, p.log.stable)
	case s.DownstreamNext < last+1:
		return fmt.Errorf("downstream next %d, the target's last record ends at %d", s.DownstreamNext, last+1)
	case s.Skips > letters || s.Skips < held: // one whose skip was not committed may be gone from the source when it is tried again
		return fmt.Errorf("%d skips in the item, %d records in the dead letter queue", s.Skips, letters)
	case s.Lost > 0 && !p.expired && !p.reborn:
		return fmt.Errorf("%d offsets were counted as lost, none was", s.Lost)
	case p.cuts == 0 && s.Lost < p.lostForGood(): // of a log that was cut and expired nobody can tell what it held
		return fmt.Errorf("%d offsets were counted as lost, %d records were", s.Lost, p.lostForGood())
	}
	return nil
}

// comparable says whether a copy is left of a record that the source holds below next.
func (p *partition) comparable(next int64) bool {
	for offset := p.log.start; offset < min(next, p.log.end()); offset++ {
		at, ok := p.known[p.log.tagOf(offset)]
		if ok && at >= p.base && at < p.end() && !p.copies[at].gone {
			return true
		}
	}
	return false
}

// lostForGood counts the records of the present log that expired before they were mirrored, from where mirroring it began.
func (p *partition) lostForGood() (n int64) {
	for offset := p.floor; offset < min(p.log.start, p.log.end()); offset++ {
		if e := p.log.entries[offset]; e.kind == data {
			if _, ok := p.known[e.record.ProducerID]; !ok && p.letters[e.record.ProducerID] == 0 {
				n++
			}
		}
	}
	return n
}
