package checkpoint

import (
	"context"
	"fmt"
	"iter"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
)

// Log is a cluster that holds an internal topic.
type Log interface {
	// Extent returns the id of a partition's topic (empty on brokers older than 2.8) and the offsets that it holds, start
	// inclusive, end exclusive. A partition that does not exist is empty and has no id.
	Extent(ctx context.Context, tp mm2.TopicPartition) (topicID string, start, end int64, err error)
	// Read yields what stands at from (inclusive) to to (exclusive), in order, and returns when it knows that there is no
	// more of it. Reading less than that is an error, never a short answer.
	Read(ctx context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error]
}

// feed follows partition 0 of an internal topic, the only one that MM2 uses, by direct assignment and without a group. A
// warm process reads only what is new.
type feed struct {
	log   Log
	topic string

	id       string
	position int64 // next offset to read
}

// read brings everything from the last position up to the end as it is now to take. When the topic is not the one that
// was read before (deleted and made again, truncated, or shortened past the position) it calls forget first and reads
// from its start: what was learned from the old one may be wrong. Tombstones say nothing; records that take refuses are
// skipped and counted. An error means that the read is not complete, and that the next one starts anew.
func (f *feed) read(ctx context.Context, forget func(), take func(*kgo.Record) error) (skipped int, err error) {
	tp := mm2.TopicPartition{Topic: f.topic}
	id, start, end, err := f.log.Extent(ctx, tp)
	if err != nil {
		return 0, fmt.Errorf("ask for the ends of %s: %w", tp, err)
	}
	if id != f.id || end < f.position || start > f.position {
		forget()
		f.id, f.position = id, start
	}
	for records, err := range f.log.Read(ctx, tp, f.position, end) {
		if err != nil {
			f.id, f.position = "", 0
			forget()
			return skipped, fmt.Errorf("read %s up to %d: %w", tp, end, err)
		}
		for _, r := range records {
			if r.Attrs.IsControl() || r.Value == nil {
				continue
			}
			if take(r) != nil {
				skipped++
			}
		}
	}
	f.position = end
	return skipped, nil
}
