package offsetsync_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"maps"
	"math/rand/v2"
	"testing"

	"tidemark/shared/offsetsync"
)

var histories = flag.Int("histories", 20_000, "how many random histories of both logs to play")

// flow is both logs of one partition, and the runs that mirroring it notes.
type flow struct {
	rng    *rand.Rand
	copies []int64       // by upstream offset: where its copy stands; -1: the offset holds nothing; -2: nobody noted its copy
	last   map[int]int64 // of what was sent again, where its newest copy stands
	target int64         // end of the target's log
	runs   offsetsync.Runs
}

// play mirrors a random history: holes upstream, markers and foreign records downstream, records whose copies are not
// noted, double sends, truncation of either log, restarts, and a list that has to fit into few bytes.
func play(t *testing.T, seed uint64) *flow {
	t.Helper()
	f := &flow{rng: rand.New(rand.NewPCG(seed, 1)), last: map[int]int64{}}
	f.target = f.rng.Int64N(5)
	for range 1 + f.rng.IntN(30) {
		switch f.rng.IntN(12) {
		case 0, 1: // a hole
			for range 1 + f.rng.IntN(3) {
				f.copies = append(f.copies, -1)
			}
		case 2, 3:
			f.target += 1 + f.rng.Int64N(3)
		case 4:
			f.copies = append(f.copies, -2) // somebody else mirrored it
			f.target++
		case 5:
			f.cutSource()
		case 6:
			f.sendAgain()
		case 7:
			coded, err := f.runs.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			f.runs = offsetsync.Runs{}
			if err := f.runs.UnmarshalBinary(coded); err != nil {
				t.Fatalf("seed %d: decode what was encoded: %v", seed, err)
			}
		case 8:
			f.runs.Fold(4 + f.rng.IntN(40))
		default:
			f.mirror(1 + f.rng.Int64N(6))
		}
	}
	return f
}

// mirror copies n new records. What lies before them that nobody noted leaves a gap without an explanation.
func (f *flow) mirror(n int64) {
	from := int64(len(f.copies))
	explained := true
	for u := from - 1; u >= 0 && f.copies[u] < 0; u-- {
		explained = explained && f.copies[u] != -2
	}
	for i := range n {
		f.copies = append(f.copies, f.target+i)
	}
	f.runs.Extend(from, f.target, n, explained)
	f.target += n
}

func (f *flow) cutSource() {
	at := f.rng.IntN(len(f.copies) + 1)
	f.copies = f.copies[:at]
	maps.DeleteFunc(f.last, func(u int, _ int64) bool { return u >= at })
	f.runs.Cut(int64(at))
}

// sendAgain copies the newest records once more; the first copies stay.
func (f *flow) sendAgain() {
	n := int64(0)
	for u := len(f.copies) - 1; u >= 0 && f.copies[u] >= 0 && n < 4; u-- {
		n++
	}
	for i := range n {
		f.last[len(f.copies)-int(n-i)] = f.target + i
	}
	if n > 0 {
		f.runs.Extend(int64(len(f.copies))-n, f.target, n, true)
		f.target += n
	}
}

// TestRunsAgainstBothLogs compares every translation with the logs: never past a record that the group has not read, not
// further back than it says, and rising with the position.
func TestRunsAgainstBothLogs(t *testing.T) {
	t.Parallel()
	exact := 0
	for seed := range uint64(*histories) {
		f := play(t, seed)
		before := int64(-1)
		for c := range int64(len(f.copies)) + 3 {
			got, again, ok := f.runs.Translate(c)
			if !ok {
				continue
			}
			unread, twice := int64(1<<62), int64(0)
			for u, copied := range f.copies {
				if int64(u) >= c && copied >= 0 {
					unread = min(unread, max(copied, f.last[u]))
				}
				if int64(u) < c && copied >= got {
					twice++
				}
			}
			if got > unread || twice > again || got < before {
				t.Fatalf("seed %d: Translate(%d) = %d, at most %d again, want at most %d, %d are read again; the one before was %d",
					seed, c, got, again, unread, twice, before)
			}
			if before = got; again == 0 {
				exact++
			}
		}
		f.inverse(t, seed)
	}
	if exact < *histories {
		t.Errorf("%d exact translations in %d histories: the histories prove nothing", exact, *histories)
	}
}

// inverse checks the way back: never past a record whose copy was not read.
func (f *flow) inverse(t *testing.T, seed uint64) {
	t.Helper()
	for d := range f.target + 2 {
		got, ok := f.runs.Inverse(d)
		if !ok {
			continue
		}
		for u, copied := range f.copies {
			if int64(u) < got && copied >= d {
				t.Fatalf("seed %d: Inverse(%d) = %d, past record %d whose copy at %d was not read", seed, d, got, u, copied)
			}
		}
	}
}

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
