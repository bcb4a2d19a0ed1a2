package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
	"tidemark/shared/watermark"
)

// StateStore holds the states. Each call is atomic per partition and linearizable; package watermark says what each may
// do, watermarktest tests it.
type StateStore interface {
	// Claim takes a partition; the error is a *watermark.HeldError while another claim is alive.
	Claim(ctx context.Context, c watermark.Claim) (watermark.Grant, error)
	// Begin sets the positions of a partition at its first contact; watermark.ErrOvertaken if the claim is gone.
	Begin(ctx context.Context, b watermark.Begin) error
	// Commit moves a claimed partition on; watermark.ErrOvertaken if the claim is gone. It is a *watermark.WantedError when the
	// claim would be given back and its owner does not know of all that was left to it.
	Commit(ctx context.Context, c watermark.Commit) error
	// Leave leaves a delivery's records to an owner; watermark.ErrOvertaken if the claim is gone, or another Leave came between.
	Leave(ctx context.Context, l watermark.Leave) error
}

// errTooLate says that the invocation has too little time left to start or to go on.
var errTooLate = errors.New("too little time left before the invocation's deadline: raise the function's timeout or lower the batch size")

// claim takes the partition, waiting for a live claim to end as far as the invocation's time allows, unless it is a
// catch-up's. The owner is a nonce, never the request id: retries of an asynchronous invocation share one.
func (t *Task) claim(ctx context.Context, tp mm2.TopicPartition, owner string) (*progress, error) {
	for pause := 250 * time.Millisecond; ; pause *= 2 {
		p, err := t.claimOnce(ctx, tp, owner)
		held := (*watermark.HeldError)(nil)
		if !errors.As(err, &held) || isCatchUp(held.Owner) {
			return p, err
		}
		if rest := time.Until(held.Until); pause > rest {
			pause = max(rest, time.Millisecond)
		}
		if sleep(ctx, pause) != nil {
			return nil, err
		}
	}
}

// claimOnce takes the partition with a producer of its own; a *watermark.HeldError if it is claimed.
func (t *Task) claimOnce(ctx context.Context, tp mm2.TopicPartition, owner string) (*progress, error) {
	remote, err := t.remote(tp.Topic)
	if err != nil {
		return nil, err
	}
	ctx, cancel := t.leaveMargin(ctx)
	defer cancel()
	producer, err := t.producer(ctx)
	if err != nil {
		return nil, fmt.Errorf("target producer: %w", err)
	}
	grant, err := t.attempt(ctx, tp, owner, producer.ID())
	p := &progress{
		remote:   mm2.TopicPartition{Topic: remote, Partition: tp.Partition},
		producer: producer, state: grant.State, from: grant.State.Next, seen: grant.State.Wanted,
		unsettled: grant.Settle && grant.State.Begun(), foreign: grant.Foreign, until: grant.Until,
	}
	if err == nil {
		err = p.decodeRuns()
	}
	if err != nil {
		producer.Release()
		return nil, err
	}
	return p, nil
}

// decodeRuns reads where the newest records stand. What another program wrote is not known, which costs nothing but
// exactness: a claim must not fail for it.
func (p *progress) decodeRuns() error {
	if len(p.state.Runs) == 0 {
		return nil
	}
	if err := p.runs.UnmarshalBinary(p.state.Runs); err != nil {
		p.runs = offsetsync.Runs{}
	}
	return nil
}

// leaveMargin is ctx less the time that it takes to commit and answer: a call that hangs must not cost the answer too.
func (t *Task) leaveMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, end.Add(-t.options.Margin))
	}
	return context.WithCancel(ctx)
}

// producer gives an unreachable target no more time than a claim would have.
func (t *Task) producer(ctx context.Context) (Producer, error) {
	ctx, cancel := context.WithTimeout(ctx, t.options.Budget)
	defer cancel()
	return t.target.Producer(ctx)
}

// attempt asks for the claim once.
func (t *Task) attempt(ctx context.Context, tp mm2.TopicPartition, owner string, producer int64) (watermark.Grant, error) {
	deadline, err := t.deadline(ctx)
	if err != nil {
		return watermark.Grant{}, err
	}
	return t.state.Claim(ctx, watermark.Claim{Partition: tp, Owner: owner, Producer: producer, Now: time.Now(), Deadline: deadline})
}

// deadline is when a claim that is taken or extended now ends. It lasts as long as its owner may produce, not as long as
// the function may run: an owner killed at once holds its partition for seconds, not for the function's timeout.
func (t *Task) deadline(ctx context.Context) (time.Time, error) {
	now := time.Now()
	deadline := now.Add(t.options.Budget)
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	if deadline.Sub(now) < time.Second {
		return time.Time{}, errTooLate
	}
	return deadline.Truncate(time.Millisecond), nil
}

// sleep waits, or returns an error at once when the invocation would have no time left for work afterwards.
func sleep(ctx context.Context, d time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d+time.Second {
		return errTooLate
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
