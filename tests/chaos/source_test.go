package chaos

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
)

// kind is what stands at an offset of a source log.
type kind uint8

const (
	data kind = iota
	control
	aborted
	compacted
)

// entry is one offset of a source log. The record of a data entry carries its tag in ProducerID, which nothing compares.
// Tags rise over a partition's whole life, through every log that it has.
type entry struct {
	kind   kind
	record *kgo.Record
}

// log is a source partition's log. The index of an entry is its offset.
type log struct {
	id      string
	start   int64
	stable  int64 // an open transaction hides what lies behind
	entries []entry
	lag     int64 // what a new leader does not show yet, counted from the end: its high watermark is behind
	moves   int   // how often leadership moved
}

// shown is the end of what a read_committed consumer sees.
func (l *log) shown() int64 { return max(min(l.stable, l.end()-l.lag), l.start) }

func (l *log) end() int64 { return int64(len(l.entries)) }

// tagOf is the tag of the record at an offset; -1 for none.
func (l *log) tagOf(offset int64) int64 {
	if offset < l.start || offset >= l.end() || l.entries[offset].kind != data {
		return -1
	}
	return l.entries[offset].record.ProducerID
}

// tags are those of the log's records by offset; -1 for none.
func (l *log) tags() []int64 {
	all := make([]int64, l.end())
	for offset := range all {
		all[offset] = l.tagOf(int64(offset))
	}
	return all
}

// goal is the offset behind the last record that has to be mirrored.
func (l *log) goal() int64 {
	for offset := l.stable - 1; offset >= l.start; offset-- {
		if l.entries[offset].kind == data {
			return offset + 1
		}
	}
	return l.start
}

// fill appends n offsets: records, now and then with markers and aborted records among them.
func (w *world) fill(p *partition, n int, transactional bool) {
	l := &p.log
	for range n {
		k := data
		if transactional && w.rng.IntN(3) == 0 {
			k = []kind{control, aborted, control}[w.rng.IntN(3)]
		}
		l.entries = append(l.entries, w.newEntry(p, l.end(), k))
	}
	l.stable = l.end()
}

func (w *world) newEntry(p *partition, offset int64, k kind) entry {
	if k != data {
		return entry{kind: k}
	}
	content := p.tags
	if p.kinds > 0 {
		content = w.rng.Int64N(p.kinds)
	}
	r := &kgo.Record{Offset: offset, ProducerID: p.tags, Timestamp: time.UnixMilli(content), Value: fmt.Appendf(nil, "%d of %d", content, p.lives)}
	if w.lowered && w.rng.IntN(12) == 0 {
		r.Value = fmt.Appendf(append(r.Value, make([]byte, limit)...), "%d", p.tags) // its tag tells it in the dead letter queue
		p.large[p.tags] = true
	}
	if w.rng.IntN(40) == 0 { // a record that the trigger never brings
		p.dropped[p.tags] = true
	}
	p.tags++
	return entry{kind: data, record: r}
}

// limit is what the target takes when its limit is low.
const limit = 500

func (l *log) walk(from, to int64) (mirror.Span, error) {
	switch {
	case from < l.start:
		return mirror.Span{}, &mirror.ExpiredError{Start: l.start}
	case from >= l.shown():
		return mirror.Span{}, mirror.ErrUnstable
	}
	s := mirror.Span{From: from, To: min(to, l.shown())}
	for _, e := range l.entries[s.From:s.To] {
		switch e.kind {
		case data:
			c := *e.record
			s.Records = append(s.Records, &c)
		case control:
			s.Control++
		case aborted:
			s.Aborted++
		case compacted:
			s.Compacted++
		}
	}
	return s, nil
}

