// Package mirror carries what one event brings to the target, effectively once and in order, and says how far it got.
//
// Read [Task.Run] from the top: a partition's way is claim, settle, deliver, commit, a step per function, each in a file
// of its name. The invariant: a partition's watermark never passes a record that is not durable on the target. The source
// log is the truth, the watermark is the position, and a delivery is a hint with data attached: it may be repeated, cut,
// overlapping, late or lost. What it lacks is read from the source.
package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
	"tidemark/shared/tracker"
	"tidemark/shared/watermark"
)

// Task mirrors deliveries. It is safe for concurrent use; one per process is enough.
type Task struct {
	source Source
	target Target
	state  StateStore
	remote func(topic string) (string, error)

	options  Options     // with the standard values filled in
	unfenced atomic.Bool // the cluster refused to fence; it is not asked again
}

// Options are what a task can do without. The zero value is ready for use.
type Options struct {
	Metrics  Metrics       // nil counts nothing
	Log      *slog.Logger  // nil logs nothing
	Parallel int           // partitions at once; 0 means 8
	Budget   time.Duration // how long a claim lasts and its owner may produce; 0 means 20 s
	Drain    time.Duration // how long past its deadline a dead owner's records may still land; 0 means 5 s
	Margin   time.Duration // kept back from the invocation's deadline to commit and answer; 0 means 2 s
	Chunk    int           // bytes that are read from the source for one commit; 0 means 8 MiB

	Wait       bool   // never fence: rest on the waiting rule
	Start      Start  // where a partition begins that was never mirrored
	DeadLetter string // topic on the target for what it refuses for good; empty: such a record stops its partition
}

