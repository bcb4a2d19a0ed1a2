package checkpoint

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
)

// topicLog is an internal topic as a broker keeps it.
type topicLog struct {
	id         string
	start, end int64
	breakAt    int64 // a read ends with an error there; 0: it does not
	read       []int64
}

var errBroken = errors.New("connection reset")

// Extent implements Log.
func (l *topicLog) Extent(context.Context, mm2.TopicPartition) (string, int64, int64, error) {
	return l.id, l.start, l.end, nil
}

// Read implements Log.
func (l *topicLog) Read(_ context.Context, _ mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	return func(yield func([]*kgo.Record, error) bool) {
		for offset := from; offset < to; offset++ {
			if l.breakAt > 0 && offset == l.breakAt {
				yield(nil, errBroken)
				return
			}
			l.read = append(l.read, offset)
			if !yield([]*kgo.Record{{Offset: offset, Value: []byte{}}}, nil) {
				return
			}
		}
	}
}

func TestFeed(t *testing.T) {
	t.Parallel()
	l := &topicLog{id: "one", end: 3}
	f := feed{log: l, topic: "internal"}
	var held []int64
	read := func(want error, wantRead, wantHeld []int64) {
		t.Helper()
		l.read = nil
		_, err := f.read(t.Context(), func() { held = nil }, func(r *kgo.Record) error {
			held = append(held, r.Offset)
			return nil
		})
		if !errors.Is(err, want) || !slices.Equal(l.read, wantRead) || !slices.Equal(held, wantHeld) {
			t.Errorf("read %v, held %v, %v, want read %v, held %v, %v", l.read, held, err, wantRead, wantHeld, want)
		}
	}
	read(nil, []int64{0, 1, 2}, []int64{0, 1, 2})
	read(nil, nil, []int64{0, 1, 2})
	l.end = 5
	read(nil, []int64{3, 4}, []int64{0, 1, 2, 3, 4}) // only what is new
	l.end, l.breakAt = 9, 7
	read(errBroken, []int64{5, 6}, nil) // an incomplete read holds nothing
	l.breakAt = 0
	read(nil, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8}, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8})
	l.end = 4 // truncated
	read(nil, []int64{0, 1, 2, 3}, []int64{0, 1, 2, 3})
	l.id, l.end = "two", 6 // made again, and longer
	read(nil, []int64{0, 1, 2, 3, 4, 5}, []int64{0, 1, 2, 3, 4, 5})
	l.start, l.end = 8, 10 // retention passed what was read
	read(nil, []int64{8, 9}, []int64{8, 9})
}
