package checkpoint

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
	"tidemark/shared/watermark"
)

var histories = flag.Uint64("histories", 20_000, "how many histories TestHistories plays")

// history is both logs of one partition, told naively, the item, and the offset-syncs topic that passes and MM2 write.
type history struct {
	rng    *rand.Rand
	source []*copied // nil: a hole
	target int64     // end of the target's log
	firm   bool      // whether the target never loses its end
	others int64     // upstream end of what MM2 mirrored
	sent   int       // upstream end of what was mirrored of this source

	item  watermark.State
	runs  offsetsync.Runs
	short int // bytes of the item's list
	topic []*kgo.Record
	store *offsetsync.Store // of a warm process; nil: none
	read  int               // of the topic, by it
	late  []*kgo.Record     // syncs that a pass planned and has not written yet: it was held up
	steps strings.Builder

	cut bool // a log was cut
}

// copied is one record of the source.
type copied struct {
	copies []int64 // where it stands on the target, rising
}

func newHistory(seed uint64) *history {
	h := &history{rng: rand.New(rand.NewPCG(seed, 0)), item: watermark.New(mm2.TopicPartition{Topic: "t"})}
	h.target, h.firm = h.rng.Int64N(6), h.rng.IntN(2) == 0
	h.short = []int{20, 40, 60, 512}[h.rng.IntN(4)]
	h.item.Next, h.item.DownstreamNext, h.item.TopicID = 0, h.target, "id-0"
	return h
}

func (h *history) note(format string, args ...any) { fmt.Fprintf(&h.steps, format+"\n", args...) }

// step does one of the things that happen to a partition.
func (h *history) step() {
	switch k := h.rng.IntN(40); {
	case k < 8:
		for range 1 + h.rng.IntN(8) {
			h.source = append(h.source, new(copied))
		}
	case k < 12:
		h.source = append(h.source, make([]*copied, 1+h.rng.IntN(3))...)
	case k < 24:
		h.mirror(1 + h.rng.IntN(30))
	case k < 26:
		h.target += 1 + h.rng.Int64N(3)
		h.note("foreign records or markers up to %d", h.target)
	case k < 33:
		h.pass()
	case k == 33:
		h.note("another process")
		h.store, h.read = nil, 0
	case k == 34:
		h.compact()
	case k == 35 && h.others == 0: // MM2's bare syncs do not tell one log from the next
		h.cutSource()
	case k == 36 && !h.firm:
		h.cutTarget()
	case k == 37:
		h.again()
	case k == 38 && !h.cut:
		h.takenOver()
	default:
		h.heldUp()
	}
}

// copyTo mirrors the next record of the source, by whoever, and returns false where there is none.
func (h *history) copyTo(next *int64) (upstream, downstream int64, ok bool) {
	for upstream = *next; int(upstream) < len(h.source) && h.source[upstream] == nil; {
		upstream++
	}
	if int(upstream) >= len(h.source) {
		return 0, 0, false
	}
	downstream = h.target
	h.source[upstream].copies = append(h.source[upstream].copies, downstream)
	*next, h.target = upstream+1, h.target+1
	h.sent = max(h.sent, int(*next))
	return upstream, downstream, true
}

// mirror is what the mirror function does to the item.
func (h *history) mirror(n int) {
	h.item.Epoch++
	for range n {
		u, d, ok := h.copyTo(&h.item.Next)
		if !ok {
			break
		}
		h.runs.Extend(u, d, 1, true)
		h.item.DownstreamLast, h.item.DownstreamNext = d, d+1
		if h.rng.IntN(12) == 0 { // a marker between two batches
			h.target++
		}
	}
	h.runs.Fold(h.short, h.short/2)
	h.note("mirrored: next %d, downstream %d", h.item.Next, h.item.DownstreamLast)
}

// snapshot is the item as a pass reads it.
func (h *history) snapshot() watermark.State {
	s := h.item
	s.Runs, _ = h.runs.AppendBinary(nil) // never an error
	return s
}

