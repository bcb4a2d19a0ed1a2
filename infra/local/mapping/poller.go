package mapping

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The pause before a failed batch is tried again, doubling from the first to the last.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// commitLimit is how long a commit may take, and so how long the end of a mapping may wait for one.
const commitLimit = 5 * time.Second

// poller owns some of the partitions and works one batch at a time.
type poller struct {
	*Mapping
	client   *kgo.Client
	admin    *kadm.Client
	envelope envelope
	waiting  []entry // fetched, for the next batch
	repeat   []entry // already delivered, to begin the next batch with: [Faults.Overlap]
	batches  int     // delivered, for [Faults]
}

func newPoller(m *Mapping) (*poller, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(m.brokers...),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), // TRIM_HORIZON
		kgo.MetadataMinAge(100 * time.Millisecond),        // a new partition is read soon after it was found
	}, m.opts.Client...)...)
	if err != nil {
		return nil, fmt.Errorf("open consumer at %s: %w", strings.Join(m.brokers, ","), err)
	}
	return &poller{Mapping: m, client: client, admin: kadm.NewClient(client), envelope: newEnvelope(m.brokers)}, nil
}

// run delivers batch after batch until ctx ends.
func (p *poller) run(ctx context.Context) error {
	for ctx.Err() == nil {
		batch, err := p.collect(ctx)
		if err != nil {
			return err
		}
		if len(batch) > 0 {
			p.turn(ctx, batch)
		}
	}
	return nil
}

// collect waits for a first record and then, as long as the window is open, for as many more as an event may hold.
func (p *poller) collect(ctx context.Context) ([]entry, error) {
	if err := p.poll(ctx); err != nil {
		return nil, err
	}
	closes := time.Now().Add(p.opts.Window)
	open, cancel := context.WithDeadline(ctx, closes)
	defer cancel()
	var batch []entry
	for size := p.envelope.gauge(p.opts.MaxPayload); ; {
		for len(p.waiting) > 0 && len(batch) < p.opts.BatchSize {
			next := p.waiting[0]
			switch {
			case size.take(next):
				batch = append(batch, next)
			case len(batch) > 0:
				return batch, nil
			default:
				p.passOver(ctx, next)
			}
			p.waiting = p.waiting[1:]
		}
		if len(batch) == p.opts.BatchSize || open.Err() != nil {
			return batch, nil
		}
		if err := p.poll(open); err != nil {
			return nil, err
		}
	}
}

// poll waits until a record waits, or ctx ends.
func (p *poller) poll(ctx context.Context) error {
	if len(p.waiting) > 0 {
		return nil
	}
	fetches := p.client.PollRecords(ctx, p.opts.BatchSize)
	fetches.EachError(func(topic string, partition int32, err error) {
		if ctx.Err() == nil {
			p.count(func(s *Stats) { s.Polling++ })
			p.opts.Log.WarnContext(ctx, "poll", "topic", topic, "partition", partition, "error", err)
		}
	})
	for _, r := range fetches.Records() {
		e, err := newEntry(r)
		if err != nil {
			return err
		}
		p.waiting = append(p.waiting, e)
	}
	if len(p.waiting) > 0 {
		p.count(func(s *Stats) { s.Repeated += len(p.repeat) })
		p.waiting = append(p.repeat, p.waiting...)
		p.repeat = nil
	}
	return nil
}

func (p *poller) passOver(ctx context.Context, e entry) {
	p.count(func(s *Stats) { s.Oversized++ })
	p.opts.Log.ErrorContext(ctx, "record exceeds the payload limit and is passed over",
		"topic", e.record.Topic, "partition", e.record.Partition, "offset", e.record.Offset)
}

// turn delivers one batch, commits it, and does what [Faults] asks for. It ends early when ctx does.
func (p *poller) turn(ctx context.Context, batch []entry) {
	p.batches++
	attempt := p.attempt
	if p.due(p.opts.Faults.Twice) {
		attempt = p.attemptTwice
	}
	if !p.deliver(ctx, batch, attempt) {
		return
	}
	p.commit(ctx, batch)
	if p.due(p.opts.Faults.Redeliver) {
		p.count(func(s *Stats) { s.Repeated += len(batch) })
		p.deliver(ctx, batch, p.attempt)
	}
	if p.due(p.opts.Faults.Overlap) {
		p.repeat = slices.Clone(batch[len(batch)/2:])
	}
}

// due reports whether a fault that strikes every n-th batch strikes this one.
func (p *poller) due(every int) bool { return every > 0 && p.batches%every == 0 }

// deliver makes attempts until all of the batch succeeded. It reports false when ctx ended first.
func (p *poller) deliver(ctx context.Context, batch []entry, attempt func(context.Context, []entry) ([]entry, error)) bool {
	pause := firstPause
	for rest := batch; ; {
		again, err := attempt(ctx, rest)
		if ctx.Err() != nil {
			return false
		}
		if len(again) == 0 {
			p.count(func(s *Stats) { s.Batches++; s.Records += len(batch) })
			return true
		}
		p.count(func(s *Stats) { s.Failures++ })
		p.opts.Log.WarnContext(ctx, "invocation failed", "topic", p.topic, "records", len(rest), "again", len(again), "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
		rest, pause = again, min(2*pause, lastPause)
	}
}

// attempt invokes the function once and returns what must be delivered again, and why.
func (p *poller) attempt(ctx context.Context, batch []entry) ([]entry, error) {
	body, err := p.invoke(ctx, p.envelope.payload(batch))
	if err != nil {
		return batch, err
	}
	if p.opts.ReportItems {
		return failed(batch, body)
	}
	return nil, nil
}

// attemptTwice makes two attempts side by side. The first one's outcome counts: the other poller's group membership is over.
func (p *poller) attemptTwice(ctx context.Context, batch []entry) ([]entry, error) {
	p.count(func(s *Stats) { s.Repeated += len(batch) })
	other := make(chan struct{})
	go func() {
		defer close(other)
		_, _ = p.attempt(ctx, batch)
	}()
	again, err := p.attempt(ctx, batch)
	<-other
	return again, err
}

// commit stores the batch's end in the mapping's group, also when ctx ended after the batch succeeded. A commit that fails is made
// up for by the next one, or by a redelivery after a restart.
func (p *poller) commit(ctx context.Context, batch []entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitLimit)
	defer cancel()
	var ends kadm.Offsets
	for _, e := range batch {
		ends.AddOffset(e.record.Topic, e.record.Partition, e.record.Offset+1, -1)
	}
	if err := p.admin.CommitAllOffsets(ctx, p.opts.Group, ends); err != nil {
		p.count(func(s *Stats) { s.Commits++ })
		p.opts.Log.WarnContext(ctx, "commit", "group", p.opts.Group, "error", err)
	}
}