// NewTask returns a task. remote names the remote topic of a source topic, or says why that topic must not be mirrored.
func NewTask(source Source, target Target, state StateStore, remote func(topic string) (string, error), o Options) *Task {
	if o.Metrics == nil {
		o.Metrics = uncounted{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Parallel = cmp.Or(o.Parallel, 8)
	o.Budget = cmp.Or(o.Budget, 20*time.Second)
	o.Drain = cmp.Or(o.Drain, 5*time.Second)
	o.Margin = cmp.Or(o.Margin, 2*time.Second)
	o.Chunk = cmp.Or(o.Chunk, 8<<20)
	return &Task{source: source, target: target, state: state, remote: remote, options: o}
}

// Run mirrors the deliveries of one invocation, each partition on its own, and returns an outcome for each, by index.
// When it returns, nothing of it runs any more and no record of the deliveries is referenced.
func (t *Task) Run(ctx context.Context, deliveries []Delivery) []Outcome {
	inv := &invocation{done: make(chan struct{})}
	outcomes := make([]Outcome, len(deliveries))
	topics := make([]string, len(deliveries))
	for i, d := range deliveries {
		topics[i] = d.Partition.Topic
	}
	var group errgroup.Group
	group.SetLimit(t.options.Parallel + 1) // the source is asked beside the claims
	group.Go(func() error {
		t.identify(ctx, inv, topics)
		return nil // the partitions report what it found
	})
	for i, d := range deliveries {
		group.Go(func() error {
			outcomes[i] = t.partition(ctx, inv, d)
			return nil // the partitions report through their outcomes
		})
	}
	_ = group.Wait() // never an error: see above
	return t.holdBack(deliveries, outcomes)
}

// partition takes one delivery all the way. Whatever is durable when a step fails is committed; the rest is the trigger's
// to bring again, unless the partition is parked: then it is a later delivery's, or a catch-up's, to read from the source.
func (t *Task) partition(ctx context.Context, inv *invocation, d Delivery) Outcome {
	ahead := t.lookAhead(ctx, inv, d)
	defer ahead.end()
	p, left, err := t.claimOrLeave(ctx, d)
	if left != nil {
		return Outcome{Key: d.Key, Parked: fmt.Errorf("leave records to a catch-up: %w", left)}
	}
	if err != nil {
		return t.failed(d, watermark.None, fmt.Errorf("claim %s: %w", d.Partition, err))
	}
	defer p.producer.Release()
	p.ahead = ahead
	if stall := p.state.Stall; stall != nil && time.Now().Before(stall.RetryAt) && d.first() >= p.state.Next {
		return t.leave(ctx, p, d) // what begins below the watermark may show that the source stepped back
	}
	work, cancel := t.leaveMargin(ctx)
	defer cancel()
	failure := t.carry(work, inv, p, d, t.pieces)
	if err := t.commit(ctx, p, d, failure); err != nil {
		return t.failed(d, p.redelivery(p.from), errors.Join(failure, fmt.Errorf("commit %s at %d: %w", d.Partition, p.state.Next, err)))
	}
	switch {
	case failure == nil:
		return Outcome{Key: d.Key}
	case p.parks(d):
		return Outcome{Key: d.Key, Parked: failure, stall: p.stall}
	}
	return t.failed(d, p.redelivery(p.state.Next), failure)
}

// carry brings what has to reach the target there, one piece after another. It stops at the first that fails, so that
// nothing ever lands behind a record that failed. What is done is committed before the next piece is begun.
func (t *Task) carry(ctx context.Context, inv *invocation, p *progress, d Delivery, pieces plan) error {
	topic, err := inv.topic(d.Partition)
	if err != nil {
		return fmt.Errorf("identify %s: %w", d.Partition, err)
	}
	if err := p.within(ctx, func(ctx context.Context) error { return t.prepare(ctx, p, topic, d) }); err != nil {
		return err
	}
	begun := false
	for piece, err := range pieces(ctx, p, d) {
		if err == nil && begun {
			err = t.goOn(ctx, p)
		}
		if err != nil {
			return fmt.Errorf("settle %s at %d: %w", d.Partition, p.state.Next, err)
		}
		if err := p.within(ctx, func(ctx context.Context) error { return t.deliver(ctx, p, piece) }); err != nil {
			return fmt.Errorf("deliver %s at %d: %w", d.Partition, p.state.Next, err)
		}
		begun = true
	}
	if d.Fault != nil {
		return fmt.Errorf("decode %s: %w", d.Partition, d.Fault)
	}
	return nil
}

// prepare makes the positions what the pieces go by.
func (t *Task) prepare(ctx context.Context, p *progress, topic Topic, d Delivery) error {
	if err := t.begin(ctx, p, topic, d); err != nil {
		return fmt.Errorf("begin %s: %w", d.Partition, err)
	}
	if err := t.settle(ctx, p, topic, d); err != nil {
		return fmt.Errorf("settle %s at %d: %w", d.Partition, p.state.Next, err)
	}
	p.state.Wanted = 0
	return nil
}

// within bounds a step by the end of the claim.
func (p *progress) within(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(ctx, p.state.OwnerDeadline)
	defer cancel()
	return step(ctx)
}

// progress is one partition under one claim.
type progress struct {
	remote   mm2.TopicPartition
	producer Producer
	state    watermark.State // under the claim; its positions are what is proven so far
	from     int64           // Next as the item has it; None before the first contact
	runs     offsetsync.Runs // of the item; State.Runs is its coding, as of the last commit
	tracker  *tracker.Tracker
	ahead    *lookahead // into the delivery's holes; nil where it has none

	unsettled bool      // the target may hold records of an earlier owner past DownstreamNext
	foreign   []int64   // the producer ids of earlier owners
	until     time.Time // when they hand over no more

	seen    int64            // the item's Wanted as known; State.Wanted is what of it was not looked at yet
	proven  bool             // what the delivery holds below Next is a redelivery
	unknown bool             // records were handed over whose outcome is not known
	moved   bool             // whether Next moved since the last commit
	losses  []loss           // offsets that the source has no more, ahead of the watermark
	lost    int64            // offsets of those that it has passed since the last commit
	stall   *watermark.Stall // as committed last
}

// redelivery is the offset below which a failed delivery need not come again: next, once it is proven that what lies below
// is a redelivery; none before. A trigger that brings only the rest again would hide a source that stepped back.
func (p *progress) redelivery(next int64) int64 {
	if !p.proven {
		return watermark.None
	}
	return next
}

// failed is the outcome of a delivery of which everything from next on has to come again: at least all of it when nothing
// of it is at or past next, so that a failure behind the last record is repeated too.
func (t *Task) failed(d Delivery, next int64, err error) Outcome {
	t.options.Metrics.Add(PartitionsFailed, 1)
	rest := d.from(next).Offsets
	if len(rest)+len(d.Unread) == 0 {
		rest = d.Offsets
	}
	return Outcome{Key: d.Key, Undelivered: slices.Concat(rest, d.Unread), Err: err}
}
