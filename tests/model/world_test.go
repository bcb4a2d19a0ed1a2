package model

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mirror/mirrortest"
	"tidemark/shared/watermark"
)

// marker is a control record in the model's logs; anything else is the content of a record.
const marker = '|'

// stage is what an invocation does next.
type stage uint8

const (
	claiming   stage = iota
	reclaiming       // its claim was applied, and the answer lost: the client repeats it
	fencing
	settling
	ending // reads the target's log end for the first contact
	beginning
	producing
	waiting // for the acknowledgement of what it handed over
	committing
	recommitting
	over
)

// invocation is one owner. Its own state is what it believes; only the item is the truth.
type invocation struct {
	stage   stage
	epoch   int8
	next    int8
	down    int8 // downstream next
	from    int8 // next as the item has it
	end     int8 // as read for the first contact
	mark    int8 // log end behind its fence
	sent    int8 // records of the batch that is under way
	settle  bool
	unknown bool
	foreign [4]bool // producers to fence
}

// batch is what was handed over and has not been appended: n records from first on.
type batch struct{ producer, first, n int8 }

// world is a state of the search.
type world struct {
	item    watermark.State
	log     []byte // the target's
	owners  []int8 // who appended each offset; -1 for a marker
	hw      int8
	fenced  [4]bool
	flying  []batch
	echo    *watermark.Commit // a commit that arrives once more
	members []invocation
	back    bool // the item's watermark went back
}

func (w *world) clone() *world {
	c := *w
	c.item.Producers = slices.Clone(w.item.Producers)
	c.log, c.owners, c.flying, c.members = slices.Clone(w.log), slices.Clone(w.owners), slices.Clone(w.flying), slices.Clone(w.members)
	return &c
}

// key tells states apart.
func (w *world) key() string {
	b := make([]byte, 0, 128)
	s := w.item
	b = append(b, byte(s.Epoch), byte(len(s.Owner)), byte(len(s.Producers)), byte(s.Next), byte(s.DownstreamNext), byte(w.hw), byte(len(w.log)), byte(len(w.flying)))
	b = append(b, s.Owner...)
	for _, id := range s.Producers {
		b = append(b, byte(id))
	}
	b = append(b, w.log...)
	for _, o := range w.owners {
		b = append(b, byte(o))
	}
	for _, f := range w.flying {
		b = append(b, byte(f.producer), byte(f.first), byte(f.n))
	}
	b = append(appendBools(b, w.fenced), bit(w.back))
	if e := w.echo; e != nil {
		b = append(b, 1, byte(len(e.Owner)), byte(e.From), byte(e.State.Epoch), byte(e.State.Next), byte(e.State.DownstreamNext), byte(len(e.State.Owner)), byte(len(e.State.Producers)))
		b = append(b, e.Owner...)
	}
	for _, m := range w.members {
		b = append(b, byte(m.stage), byte(m.epoch), byte(m.next), byte(m.down), byte(m.from), byte(m.end), byte(m.mark), byte(m.sent))
		b = appendBools(b, m.foreign)
		b = append(b, bit(m.settle), bit(m.unknown))
	}
	return string(b)
}

func appendBools(b []byte, all [4]bool) []byte {
	var bits uint16
	for i, set := range all {
		bits |= uint16(bit(set)) << i
	}
	return binary.BigEndian.AppendUint16(b, bits)
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// guards are what a variant switches off.
type guards struct {
	plain bool // no answers are lost, nothing arrives once more, no chunks: a smaller world for more invocations

	noFence          bool // nothing is fenced
	tailTooEarly     bool // the tail is read before the fence is below the high watermark
	forgetForeign    bool // a claim drops the producers that it finds
	dropUnknown      bool // a commit with an unknown outcome gives the claim back
	beginByAnybody   bool // the first contact is written if it is absent, whoever holds the claim
	beginAtHigh      bool // it takes the high watermark for the log end
	cleanByNonce     bool // a claim that shows its own nonce counts as clean
	markersCount     bool // a control record takes a position
	commitFromAnyway bool // a commit does not say where it starts from
}

// world is small: deadlines are always over, so that a claim may be taken at any moment.
func moment() time.Time { return time.UnixMilli(1) }

func owner(i int) string { return string(rune('A' + i)) }

// log as a raw read shows it, from an offset to the high watermark.
func (w *world) visible(from int8) []*kgo.Record {
	var all []*kgo.Record
	for i := max(from, 0); i < w.hw; i++ {
		r := &kgo.Record{Value: []byte{w.log[i]}, Timestamp: moment()}
		if w.log[i] == marker {
			r = mirrortest.Control()
		}
		r.Offset = int64(i)
		all = append(all, r)
	}
	return all
}

// pending are the source's records from an offset on.
func pending(source string, next int8) []*kgo.Record {
	var all []*kgo.Record
	for _, c := range []byte(source[next:]) {
		all = append(all, &kgo.Record{Value: []byte{c}, Timestamp: moment()})
	}
	return all
}

// compare is what settling finds.
func (w *world) compare(source string, next, down int8, g guards) mirror.Match {
	visible := w.visible(down)
	if g.markersCount {
		for i, r := range visible {
			if r.Attrs.IsControl() {
				visible[i] = &kgo.Record{Value: []byte{source[min(int(next)+i, len(source)-1)]}, Timestamp: moment(), Offset: r.Offset}
			}
		}
	}
	l := mirror.Tail{From: int64(down), End: int64(w.hw), Visible: visible}
	return l.Compare(pending(source, next))
}
