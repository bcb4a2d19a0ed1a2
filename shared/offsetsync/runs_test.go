package offsetsync_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"tidemark/shared/offsetsync"
)

func TestRunIsExact(t *testing.T) {
	t.Parallel()
	var r offsetsync.Runs
	r.Extend(0, 100, 10, true)
	r.Extend(10, 110, 5, true) // the same run
	r.Extend(16, 115, 4, true) // a marker upstream at 15
	r.Extend(20, 121, 2, true) // two markers downstream
	for _, test := range []struct{ upstream, want, again int64 }{
		{0, 100, 0}, {14, 114, 0}, {15, 115, 0}, {16, 115, 0}, {19, 118, 0}, {20, 121, 0}, {22, 123, 0}, {40, 123, 18},
	} {
		if got, again, ok := r.Translate(test.upstream); !ok || got != test.want || again != test.again {
			t.Errorf("Translate(%d) = %d, %d, %t, want %d, %d", test.upstream, got, again, ok, test.want, test.again)
		}
	}
	coded, _ := r.AppendBinary(nil)
	const golden = "01" + "00643c" + "010011" + "000209"
	if got := hex.EncodeToString(coded); got != golden {
		t.Errorf("coding = %s, want %s", got, golden)
	}
	r.Fold(8)
	if got, again, _ := r.Translate(17); got > 116 || again < 116-got {
		t.Errorf("Translate(17) of the folded list = %d, at most %d again, want at most 116", got, again)
	}
}

// TestFlippedByte wants every other coding to be refused or to mean something else.
func TestFlippedByte(t *testing.T) {
	t.Parallel()
	var r offsetsync.Runs
	r.Extend(5, 100, 300, true)
	r.Extend(400, 500, 7, false)
	coded, _ := r.AppendBinary(nil)
	for i := range coded {
		for bit := range 8 {
			flipped := bytes.Clone(coded)
			flipped[i] ^= 1 << bit
			var other offsetsync.Runs
			if err := other.UnmarshalBinary(flipped); err != nil {
				continue
			}
			if again, _ := other.AppendBinary(nil); !bytes.Equal(again, flipped) {
				t.Errorf("bit %d of byte %d flipped: decoded as %x", bit, i, again)
			}
		}
	}
}

// FuzzUnmarshalRuns: no input panics; what is accepted is encoded to the same bytes; what is refused changes nothing.
func FuzzUnmarshalRuns(f *testing.F) {
	for _, seed := range []string{"", "01", "0100643c010011000209", "81", "02", "01ffffffffffffffffff01"} {
		b, _ := hex.DecodeString(seed)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r offsetsync.Runs
		r.Extend(1, 2, 3, true)
		before, _ := r.AppendBinary(nil)
		err := r.UnmarshalBinary(b)
		after, _ := r.AppendBinary(nil)
		if err != nil && !bytes.Equal(before, after) {
			t.Errorf("%x was refused (%v) and changed the list", b, err)
		}
		if err == nil && !bytes.Equal(b, after) {
			t.Errorf("%x was accepted and is encoded as %x", b, after)
		}
		for c := range int64(20) {
			r.Translate(c)
			r.Inverse(c)
		}
		r.Fold(10)
	})
}
