package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Headers that say where a record in the dead letter queue comes from, and why it is there. The names are Kafka Connect's
// (Java: DeadLetterQueueReporter).
const (
	headerTopic     = "__connect.errors.topic"
	headerPartition = "__connect.errors.partition"
	headerOffset    = "__connect.errors.offset"
	headerReason    = "__connect.errors.exception.message"
)

// bury writes a record that the target refuses for good to the dead letter queue, and commits that it is passed over
// before anything behind it is sent. A crash between the two repeats the record there, never leaves it out. The queue's
// records are nobody's to settle, so it has a producer of its own.
func (t *Task) bury(ctx context.Context, p *progress, refused *RefusedError, r *kgo.Record) error {
	queue := t.options.DeadLetter
	if err := t.target.Ensure(ctx, queue, 1); err != nil {
		return fmt.Errorf("create dead letter queue %s: %w", queue, err)
	}
	producer, err := t.target.Producer(ctx)
	if err != nil {
		return fmt.Errorf("producer of dead letter queue: %w", err)
	}
	defer producer.Release()
	source := p.state.Partition
	letter := &kgo.Record{
		Topic: queue, Key: r.Key, Value: r.Value, Timestamp: r.Timestamp,
		Headers: append(slices.Clone(r.Headers),
			kgo.RecordHeader{Key: headerTopic, Value: []byte(source.Topic)},
			kgo.RecordHeader{Key: headerPartition, Value: strconv.AppendInt(nil, int64(source.Partition), 10)},
			kgo.RecordHeader{Key: headerOffset, Value: strconv.AppendInt(nil, refused.Offset, 10)},
			kgo.RecordHeader{Key: headerReason, Value: []byte(refused.Reason)}),
	}
	if _, err := producer.Produce(ctx, []*kgo.Record{letter}); err != nil {
		return fmt.Errorf("write record %d to dead letter queue %s: %w", refused.Offset, queue, err)
	}
	return t.skip(ctx, p, refused.Offset, r)
}

// buryFirst buries the first record of what was to be sent, if the broker refused it alone. The producer that saw the
// refusal sends nothing more: what follows comes again.
func (t *Task) buryFirst(ctx context.Context, p *progress, err error, piece Piece) error {
	var refused *RefusedError
	if !errors.As(err, &refused) || t.options.DeadLetter == "" {
		return nil
	}
	i, _ := slices.BinarySearch(piece.Offsets, refused.Offset)
	return t.bury(ctx, p, refused, piece.Records[i])
}

// skip commits that a record is passed over.
func (t *Task) skip(ctx context.Context, p *progress, offset int64, r *kgo.Record) error {
	p.state.Next, p.state.NextDigest, p.moved = offset+1, digest(r), true
	p.state.Skips++
	p.state.Stall = nil
	p.passLosses()
	p.start()
	if err := t.goOn(ctx, p); err != nil {
		return err
	}
	t.options.Metrics.Add(RecordsSkipped, 1)
	return nil
}
