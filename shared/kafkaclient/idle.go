package kafkaclient

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
)

// Producer implements mirror.Target: the idle one that was used last, whose connections are the likeliest to be alive, or a
// new one with a producer id of its own.
func (t *Target) Producer(ctx context.Context) (mirror.Producer, error) {
	p, err := t.take()
	if err != nil {
		return nil, err
	}
	if p.id, _, err = p.client.ProducerID(ctx); err != nil {
		p.client.Close()
		return nil, fmt.Errorf("initialize producer id: %w", denied(t.fault(err), idempotent, ""))
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
	seen := new(observer)
	client, err := kgo.NewClient(append(t.options[:len(t.options):len(t.options)],
		kgo.Dialer(discarding(t.client.OptValue(kgo.Dialer))),
		kgo.WithHooks(seen),
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
	return &Producer{target: t, client: client, seen: seen}, nil
}

// Release implements mirror.Producer.
func (p *Producer) Release() {
	t := p.target
	t.producers.Lock()
	keep := !p.broken && !t.closed
	if keep {
		t.idle = append(t.idle, p)
	}
	t.producers.Unlock()
	if !keep {
		p.client.Close()
	}
}

// closeIdle closes the producers that nobody uses.
func (t *Target) closeIdle() {
	t.producers.Lock()
	idle := t.idle
	t.idle = nil
	t.producers.Unlock()
	for _, p := range idle {
		p.client.Close()
	}
}

var (
	_ kgo.HookProduceRecordPartitioned = (*observer)(nil)
	_ kgo.HookBrokerE2E                = (*observer)(nil)
)

// observer sees what a client does not tell its caller.
type observer struct {
	buffered atomic.Int64 // records that the client took, instead of refusing them
	lost     atomic.Bool  // whether a request to append was not answered
}

func (o *observer) reset() {
	o.buffered.Store(0)
	o.lost.Store(false)
}

// OnProduceRecordPartitioned implements kgo.HookProduceRecordPartitioned. It is called before Produce returns when the topic
// is known.
func (o *observer) OnProduceRecordPartitioned(*kgo.Record, int32) { o.buffered.Add(1) }

// OnBrokerE2E implements kgo.HookBrokerE2E. It is called before the request's records have an outcome.
func (o *observer) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	const produce = 0
	if key == produce && e2e.Err() != nil {
		o.lost.Store(true)
	}
}