// refresh reads what is new in the topic, all of it in a new process.
func (h *history) refresh() {
	if h.store == nil {
		h.store, h.read = offsetsync.New(), 0
	}
	for ; h.read < len(h.topic); h.read++ {
		_ = take(h.store, h.topic[h.read]) // what cannot be decoded is ignored
	}
	h.store.Loaded()
}

// pass writes what is due and reads it back.
func (h *history) pass() {
	h.refresh()
	for _, tp := range Outdated([]watermark.State{h.snapshot()}, h.store) {
		h.store.Doubt(tp)
	}
	for _, due := range DueSyncs([]watermark.State{h.snapshot()}, h.store) {
		r, err := due.Record("syncs")
		if err != nil {
			panic(err)
		}
		if h.rng.IntN(20) == 0 { // of a later version
			r.Headers[0].Value = append([]byte{9}, r.Headers[0].Value...)
		}
		h.topic = append(h.topic, r)
		h.note("sync %d:%d", due.Upstream, due.Downstream)
	}
	h.refresh()
}

// heldUp lets a pass plan now and write later, beside its successor, or write what it planned once.
func (h *history) heldUp() {
	if len(h.late) > 0 {
		h.topic = append(h.topic, h.late...)
		h.late = nil
		h.note("a pass that was held up writes")
		return
	}
	h.refresh()
	for _, due := range DueSyncs([]watermark.State{h.snapshot()}, h.store) {
		if last, ok := h.store.Newest(h.item.Partition); ok && due.Upstream < last.Upstream {
			return // as long as it is held up, its lease is gone: only syncs that go on do no harm then
		}
		r, _ := due.Record("syncs")
		h.late = append(h.late, r)
	}
}

// compact leaves the newest sync, and perhaps some more.
func (h *history) compact() {
	last := len(h.topic) - 1
	h.topic = slices.DeleteFunc(slices.Clone(h.topic), func(r *kgo.Record) bool { return r != h.topic[last] && h.rng.IntN(3) > 0 })
	h.store = nil
	h.note("compacted to %d syncs", len(h.topic))
}

// cutSource truncates the source, or makes it again; the mirror function notices at once.
func (h *history) cutSource() {
	at := int64(len(h.source) - min(len(h.source), h.rng.IntN(30)))
	if h.rng.IntN(5) == 0 {
		at = 0
		h.item.TopicID += "'"
	}
	h.source, h.cut = h.source[:at], true
	if h.late = nil; h.item.Next > at || h.sent > int(at) {
		h.sent = int(at)
		h.runs.Cut(at)
		h.item.Next, h.item.DownstreamLast = at, watermark.None
		h.item.Epoch++
	}
	h.note("source cut at %d", at)
}

// cutTarget truncates the target, or makes it again; the mirror function notices when it writes.
func (h *history) cutTarget() {
	h.target -= min(h.target, h.rng.Int64N(30))
	if h.rng.IntN(3) == 0 {
		h.target = 0
	}
	for _, r := range h.source {
		if r != nil {
			r.copies = slices.DeleteFunc(r.copies, func(at int64) bool { return at >= h.target })
		}
	}
	h.runs.CutDownstream(h.target)
	h.item.DownstreamLast = min(h.item.DownstreamLast, h.target-1)
	h.late, h.cut = nil, true
	h.note("target cut at %d", h.target)
	for range 3 { // it is written on, and synced, before anybody asks
		h.source = append(h.source, new(copied))
	}
	h.mirror(len(h.source))
	h.pass()
}

// back is a position at most n offsets before the item's. It stops at a record that the target has lost: to fill such a one in
// after others breaks the order that translation rests on (offsetsync.Runs.Extend). On a target that loses its end it stops at
// what MM2 mirrored too: of two copies that no list knows, the newer one may go while the older one stays.
func (h *history) back(n int) int64 {
	next := h.item.Next
	for n = h.rng.IntN(n); n > 0 && next > 0 && (h.firm || next > h.others); n-- {
		if r := h.source[next-1]; r != nil && len(r.copies) == 0 {
			break
		}
		next--
	}
	return next
}

