package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

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
	isolation int8 // 0 read_uncommitted, 1 read_committed
	control   bool // whether control records are wanted

	leader  int32
	topicID [16]byte
}

// read yields what stands at from (inclusive) to to (exclusive). to must not be past what the isolation level can see, or
// the walk ends with ctx.
func (w *walk) read(ctx context.Context, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	return func(yield func([]*kgo.Record, error) bool) {
		for position := from; position < to; {
			fetched, next, err := w.fetch(ctx, position)
			if err != nil {
				yield(nil, fmt.Errorf("fetch %s at %d: %w", w.tp, position, err))
				return
			}
			records := fetched.Records
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

// fetch makes one Fetch request, again where the leader has moved.
func (w *walk) fetch(ctx context.Context, position int64) (kgo.FetchPartition, int64, error) {
	for {
		answer, err := w.request(ctx, position)
		if err == nil {
			err = kerr.ErrorForCode(answer.ErrorCode)
		}
		if err == nil {
			opts := kgo.ProcessFetchPartitionOpts{
				KeepControlRecords: w.control, Offset: position, IsolationLevel: kgo.ReadUncommitted(), Topic: w.tp.Topic, Partition: w.tp.Partition,
			}
			if w.isolation == 1 {
				opts.IsolationLevel = kgo.ReadCommitted()
			}
			fetched, next := kgo.ProcessFetchPartition(opts, answer, kgo.DefaultDecompressor(), nil)
			return fetched, next, fetched.Err
		}
		if !kerr.IsRetriable(err) || errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) {
			return kgo.FetchPartition{}, 0, missing(err)
		}
		w.leader = -1
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return kgo.FetchPartition{}, 0, errors.Join(err, ctx.Err())
		}
	}
}

func (w *walk) request(ctx context.Context, position int64) (*kmsg.FetchResponseTopicPartition, error) {
	const wait, most = 500, 1 << 20
	if err := w.locate(ctx); err != nil {
		return nil, err
	}
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = w.tp.Partition, position, most
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = w.tp.Topic, w.topicID, append(t.Partitions, p)
	request := kmsg.NewPtrFetchRequest()
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes, request.IsolationLevel = wait, 1, most, w.isolation
	request.Topics = append(request.Topics, t)
	raw, err := w.cluster.client.Broker(int(w.leader)).RetriableRequest(ctx, request)
	if err != nil {
		return nil, err
	}
	answer := raw.(*kmsg.FetchResponse) //nolint:errcheck // kgo answers a request with its own response type
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return nil, err
	}
	for _, t := range answer.Topics {
		for i := range t.Partitions {
			return &t.Partitions[i], nil
		}
	}
	return nil, errors.New("empty answer")
}

// locate finds the partition's leader and the topic's id, which Fetch 13 and later ask for (KIP-516).
func (w *walk) locate(ctx context.Context) error {
	if w.leader >= 0 {
		return nil
	}
	answer, err := w.cluster.metadata(ctx, w.tp.Topic)
	if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return err
		}
		for _, p := range t.Partitions {
			if p.Partition != w.tp.Partition {
				continue
			}
			if p.Leader < 0 {
				return kerr.LeaderNotAvailable
			}
			w.leader, w.topicID = p.Leader, t.TopicID
			return nil
		}
	}
	return kerr.UnknownTopicOrPartition
}