// upset lets something happen to a source partition.
func (w *world) upset(part int) {
	p := w.parts[part]
	l := &p.log
	switch w.rng.IntN(9) {
	case 0:
		w.grow(part, p)
	case 7: // a consumer has seen what the new leader does not show yet
		l.moves++
		l.lag = w.rng.Int64N(l.end() - l.start + 1)
		w.event("source leader moves", part, "shows %d of %d", l.shown(), l.end())
	case 8:
		if len(w.parts) < mostParts {
			w.parts = append(w.parts, w.newPartition(false))
			w.event("partition added", len(w.parts)-1, "%d offsets", w.parts[len(w.parts)-1].log.end())
		}
	case 1: // retention
		if l.end() > l.start && p.kinds == 0 {
			l.start += 1 + w.rng.Int64N(l.end()-l.start)
			l.stable = max(l.stable, l.start)
			p.position = max(p.position, l.start)
			p.expired = true
			w.event("source expires", part, "log start %d of %d", l.start, l.end())
		}
	case 2:
		w.compactSource(part, p)
	case 3: // an open transaction
		if l.stable == l.end() {
			l.entries = append(l.entries, w.newEntry(p, l.end(), data), w.newEntry(p, l.end()+1, data))
			w.event("transaction opens", part, "stable up to %d of %d", l.stable, l.end())
		}
	case 4:
		w.recreate(part, p)
	case 5:
		w.truncate(part, p)
	case 6:
		w.fill(p, 1+w.rng.IntN(3), true)
		l.entries = append(l.entries, entry{kind: control})
		l.stable = l.end()
		w.event("transaction ends", part, "stable up to %d", l.stable)
	}
}

func (w *world) grow(part int, p *partition) {
	w.fill(p, 1+w.rng.IntN(8), w.rng.IntN(3) == 0)
	w.event("source grows", part, "end %d", p.log.end())
}

// compactSource removes records that are not the newest ones.
func (w *world) compactSource(part int, p *partition) {
	l, n := &p.log, 0
	if p.kinds > 0 {
		return
	}
	for offset := l.start; offset < l.stable-2; offset++ {
		if l.entries[offset].kind == data && w.rng.IntN(3) == 0 {
			l.entries[offset].kind = compacted
			n++
			if p.cuts > 0 && offset == w.item(int32(part)).Next-1 {
				p.untold = true // it alone may have told a log that was cut from the one before
			}
		}
	}
	p.thinned = p.thinned || n > 0
	w.event("source compacts", part, "%d records", n)
}

// recreate deletes the topic's log and makes it again, shorter, equal or longer. A running consumer goes on where it was
// if it can, one that starts anew begins at the start.
func (w *world) recreate(part int, p *partition) {
	// Once, for a delivery from two logs back cannot be told from one of the last; and not before the first contact, for
	// until then nothing is known of the log that a delivery was read from.
	if p.reborn || !w.item(int32(part)).Begun() {
		return
	}
	was := p.log.end()
	p.lives++
	p.cuts = 0
	p.log = log{id: fmt.Sprint("id-", p.lives)}
	w.fill(p, w.rng.IntN(int(was)+12), w.rng.IntN(4) == 0)
	p.reborn = true
	if p.position >= p.log.end() || w.rng.IntN(2) == 0 {
		p.position = 0
	}
	w.event("topic made again", part, "%d offsets, %d before, id %s, trigger at %d", p.log.end(), was, p.log.id, p.position)
}

// truncate cuts the log as an unclean election does, and lets it grow again. What the new log says in place of the old may
// be the same for a while: a producer that sends again. A consumer steps back to the cut.
func (w *world) truncate(part int, p *partition) {
	l := &p.log
	if l.end()-l.start < 2 {
		return
	}
	cut := l.start + w.rng.Int64N(l.end()-l.start)
	old := l.entries[cut:]
	p.lives++
	l.entries = l.entries[:cut:cut]
	same := true
	for i := range w.rng.IntN(len(old) + 6) {
		e := w.newEntry(p, l.end(), data)
		switch again := i < len(old) && old[i].kind == data && w.rng.IntN(4) == 0; {
		case again && same: // nobody can tell it from the one before
			e = old[i]
		default:
			same = false
		}
		l.entries = append(l.entries, e)
	}
	l.stable = l.end()
	for offset := cut; offset < l.end(); offset++ { // a consumer steps back; if the trigger dropped the first that differs, nothing would show
		delete(p.dropped, l.tagOf(offset))
		if i := offset - cut; i >= int64(len(old)) || old[i].kind != data || l.tagOf(offset) != old[i].record.ProducerID {
			break
		}
	}
	p.cuts, p.wasCut = p.cuts+1, true
	p.position = min(p.position, cut)
	w.event("source truncated", part, "at %d of %d, then up to %d: records %d", cut, int(cut)+len(old), l.end(), l.tags())
}
