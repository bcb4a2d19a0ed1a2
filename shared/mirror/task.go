// Package mirror carries what one event brings to the target, effectively once and in order, and says how far it got.
//
// Read [Task.Run] from the top: a partition's way is claim, settle, deliver, commit, a step per function, each in a file
// of its name. The invariant: a partition's watermark never passes a record that is not durable on the target. The source
// log is the truth, the watermark is the position, and a delivery is a hint with data attached: it may be repeated, cut,
// overlapping or late.
package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/shared/mm2"
	"tidemark/shared/tracker"
	"tidemark/shared/watermark"
)

// Task mirrors deliveries. It is safe for concurrent use; one per process is enough.
type Task struct {
	source Source
	target Target
	state  StateStore
	remote func(topic string) (string, error)

	options Options // with the standard values filled in
}

// Options are what a task can do without. The zero value is ready for use.
type Options struct {
	Metrics  Metrics       // nil counts nothing
	Parallel int           // partitions at once; 0 means 8
	Budget   time.Duration // how long a claim lasts and its owner may produce; 0 means 20 s
	Drain    time.Duration // how long past its deadline a dead owner's records may still land; 0 means 5 s
	Margin   time.Duration // kept back from the invocation's deadline to commit and answer; 0 means 2 s
}

// NewTask returns a task. remote names the remote topic of a source topic, or says why that topic must not be mirrored.
func NewTask(source Source, target Target, state StateStore, remote func(topic string) (string, error), o Options) *Task {
	if o.Metrics == nil {
		o.Metrics = uncounted{}
	}
	o.Parallel = cmp.Or(o.Parallel, 8)
	o.Budget = cmp.Or(o.Budget, 20*time.Second)
	o.Drain = cmp.Or(o.Drain, 5*time.Second)
	o.Margin = cmp.Or(o.Margin, 2*time.Second)
	return &Task{source: source, target: target, state: state, remote: remote, options: o}
}

// Run mirrors the deliveries of one invocation, each partition on its own, and returns an outcome for each, by index.
// When it returns, nothing of it runs any more and no record of the deliveries is referenced.
func (t *Task) Run(ctx context.Context, deliveries []Delivery) []Outcome {
	inv := &invocation{done: make(chan struct{})}
	outcomes := make([]Outcome, len(deliveries))
	var group errgroup.Group
	group.SetLimit(t.options.Parallel + 1) // the source is asked beside the claims
	group.Go(func() error {
		t.identify(ctx, inv, deliveries)
		return nil // the partitions report what it found
	})
	for i, d := range deliveries {
		group.Go(func() error {
			outcomes[i] = t.partition(ctx, inv, d)
			return nil // the partitions report through their outcomes
		})
	}
	_ = group.Wait() // never an error: see above
	return outcomes
}

// partition takes one delivery all the way. Whatever is durable when a step fails is committed; the rest is the trigger's
// to bring again.
func (t *Task) partition(ctx context.Context, inv *invocation, d Delivery) Outcome {
	p, err := t.claim(ctx, d.Partition)
	if err != nil {
		return t.failed(d, watermark.None, fmt.Errorf("claim %s: %w", d.Partition, err))
	}
	defer p.producer.Release()
	failure := t.carry(ctx, inv, p, d)
	if err := t.commit(ctx, p, d, failure); err != nil {
		return t.failed(d, p.redelivery(p.from), errors.Join(failure, fmt.Errorf("commit %s at %d: %w", d.Partition, p.state.Next, err)))
	}
	if failure != nil {
		return t.failed(d, p.redelivery(p.state.Next), failure)
	}
	return Outcome{Key: d.Key}
}

// carry brings the pieces of a delivery to the target one after another, within the claim's deadline. It stops at the
// first that fails, so that nothing ever lands behind a record that failed.
func (t *Task) carry(ctx context.Context, inv *invocation, p *progress, d Delivery) error {
	ctx, cancel := context.WithDeadline(ctx, p.state.OwnerDeadline)
	defer cancel()
	topic, err := inv.topic(d.Partition)
	if err != nil {
		return fmt.Errorf("identify %s: %w", d.Partition, err)
	}
	if err := t.begin(ctx, p, topic, d); err != nil {
		return fmt.Errorf("begin %s: %w", d.Partition, err)
	}
	for piece, err := range t.settle(ctx, p, topic, d) {
		if err != nil {
			return fmt.Errorf("settle %s at %d: %w", d.Partition, p.state.Next, err)
		}
		if err := t.deliver(ctx, p, piece); err != nil {
			return fmt.Errorf("deliver %s at %d: %w", d.Partition, p.state.Next, err)
		}
	}
	if d.Fault != nil {
		return fmt.Errorf("decode %s: %w", d.Partition, d.Fault)
	}
	return nil
}

// progress is one partition under one claim.
type progress struct {
	remote    mm2.TopicPartition
	producer  Producer
	state     watermark.State  // under the claim; its positions are what is proven so far
	from      int64            // Next as the item has it; None before the first contact
	proven    bool             // what the delivery holds below Next is a redelivery
	unsettled bool             // the target may hold records of an earlier owner past DownstreamNext
	unknown   bool             // records were handed over whose outcome is not known
	tracker   *tracker.Tracker // set once the positions are settled
	moved     bool             // whether a record was mirrored or found mirrored under this claim
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
