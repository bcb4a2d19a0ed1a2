package offsetsync_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"tidemark/shared/offsetsync"
)

// vectors are lists and their codings, byte by byte as docs/formats.md has it.
func vectors() map[string]offsetsync.Runs {
	torn := runs([3]int64{0, 100, 10})
	torn.Cut(10) // forgets nothing, but what comes after may be anything
	cut := runs([3]int64{0, 100, 10})
	cut.Cut(7)
	left := folded()
	left.CutDownstream(115)
	gap := runs([3]int64{5, 100, 300})
	gap.Extend(400, 500, 7, false)
	return map[string]offsetsync.Runs{
		"":                                        {},
		"01" + "00643c" + "010011" + "000209":     runs([3]int64{0, 100, 10}, [3]int64{10, 110, 5}, [3]int64{16, 115, 4}, [3]int64{20, 121, 2}),
		"01" + "0564b009" + "5f641c":              gap,
		"01" + "00647a0203":                       folded(),
		"81" + "006428":                           torn,
		"c1" + "0108000000" + "00641c":            cut,
		"c1" + "0100741173":                       left,
		"01" + "feffffffffffffff1f" + "00" + "04": runs([3]int64{1<<61 - 2, 0, 1}),
		"01" + "0000" + "fcffffffffffffff7f":      runs([3]int64{0, 0, 1<<61 - 1}),
	}
}

func TestCodingVectors(t *testing.T) {
	t.Parallel()
	for want, r := range vectors() {
		coded, err := r.AppendBinary([]byte("before"))
		if got := hex.EncodeToString(bytes.TrimPrefix(coded, []byte("before"))); err != nil || got != want {
			t.Errorf("coding of %q = %s, %v, want %s", text(&r), got, err, want)
		}
		b, _ := hex.DecodeString(want)
		decoded := runs([3]int64{1, 2, 3})
		if err := decoded.UnmarshalBinary(b); err != nil || text(&decoded) != text(&r) {
			t.Errorf("decoding of %s = %q, %v, want %q", want, text(&decoded), err, text(&r))
		}
		if again, _ := decoded.AppendBinary(nil); !bytes.Equal(again, b) {
			t.Errorf("%s was decoded and is encoded as %x", want, again)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"no version":                     "00",
		"a later version":                "02" + "00643c",
		"a version alone":                "01",
		"half a number":                  "01" + "80",
		"half a stretch":                 "01" + "0064",
		"half of the gaps":               "01" + "00647a02",
		"a longer way to write a number": "01" + "8000643c",
		"a number past 64 bits":          "01" + "ffffffffffffffffff7f" + "00" + "04",
		"a number past 63 bits":          "01" + "ffffffffffffffffff01" + "00" + "04",
		"an upstream offset past 2^61":   "01" + "8080808080808080" + "20" + "00" + "04",
		"an upstream end past 2^61":      "01" + "ffffffffffffffff1f" + "00" + "04",
		"a downstream end past 2^61":     "01" + "00" + "ffffffffffffffff1f" + "04",
		"a second end past 2^61":         "01" + "000004" + "ffffffffffffffff1f" + "00" + "04",
		"no length":                      "01" + "0064" + "00",
		"gaps that are none":             "01" + "00647a0000",
		"no record":                      "01" + "00647a1e01",
		"a first gap that is explained":  "01" + "00643d",
		"cut never":                      "41" + "0001000000" + "006428",
		"cut nowhere":                    "41" + "0100000000" + "006428",
		"half a cut":                     "41" + "0101",
		"downstream gaps past 2^61":      "01" + "00647a02" + "ffffffffffffffff7f",
	}
	for name, coded := range tests {
		b, err := hex.DecodeString(coded)
		if err != nil {
			t.Fatal(err)
		}
		r := runs([3]int64{1, 2, 3})
		if err := r.UnmarshalBinary(b); !errors.Is(err, offsetsync.ErrCoding) {
			t.Errorf("%s: decoding of %s = %q, %v, want ErrCoding", name, coded, text(&r), err)
		}
		if text(&r) != "1+3:2+3" {
			t.Errorf("%s: the list is %q now, want it as it was", name, text(&r))
		}
	}
}

// Every coding but the right one is refused or is another list: one list has one coding.
func TestFlippedBit(t *testing.T) {
	t.Parallel()
	for want := range vectors() {
		coded, _ := hex.DecodeString(want)
		for bit := range 8 * len(coded) {
			flipped := bytes.Clone(coded)
			flipped[bit/8] ^= 1 << (bit % 8)
			var r offsetsync.Runs
			if err := r.UnmarshalBinary(flipped); err != nil {
				continue
			}
			if again, _ := r.AppendBinary(nil); !bytes.Equal(again, flipped) {
				t.Errorf("bit %d of %s flipped: accepted, and encoded as %x", bit, want, again)
			}
		}
	}
}

// FuzzUnmarshalRuns: no input panics; what is accepted is encoded to the same bytes, holds no negative number, rises on both
// sides, and translates by offsets of its own; what is refused changes nothing; everything else works on what is accepted.
func FuzzUnmarshalRuns(f *testing.F) {
	for coded := range vectors() {
		b, _ := hex.DecodeString(coded)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := runs([3]int64{1, 2, 3})
		if err := r.UnmarshalBinary(b); err != nil {
			if text(&r) != "1+3:2+3" || !errors.Is(err, offsetsync.ErrCoding) {
				t.Fatalf("%x was refused (%v) and left %q", b, err, text(&r))
			}
			return
		}
		if again, _ := r.AppendBinary(nil); !bytes.Equal(again, b) {
			t.Fatalf("%x was accepted and is encoded as %x", b, again)
		}
		checkStretches(t, &r)
		use(t, &r)
	})
}

