package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
)

var _ mirror.Producer = (*Producer)(nil)

// Producer is a client that carries the records of one partition at a time: so a flush is that partition's own, and an
// unknown outcome costs its own client only. franz-go's contract is looser than mirror.Producer's in these ways:
//
//   - A record that it refuses itself, above a size limit that may be out of date, fails alone and those behind it are sent.
//   - A broker's refusal fails what is buffered, but records handed over after that are sent. Hence ManualFlushing, everything
//     buffered first, and [Producer.learn]: records for a topic that is not known yet are buffered during the flush.
//   - A context does not end the wait for a request that was written.
//   - A producer id that was fenced or lost is replaced and the client goes on.
//   - A timestamp outside the years that fit a count of nanoseconds is written as another one.
type Producer struct {
	target *Target
	client *kgo.Client
	seen   *observer
	id     int64
	broken bool // an outcome was not success: not to be used again
}

// ID implements mirror.Producer.
func (p *Producer) ID() int64 { return p.id }

// Produce implements mirror.Producer. When ctx ends first it closes the client, whose connections drop what is still in
// their send buffers, and waits until the client has let go of every record.
func (p *Producer) Produce(ctx context.Context, records []*kgo.Record) (int, error) {
	if i := slices.IndexFunc(records, unwritable); i >= 0 {
		n, err := p.Produce(ctx, records[:i])
		if err == nil {
			err = fmt.Errorf("%w: %w: %d ms is outside the years 1678 to 2261 that the client can write", mirror.ErrRefused, kerr.InvalidTimestamp, records[i].Timestamp.UnixMilli())
		}
		return n, err
	}
	if len(records) == 0 {
		return 0, nil
	}
	if err := p.learn(ctx, records[0].Topic, records[0].Partition); err != nil {
		p.broken = true // what it knows may be out of date
		return 0, err
	}
	n, err := p.produce(ctx, records)
	p.broken = p.broken || err != nil || p.renewed(ctx)
	return n, denied(err, write, records[0].Topic)
}

func (p *Producer) produce(ctx context.Context, records []*kgo.Record) (int, error) {
	var outcomes sync.WaitGroup
	var failure error // the first; written by franz-go's promises, which it calls one at a time, and read after Wait
	outcomes.Add(len(records))
	p.seen.reset()
	unbound := context.WithoutCancel(ctx) // an end of ctx must not fail some records and send others
	for _, r := range records {
		r.Offset = -1
		p.client.Produce(unbound, r, func(_ *kgo.Record, err error) {
			if failure == nil {
				failure = err
			}
			outcomes.Done()
		})
	}
	// Nothing leaves the client before the flush.
	held := ctx.Err() == nil && p.seen.buffered.Load() == int64(len(records))
	flushed := held && p.client.Flush(ctx) == nil
	if !flushed {
		p.broken = true
		p.client.Close()
	}
	outcomes.Wait()
	n := durable(records)
	switch {
	case n == len(records):
		return n, nil
	case !held && ctx.Err() != nil:
		return 0, ctx.Err()
	case failure == nil:
		failure = errors.New("the broker acknowledged without an offset")
	case !held: // by the client itself, which may go by a limit of yesterday
		return n, failure
	case flushed && refusal(failure) && !p.seen.lost.Load():
		return n, fmt.Errorf("%w: %w", mirror.ErrRefused, failure)
	}
	if errors.Is(failure, kgo.ErrClientClosed) {
		failure = fmt.Errorf("%w before every batch was acknowledged: is a broker out of reach, or a replica out of sync (min.insync.replicas)?", ctx.Err())
	}
	return n, fmt.Errorf("%w: %w", failure, mirror.ErrUnknown)
}

// learn makes the client know the partition before there is a record to send, by a record for partition -1, which it
// refuses once it knows the topic. A client asks for a topic's partitions again after five minutes only, hence the refresh
// for a topic that has grown. An error means that nothing was handed over.
func (p *Producer) learn(ctx context.Context, topic string, partition int32) error {
	const patience, pause = time.Second, 50 * time.Millisecond // another broker may take a moment to hear of a new partition
	for waited := time.Duration(0); ; waited += pause {
		if err := ctx.Err(); err != nil {
			return err
		}
		// -1 is the leader of a partition that is not known; one that has no leader at present has another negative number.
		if leader, _, _ := p.client.PartitionLeader(topic, partition); leader != -1 {
			return nil
		}
		refused := p.client.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: -1}).FirstErr()
		if leader, _, _ := p.client.PartitionLeader(topic, partition); leader != -1 {
			return nil
		}
		var code *kerr.Error
		switch {
		case errors.As(refused, &code):
			return fmt.Errorf("describe target topic %s: %w", topic, denied(missing(refused), describe, topic))
		case waited >= patience:
			return fmt.Errorf("describe target topic %s: %w: partition %d", topic, mirror.ErrMissing, partition)
		}
		p.client.ForceMetadataRefresh()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// renewed says whether the client has taken another producer id than the claim names: the broker forgot the one before.
func (p *Producer) renewed(ctx context.Context) bool {
	id, _, err := p.client.ProducerID(ctx)
	return err != nil || id != p.id
}

// durable counts the acknowledged records from the first on. The broker appends an idempotent producer's batches in
// order, so that they are a prefix; an acknowledgement without an offset (DUPLICATE_SEQUENCE_NUMBER of a batch that the
// broker no longer remembers) ends it.
func durable(records []*kgo.Record) int {
	last := int64(-1)
	for i, r := range records {
		if r.Offset <= last {
			return i
		}
		last = r.Offset
	}
	return len(records)
}

// refusal says that an answer means that the record was not appended: the broker validates first. Authorization is none:
// it may have been revoked between an append whose answer was lost and its repeat. The same goes for these where an answer
// was lost, for time passes and limits change.
func refusal(err error) bool {
	return slices.ContainsFunc([]error{kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidTimestamp, kerr.InvalidRecord, kerr.PolicyViolation},
		func(refusal error) bool { return errors.Is(err, refusal) })
}

// unwritable says that franz-go would write another timestamp: it counts nanoseconds in 64 bits, and takes the zero time
// for now.
func unwritable(r *kgo.Record) bool {
	const most = math.MaxInt64/int64(time.Second) - 1
	s := r.Timestamp.Unix()
	return s > most || s < -most
}