// again sets the position back by hand: records are sent twice, all that were sent once.
func (h *history) again() {
	h.item.Next, h.item.DownstreamLast = h.back(20), watermark.None
	h.note("position set back to %d", h.item.Next)
	h.mirror(h.sent - int(h.item.Next) + h.rng.IntN(5))
}

// takenOver lets MM2 go on where the mirror function stopped, or a bit before, after a last pass, and then the mirror function
// again. MM2 syncs at its first record, now and then, and at its last one.
func (h *history) takenOver() {
	h.pass()
	next, last := h.back(4), mm2.OffsetSync{Upstream: -1}
	for n := h.sent - int(next) + h.rng.IntN(30); n > 0; n-- {
		u, d, ok := h.copyTo(&next)
		if !ok {
			break
		}
		first := last.Upstream < 0
		if last = (mm2.OffsetSync{TopicPartition: h.item.Partition, Upstream: u, Downstream: d}); first || h.rng.IntN(4) == 0 {
			h.bare(last)
		}
	}
	if last.Upstream < 0 {
		return
	}
	h.bare(last)
	if next > h.item.Next {
		h.runs.Tear()
	}
	h.item.Next, h.item.DownstreamLast, h.item.DownstreamNext = max(h.item.Next, next), watermark.None, h.target
	h.item.Epoch++
	h.late, h.others = nil, max(h.others, next)
	h.note("MM2 mirrored up to %d, downstream %d", next, h.target)
}

func (h *history) bare(sync mm2.OffsetSync) {
	key, _ := sync.Key()
	h.topic = append(h.topic, &kgo.Record{Key: key, Value: sync.Value()})
}

// check compares every translation with both logs: never past a record that the group has not read, at most so many records
// again as it says, rising with the upstream offset, and exact in each run of the newest header.
func (h *history) check() error {
	h.refresh()
	if _, listed := h.store.Header(h.item.Partition); !listed && h.cut {
		return nil // bare syncs do not tell the log before from this one
	}
	before := int64(-1)
	for c := range int64(len(h.source)) + 3 {
		place, ok := h.store.Locate(h.item.Partition, c)
		if !ok || place.Downstream < 0 {
			continue
		}
		again := int64(0)
		for u, r := range h.source {
			if r == nil || len(r.copies) == 0 {
				continue
			}
			if int64(u) >= c && r.copies[len(r.copies)-1] < place.Downstream {
				return fmt.Errorf("Locate(%d) = %+v, past record %d, which stands at %d", c, place, u, r.copies)
			}
			if int64(u) < c && r.copies[0] >= place.Downstream {
				again++
			}
		}
		if again > place.Again || place.Downstream < before {
			return fmt.Errorf("Locate(%d) = %+v: %d are read again; a lower offset is at %d", c, place, again, before)
		}
		before = place.Downstream
	}
	return h.exact()
}

func (h *history) exact() error {
	header, ok := h.store.Header(h.item.Partition)
	if !ok || header.TopicID != h.item.TopicID {
		return nil
	}
	for s := range header.Runs.Stretches() {
		for u := s.Upstream; s.UpstreamGaps+s.DownstreamGaps == 0 && u < s.Upstream+s.UpstreamLen; u++ {
			if place, _ := h.store.Locate(h.item.Partition, u); place != (offsetsync.Place{Downstream: s.Downstream + u - s.Upstream}) {
				return fmt.Errorf("Locate(%d) = %+v, in the run %+v", u, place, s)
			}
		}
	}
	return nil
}

// TestHistories plays random histories of both logs and of the offset-syncs topic: holes, foreign records and markers, a source
// that is cut or made again, a target that is, restarts of the pass, compaction of the topic, lists that have to fit into few
// bytes, records sent twice, MM2 in between, damaged headers, and a pass that writes late. After each pass every translation is
// compared with a scan of both logs.
func TestHistories(t *testing.T) {
	t.Parallel()
	for seed := range *histories {
		h := newHistory(seed)
		for range 5 + h.rng.IntN(40) {
			h.step()
		}
		h.pass()
		if err := h.check(); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, &h.steps)
		}
	}
}