// checkStretches wants stretches that rise and hold together.
func checkStretches(t *testing.T, r *offsetsync.Runs) {
	t.Helper()
	var upstream, downstream int64
	for s := range r.Stretches() {
		least := min(s.UpstreamGaps, s.DownstreamGaps, s.Upstream-upstream, s.Downstream-downstream, s.UpstreamLen-s.UpstreamGaps-1)
		if least < 0 || s.UpstreamLen-s.UpstreamGaps != s.DownstreamLen-s.DownstreamGaps {
			t.Fatalf("stretch %+v after %d, %d", s, upstream, downstream)
		}
		upstream, downstream = s.Upstream+s.UpstreamLen, s.Downstream+s.DownstreamLen
		for _, c := range []int64{s.Upstream, upstream - 1, upstream} {
			if got, again, ok := r.Translate(c); !ok || got < s.Downstream || again < 0 {
				t.Fatalf("Translate(%d) by %q = %d, %d, %t", c, text(r), got, again, ok)
			}
		}
		for _, d := range []int64{s.Downstream, downstream - 1, downstream} {
			if got, ok := r.Inverse(d); !ok || got < s.Upstream {
				t.Fatalf("Inverse(%d) by %q = %d, %t", d, text(r), got, ok)
			}
		}
	}
}

// use does everything with a list of any offsets, and wants lists that hold together.
func use(t *testing.T, r *offsetsync.Runs) {
	t.Helper()
	coded, _ := r.AppendBinary(nil)
	other := func() offsetsync.Runs {
		var o offsetsync.Runs
		if err := o.UnmarshalBinary(coded); err != nil {
			t.Fatal(err)
		}
		return o
	}
	short := runs([3]int64{3, 4, 5}, [3]int64{1 << 60, 1 << 59, 7})
	for _, m := range []offsetsync.Runs{offsetsync.Merge(*r, short), offsetsync.Merge(short, *r), offsetsync.Merge(*r, *r)} {
		checkStretches(t, &m)
	}
	for _, change := range []func(*offsetsync.Runs){
		func(o *offsetsync.Runs) { o.Fold(10, 0) },
		func(o *offsetsync.Runs) { o.Cut(1 << 20); o.Extend(5, 6, 100, true) },
		func(o *offsetsync.Runs) { o.CutDownstream(1 << 20); o.Extend(5, 6, 100, true) },
		func(o *offsetsync.Runs) { o.Extend(math.MaxInt64, math.MaxInt64, math.MaxInt64, true) },
		func(o *offsetsync.Runs) { o.Extend(1<<60, 1<<60, 1<<59, false) },
	} {
		o := other()
		change(&o)
		checkStretches(t, &o)
		changed, _ := o.AppendBinary(nil)
		if err := o.UnmarshalBinary(changed); err != nil {
			t.Fatalf("%x was changed to %x, which is not decoded: %v", coded, changed, err)
		}
	}
}
