package kafkaevent

import (
	"bytes"
	"strings"
	"testing"

	"tidemark/shared/mirror"
)

// TestDecodeInPlace overwrites the payload behind Decode's back: bytes change, strings do not.
func TestDecodeInPlace(t *testing.T) {
	t.Parallel()
	payload := eventOf(recordOf(`,"key":"QUJD","value":"` + strings.Repeat("QUJD", 50) + `","headers":[{"name":[1,2,3]},{"e\u0073c":[4]}]`))
	deliveries, err := Decode(payload)
	if err != nil {
		t.Fatal(err)
	}
	for i := range payload {
		payload[i] = '#'
	}
	want := `t-0 = t 0
  5: "###" -> "` + strings.Repeat("#", 150) + `" @1 "name"="###" "esc"="#"
`
	if got := dump(deliveries); got != want {
		t.Errorf("Decode, payload overwritten = %s, want %s", got, want)
	}
}

// TestDecodeResultsAreApart appends to every slice that Decode returns: none may reach into another.
func TestDecodeResultsAreApart(t *testing.T) {
	t.Parallel()
	payload := appendEvent(nil, corpus(200, 100))
	deliveries, err := Decode(payload)
	if err != nil {
		t.Fatal(err)
	}
	want := dump(deliveries)
	overrun := strings.Repeat("#", 300)
	for _, d := range deliveries {
		_ = append(d.Offsets, -7)
		_ = append(d.Records, nil)
		for _, r := range d.Records {
			_, _ = append(r.Key, overrun...), append(r.Value, overrun...)
			_ = append(r.Headers, r.Headers...)
			for _, h := range r.Headers {
				_ = append(h.Value, overrun...)
			}
		}
	}
	if got := dump(deliveries); got != want {
		t.Errorf("deliveries change when their slices are appended to")
	}
}

// TestDecodeManyRecords crosses every slab's chunks.
func TestDecodeManyRecords(t *testing.T) {
	t.Parallel()
	for _, records := range []int{4, firstChunk, firstChunk + 1, 1000, 5000} {
		want := corpus(records, 20)
		deliveries, err := Decode(appendEvent(nil, want))
		if got, want := dump(deliveries), dump(want); err != nil || got != want {
			t.Errorf("Decode(%d records) = %v and other records than were written", records, err)
		}
	}
}

// TestDecodeAllocations bounds the allocations of a whole event: chunks that double, and a few for each partition.
func TestDecodeAllocations(t *testing.T) {
	for _, size := range []int{100, 1000} {
		original := appendEvent(nil, corpus(1000, size))
		payload := bytes.Clone(original)
		var deliveries []mirror.Delivery
		got := testing.AllocsPerRun(20, func() {
			copy(payload, original)
			deliveries, _ = Decode(payload)
		})
		if len(deliveries) != 4 || got > 50 {
			t.Errorf("Decode(1000 records of %d B) = %v allocations, %d partitions, want at most 50, 4", size, got, len(deliveries))
		}
	}
}
