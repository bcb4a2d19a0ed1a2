package mapping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

// Invoke runs the function once. It may be called from several goroutines, and may change the payload: each call gets its own.
// An error means that the function failed.
type Invoke func(ctx context.Context, payload []byte) ([]byte, error)

// Options are a mapping's settings. The zero value is a mapping as Lambda makes it, but without a batching window.
type Options struct {
	Group       string        // consumer group that positions are committed in; empty: "tidemark.local.<topic>"
	BatchSize   int           // records per invocation at most; 0: 100
	Window      time.Duration // how long a batch waits for more records after its first; 0: not at all
	MaxPayload  int           // bytes of an event at most; 0: Lambda's 6 MB
	Pollers     int           // run side by side, partition p belongs to poller p modulo Pollers; 0: 1
	ReportItems bool          // the answer's batchItemFailures count (ReportBatchItemFailures), else only errors do
	Refresh     time.Duration // how often new partitions are looked for; 0: 1 s
	Faults      Faults
	Client      []kgo.Opt    // of the consuming clients: TLS, SASL
	Log         *slog.Logger // tells of failed invocations; nil: nobody
}

// Faults are what at-least-once delivery allows, made frequent. Each counts a poller's batches; 0 means never.
type Faults struct {
	Redeliver int // every n-th batch comes a second time after it succeeded
	Overlap   int // every n-th batch is followed by one that begins with the second half of its records
	Twice     int // every n-th batch is delivered to two invocations at once, as when two pollers hold a partition
}

// Stats are counters since the mapping was made.
type Stats struct {
	Batches   int // that succeeded
	Records   int // that succeeded, repeated ones included
	Failures  int // invocations that failed, or named failed records
	Repeated  int // records delivered again because of [Faults]
	Oversized int // records that do not fit in an event by themselves: they are passed over, as Lambda does without a destination
	Polling   int // fetch errors
	Commits   int // failed commits; the next one covers them
}

// Mapping feeds one function from one topic.
type Mapping struct {
	brokers []string
	topic   string
	invoke  Invoke
	opts    Options

	mu    sync.Mutex
	stats Stats
}

// New makes a mapping; it does nothing until [Mapping.Run].
func New(brokers []string, topic string, invoke Invoke, o Options) *Mapping {
	o.Group = cmp.Or(o.Group, "tidemark.local."+topic)
	o.BatchSize = cmp.Or(o.BatchSize, 100)
	o.MaxPayload = cmp.Or(o.MaxPayload, 6<<20)
	o.Pollers = cmp.Or(o.Pollers, 1)
	o.Refresh = cmp.Or(o.Refresh, time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Mapping{brokers: brokers, topic: topic, invoke: invoke, opts: o}
}

// Stats returns the counters so far. It is safe to call while the mapping runs.
func (m *Mapping) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

func (m *Mapping) count(change func(*Stats)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.stats)
}

// Run polls until ctx ends, from the committed position of each partition, or from its log start when there is none. It returns
// nil when ctx ends, and an error when the topic cannot be read at the start or an event cannot be encoded.
func (m *Mapping) Run(ctx context.Context) error {
	pollers := make([]*poller, m.opts.Pollers)
	for i := range pollers {
		p, err := newPoller(m)
		if err != nil {
			return err
		}
		defer p.client.Close()
		pollers[i] = p
	}
	a := assigner{Mapping: m, pollers: pollers, admin: kadm.NewClient(pollers[0].client)}
	if err := a.assign(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // it was told to stop
		}
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range pollers {
		group.Go(func() error { return p.run(ctx) })
	}
	group.Go(func() error { a.refresh(ctx); return nil })
	return group.Wait()
}

// assigner deals the topic's partitions out to the pollers.
type assigner struct {
	*Mapping
	pollers []*poller
	admin   *kadm.Client
	known   int32 // partitions dealt out so far
}

// refresh looks for new partitions until ctx ends. A look that fails is repeated with the next one.
func (a *assigner) refresh(ctx context.Context) {
	tick := time.NewTicker(a.opts.Refresh)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := a.assign(ctx); err != nil && ctx.Err() == nil {
				a.opts.Log.WarnContext(ctx, "look for new partitions", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// assign gives the partitions not dealt out yet to their pollers.
func (a *assigner) assign(ctx context.Context) error {
	topics, err := a.admin.ListTopics(ctx, a.topic)
	if err != nil {
		return fmt.Errorf("describe topic %s at %s: %w", a.topic, strings.Join(a.brokers, ","), err)
	}
	if err := topics[a.topic].Err; err != nil {
		return fmt.Errorf("describe topic %s: %w", a.topic, err)
	}
	count := int32(len(topics[a.topic].Partitions))
	if count <= a.known {
		return nil
	}
	committed, err := a.admin.FetchOffsetsForTopics(ctx, a.opts.Group, a.topic)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // a new group: nothing is committed
		return fmt.Errorf("fetch offsets of group %s: %w", a.opts.Group, err)
	}
	for ; a.known < count; a.known++ {
		from := kgo.NewOffset().AtStart()
		if c, ok := committed.Lookup(a.topic, a.known); ok && c.Err == nil && c.At >= 0 {
			from = kgo.NewOffset().At(c.At)
		}
		a.pollers[int(a.known)%len(a.pollers)].client.AddConsumePartitions(map[string]map[int32]kgo.Offset{a.topic: {a.known: from}})
	}
	return nil
}
