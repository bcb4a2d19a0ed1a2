package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
)

var _ mirror.Producer = (*Producer)(nil)

// Producer is a client that carries the records of one partition at a time: so a flush is that partition's own, and an
// unknown outcome costs its own client only. franz-go's contract is looser than mirror.Producer's in four ways. A record
// above its size limit fails alone and those behind it are sent. A broker's refusal fails what is buffered, but records
// handed over after that are sent: hence ManualFlushing, everything buffered first. A context does not end the wait for a
// request that was written. And a producer id that was fenced or lost is replaced and the client goes on.
type Producer struct {
	target *Target
	client *kgo.Client
	id     int64
	broken bool // an outcome was not success: not to be used again
}

// Producer implements mirror.Target: an idle one, or a new one with a producer id of its own.
func (t *Target) Producer(ctx context.Context) (mirror.Producer, error) {
	p, err := t.take()
	if err != nil {
		return nil, err
	}
	if p.id, _, err = p.client.ProducerID(ctx); err != nil {
		p.client.Close()
		return nil, fmt.Errorf("initialize producer id (is WriteDataIdempotently or IdempotentWrite granted on the cluster?): %w", err)
	}
	return p, nil
}

func (t *Target) take() (*Producer, error) {
	t.producers.Lock()
	defer t.producers.Unlock()
	if last := len(t.idle) - 1; last >= 0 {
		p := t.idle[last]
		t.idle = t.idle[:last]
		return p, nil
	}
	client, err := kgo.NewClient(append(t.options[:len(t.options):len(t.options)],
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ManualFlushing(),
		kgo.MaxBufferedRecords(math.MaxInt32), // a payload bounds them
		kgo.StopProducerOnDataLossDetected(),
		kgo.ProducerBatchMaxBytesFn(t.maxMessageBytes),
	)...)
	if err != nil {
		return nil, fmt.Errorf("configure producer: %w", err)
	}
	return &Producer{target: t, client: client}, nil
}

// ID implements mirror.Producer.
func (p *Producer) ID() int64 { return p.id }

// Release implements mirror.Producer.
func (p *Producer) Release() {
	if p.broken {
		p.client.Close()
		return
	}
	p.target.producers.Lock()
	defer p.target.producers.Unlock()
	p.target.idle = append(p.target.idle, p)
}

// Produce implements mirror.Producer. When ctx ends first it closes the client, whose connections drop what is still in
// their send buffers, and waits until the client has let go of every record.
func (p *Producer) Produce(ctx context.Context, records []*kgo.Record) (int, error) {
	var outcomes sync.WaitGroup
	var failure error // written by franz-go's one promise goroutine, read after Wait
	outcomes.Add(len(records))
	unbound := context.WithoutCancel(ctx) // an end of ctx must not fail some records and send others
	for _, r := range records {
		r.Offset = -1
		p.client.Produce(unbound, r, func(_ *kgo.Record, err error) {
			if err != nil && failure == nil {
				failure = err
			}
			outcomes.Done()
		})
	}
	handedOver := ctx.Err() == nil // nothing leaves the client before the flush
	if !handedOver || p.client.Flush(ctx) != nil {
		p.broken = true
		p.client.Close()
	}
	outcomes.Wait()
	n := durable(records)
	switch {
	case n == len(records):
		p.broken = p.broken || p.renewed(unbound)
		return n, nil
	case !handedOver:
		return 0, ctx.Err()
	}
	p.broken = true
	if failure == nil {
		failure = errors.New("the broker acknowledged without an offset")
	}
	if certain(failure) && ctx.Err() == nil {
		return n, failure
	}
	return n, errors.Join(mirror.ErrUnknown, failure, ctx.Err())
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

// certain says that a refusal means that the record is not on the target: the broker validates before it appends, and its
// verdict on a repeat is that on the first try. Authorization is not certain: it may have been revoked between an append
// whose answer was lost and its repeat.
func certain(err error) bool {
	for _, refusal := range []error{kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidTimestamp, kerr.InvalidRecord, kerr.PolicyViolation} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// dropOnClose makes closing a connection discard what the kernel has not sent yet. Else records of an abandoned client
// would follow when a frozen environment thaws.
func dropOnClose(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a connection that is gone already has nothing to send
	}
}
