package mirror

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kgo"
)

// mostShifts bounds the search for a shift, which compares the tail anew for each. Past it duplicates are possible, and
// counted, as when no shift fits.
const mostShifts = 1000

// Tail is what a log of the target holds at From (inclusive) to End (exclusive): the log starts at Start, and Visible are
// the records left there, control records among them.
type Tail struct {
	From, Start, End int64
	Visible          []*kgo.Record
}

// Match is the result of a comparison.
type Match struct {
	Matched int     // how many pending records are on the target, from the first on
	At      []int64 // where each of them stands; -1 for one that is gone again (compacted, expired)
	Doubt   bool    // a record that cannot be ours, or records that cannot be seen: duplicates are possible
}

// Positions is how many records of ours the tail holds at most.
func (l Tail) Positions() int {
	n := max(l.End-l.From, 0)
	for _, r := range l.Visible {
		if r.Attrs.IsControl() {
			n--
		}
	}
	return int(n)
}

// Compare compares by position. A control record takes none; a missing offset (compacted away) takes one. When the log
// starts past From, the offsets below it may have held records or markers: the smallest shift at which everything visible
// matches is taken, never a larger one, for that could pass over a record that is not there.
func (l Tail) Compare(pending []*kgo.Record) Match {
	hidden := max(min(l.Start, l.End)-l.From, 0)
	if hidden == 0 {
		found, whole := l.shifted(pending, 0)
		found.Doubt = !whole
		return found
	}
	for shift := range min(hidden, mostShifts) + 1 {
		if found, whole := l.shifted(pending, int(shift)); whole {
			found.Doubt = true
			return found
		}
	}
	return Match{Doubt: true}
}

// shifted compares what is visible with the pending records from shift on. It returns what is proven by the last that
// matched, and whether everything visible matched.
func (l Tail) shifted(pending []*kgo.Record, shift int) (found Match, whole bool) {
	position, expected := shift, max(l.From, l.Start)
	at := make([]int64, 0, len(pending))
	for _, r := range l.Visible {
		position += int(r.Offset - expected) // compacted away
		expected = r.Offset + 1
		if r.Attrs.IsControl() {
			continue
		}
		if position >= len(pending) || !Same(r, pending[position]) {
			return found, false
		}
		for len(at) < position {
			at = append(at, -1)
		}
		at = append(at, r.Offset)
		position++
		found = Match{Matched: position, At: at}
	}
	return found, true
}

// Same says whether a record of the target is the copy of one of the source. It compares everything that mirroring keeps. The timestamp of a LogAppendTime topic is the broker's own.
func Same(target, source *kgo.Record) bool {
	if !sameBytes(target.Key, source.Key) || !sameBytes(target.Value, source.Value) || len(target.Headers) != len(source.Headers) {
		return false
	}
	const logAppendTime = 1
	if target.Attrs.TimestampType() != logAppendTime && target.Timestamp.UnixMilli() != source.Timestamp.UnixMilli() {
		return false
	}
	for i, h := range target.Headers {
		if h.Key != source.Headers[i].Key || !sameBytes(h.Value, source.Headers[i].Value) {
			return false
		}
	}
	return true
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
