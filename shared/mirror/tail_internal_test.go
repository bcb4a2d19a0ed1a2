package mirror

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror/mirrortest"
)

// log makes what is visible of a target from offset from on, one letter an offset: a letter is a record, "|" a control
// record, "." an offset compacted away.
func log(from int64, letters string) []*kgo.Record {
	var all []*kgo.Record
	for i, letter := range letters {
		var r *kgo.Record
		switch letter {
		case '.':
			continue
		case '|':
			r = mirrortest.Control()
		default:
			r = &kgo.Record{Value: []byte(string(letter)), Timestamp: time.UnixMilli(5)}
		}
		r.Offset = from + int64(i)
		all = append(all, r)
	}
	return all
}

func TestCompare(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		start         int64 // the target's log start; DownstreamNext is 10
		visible       string
		pending       string
		matched       int
		doubt         bool
		mostPositions int
	}{
		{"nothing there", 0, "", "abc", 0, false, 0},
		{"all there", 0, "abc", "abc", 3, false, 3},
		{"a part", 0, "ab", "abc", 2, false, 2},
		{"a control record takes no position", 0, "|a|b", "aab", 1, true, 2},
		{"control records only", 0, "||", "aab", 0, false, 0},
		{"a compacted record takes a position", 0, "a.c", "abc", 3, false, 3},
		{"identical neighbours, one compacted", 0, "a.a", "aaab", 3, false, 3},
		{"a foreign record", 0, "axb", "abc", 1, true, 3},
		{"foreign from the start", 0, "xabc", "abc", 0, true, 4},
		{"more than is pending", 0, "abcd", "abc", 3, true, 4},
		{"expired: nothing visible counts for nothing", 13, "", "abc", 0, true, 3},
		{"expired: the smallest shift that fits", 12, "a", "aaa", 1, true, 3},
		{"expired: hidden records are counted when only that fits", 12, "c", "abc", 3, true, 3},
		{"expired: no shift fits", 12, "x", "abc", 0, true, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			from := max(test.start, 10)
			l := Tail{From: 10, Start: test.start, End: from + int64(len(test.visible)), Visible: log(from, test.visible)}
			got := l.Compare(log(0, test.pending))
			if got.Matched != test.matched || got.Doubt != test.doubt {
				t.Errorf("Compare = %d, doubt %t, want %d, doubt %t", got.Matched, got.Doubt, test.matched, test.doubt)
			}
			if n := l.Positions(); n != test.mostPositions {
				t.Errorf("Positions = %d, want %d", n, test.mostPositions)
			}
		})
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	base := func() *kgo.Record {
		return &kgo.Record{
			Key: []byte("k"), Value: []byte("v"), Timestamp: time.UnixMilli(7),
			Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}, {Key: "h", Value: nil}},
		}
	}
	for name, change := range map[string]func(*kgo.Record){
		"key":                 func(r *kgo.Record) { r.Key = []byte("K") },
		"null key":            func(r *kgo.Record) { r.Key = nil },
		"empty value":         func(r *kgo.Record) { r.Value = []byte{} },
		"timestamp":           func(r *kgo.Record) { r.Timestamp = time.UnixMilli(8) },
		"header name":         func(r *kgo.Record) { r.Headers[0].Key = "H" },
		"header value":        func(r *kgo.Record) { r.Headers[0].Value = []byte("2") },
		"null header value":   func(r *kgo.Record) { r.Headers[1].Value = []byte{} },
		"order of headers":    func(r *kgo.Record) { r.Headers[0], r.Headers[1] = r.Headers[1], r.Headers[0] },
		"one header the less": func(r *kgo.Record) { r.Headers = r.Headers[:1] },
	} {
		other := base()
		change(other)
		if Same(other, base()) {
			t.Errorf("another %s: the records are the same, want a difference", name)
		}
		if string(digest(other)) == string(digest(base())) {
			t.Errorf("another %s: the digests are the same, want a difference", name)
		}
	}
	if one, other := digest(base()), digest(base()); !Same(base(), base()) || string(one) != string(other) {
		t.Error("equal records differ")
	}
}

func TestTimestampsOfTheBrokerAreNotCompared(t *testing.T) {
	t.Parallel()
	source := &kgo.Record{Key: []byte("k"), Value: []byte("v"), Timestamp: time.UnixMilli(7)}
	appended := mirrortest.LogAppendTime(&kgo.Record{Key: source.Key, Value: source.Value, Timestamp: time.UnixMilli(99)})
	if !Same(appended, source) {
		t.Error("a record of a LogAppendTime topic differs from its source by its timestamp")
	}
}

func TestGatherCountsHeaders(t *testing.T) {
	t.Parallel()
	value := make([]byte, 1<<20)
	yielded := 0
	all, whole, err := gather(func(yield func([]*kgo.Record, error) bool) {
		for range 4 * tailBytes >> 20 {
			yielded++
			if !yield([]*kgo.Record{{Headers: []kgo.RecordHeader{{Key: "h", Value: value}}}}, nil) {
				return
			}
		}
	})
	if whole || err != nil || len(all) >= tailBytes>>20 || yielded > tailBytes>>20 {
		t.Errorf("gather = %d records of 1 MiB after %d, whole %t, %v, want less than %d", len(all), yielded, whole, err, tailBytes>>20)
	}
}

func TestSearchForAShiftIsBounded(t *testing.T) {
	t.Parallel()
	const hidden = 40_000
	l := Tail{From: 10, Start: 10 + hidden, End: 12 + hidden, Visible: log(10+hidden, "ab")}
	pending := make([]*kgo.Record, hidden)
	for i := range pending {
		pending[i] = &kgo.Record{Value: []byte("a"), Timestamp: time.UnixMilli(5)}
	}
	copy(pending[mostShifts+1:], log(0, "ab"))
	if got := l.Compare(pending); got.Matched != 0 || !got.Doubt {
		t.Errorf("Compare past %d shifts = %d, doubt %t, want 0 in doubt", mostShifts, got.Matched, got.Doubt)
	}
	copy(pending[mostShifts:], log(0, "abb"))
	if got := l.Compare(pending); got.Matched != mostShifts+2 {
		t.Errorf("Compare at %d shifts = %d, want %d", mostShifts, got.Matched, mostShifts+2)
	}
}
