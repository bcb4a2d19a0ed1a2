package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/mm2"
)

// walk reads a partition by raw Fetch requests to its leader. A consumer would not do: its default reset hides that the
// offsets are gone, and it does not tell a control or compacted offset from one that it has not reached. Here the position
// after an answer is the last offset of its last batch + 1, whatever that batch holds.
type walk struct {
	cluster   *cluster
	tp        mm2.TopicPartition
	isolation int8    // 0 read_uncommitted, 1 read_committed
	control   bool    // whether control records are wanted
	leader    *leader // nil until it is asked for
}

// read yields what stands at from (inclusive) to to (exclusive). to must not be past what the isolation level can see, or
// the walk ends with ctx.
func (w *walk) read(ctx context.Context, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	return func(yield func([]*kgo.Record, error) bool) {
		for position := from; position < to; {
			records, next, err := w.fetch(ctx, position)
			if err != nil {
				yield(nil, fmt.Errorf("fetch %s at %d: %w", w.tp, position, err))
				return
			}
			for len(records) > 0 && records[len(records)-1].Offset >= to {
				records = records[:len(records)-1]
			}
			if len(records) > 0 && !yield(records, nil) {
				return
			}
			position = next
		}
	}
}

// fetch returns the records of one answer and the position after it, which is position itself when there was nothing yet.
func (w *walk) fetch(ctx context.Context, position int64) (records []*kgo.Record, next int64, err error) {
	err = w.cluster.ask(ctx, w.tp, &w.leader, func(l leader) error {
		const wait, most = 500, 1 << 20
		answer, err := w.request(ctx, l, position, wait, most)
		if err != nil {
			return err
		}
		opts := kgo.ProcessFetchPartitionOpts{
			KeepControlRecords: w.control, Offset: position, IsolationLevel: kgo.ReadUncommitted(), Topic: w.tp.Topic, Partition: w.tp.Partition,
		}
		if w.isolation == 1 {
			opts.IsolationLevel = kgo.ReadCommitted()
		}
		var fetched kgo.FetchPartition
		fetched, next = kgo.ProcessFetchPartition(opts, answer, kgo.DefaultDecompressor(), nil)
		records = fetched.Records
		return fetched.Err
	})
	return records, next, err
}

// request fetches at position, at most so many bytes unless the first batch is larger, and waits so many milliseconds for
// something to be there.
func (w *walk) request(ctx context.Context, l leader, position int64, wait, most int32) (*kmsg.FetchResponseTopicPartition, error) {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = w.tp.Partition, position, most, l.epoch
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = w.tp.Topic, l.topic, append(t.Partitions, p)
	request := kmsg.NewPtrFetchRequest()
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes, request.IsolationLevel = wait, 1, math.MaxInt32, w.isolation
	request.Topics = append(request.Topics, t)
	raw, err := w.cluster.request(ctx, l, request)
	if err != nil {
		return nil, err
	}
	answer := raw.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return nil, err
	}
	for _, t := range answer.Topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			return p, denied(kerr.ErrorForCode(p.ErrorCode), read, w.tp.Topic)
		}
	}
	return nil, errors.New("empty answer")
}
