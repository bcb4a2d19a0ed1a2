package handover

import (
	"iter"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"tidemark/shared/mirror"
)

// history is what an MM2 that crashes and starts again has made of a source partition.
type history struct {
	source []*kgo.Record
	target []*kgo.Record // as it was written, by offset
	gone   map[int]bool  // compacted away since
	even   place         // behind its oldest sync
	sent   int64         // source offsets below it are on the target
}

func draw(r *rapid.T) history {
	kinds := rapid.SampledFrom([]int{2, 1000}).Draw(r, "kinds")
	var h history
	for offset := range int64(rapid.IntRange(2, 30).Draw(r, "records")) {
		if rapid.IntRange(0, 5).Draw(r, "hole") == 0 {
			continue
		}
		value := int(offset)
		if kinds == 2 {
			value = rapid.IntRange(0, 1).Draw(r, "value")
		}
		h.source = append(h.source, &kgo.Record{Offset: offset, Value: []byte(strconv.Itoa(value))})
	}
	if len(h.source) == 0 {
		h.source = []*kgo.Record{{Value: []byte("0")}}
	}
	h.gone, h.even = map[int]bool{}, place{-1, -1}
	add := func(c kgo.Record) {
		c.Offset = int64(len(h.target))
		h.target = append(h.target, &c)
	}
	at, noted := 0, 0
	for range rapid.IntRange(1, 4).Draw(r, "runs of MM2") {
		if at > noted {
			at = rapid.IntRange(noted, at).Draw(r, "starts again at")
		}
		for i := range rapid.IntRange(1, 12).Draw(r, "sends") { // it always syncs the first
			if rapid.IntRange(0, 9).Draw(r, "foreign") == 0 {
				add(kgo.Record{Value: []byte("foreign")})
			}
			if at == len(h.source) {
				break
			}
			add(kgo.Record{Value: h.source[at].Value})
			at++
			h.sent = max(h.sent, h.source[at-1].Offset+1)
			if h.even.next < 0 && (i == 0 || rapid.IntRange(0, 4).Draw(r, "sync") == 0) {
				h.even = place{h.source[at-1].Offset + 1, int64(len(h.target)) - 1}
			}
			if rapid.IntRange(0, 4).Draw(r, "note") == 0 {
				noted = at
			}
		}
	}
	for i := int(h.even.last) + 1; i < len(h.target); i++ {
		if rapid.IntRange(0, 12).Draw(r, "compacted away") == 0 {
			h.gone[i] = true
		}
	}
	return h
}

func one[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// TestFollow: whatever is passed over stands on the target in the source's order; and where nothing was compacted away,
// nothing that MM2 has sent is left over.
func TestFollow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		h := draw(r)
		if h.even.next < 0 {
			return
		}
		var spans []mirror.Span
		for _, s := range h.source {
			if s.Offset >= h.even.next {
				spans = append(spans, mirror.Span{Records: []*kgo.Record{s}})
			}
		}
		var visible [][]*kgo.Record
		for i, c := range h.target {
			if int64(i) > h.even.last && !h.gone[i] {
				visible = append(visible, []*kgo.Record{c})
			}
		}
		got, err := follow(one(spans), one(visible), h.even)
		if err != nil {
			r.Fatal(err)
		}
		position := int(h.even.last) + 1
		for _, s := range h.source {
			if s.Offset < h.even.next || s.Offset >= got.next {
				continue
			}
			for position < len(h.target) && (h.gone[position] || !mirror.Same(h.target[position], s)) {
				position++
			}
			if position == len(h.target) {
				r.Fatalf("record %d is passed over, and is not on the target; next %d", s.Offset, got.next)
			}
			position++
		}
		if len(h.gone) == 0 && got.next < h.sent {
			r.Fatalf("next %d, MM2 has sent everything below %d", got.next, h.sent)
		}
	})
}
