package mirror

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// StateStore holds the states. Each call is atomic per partition and linearizable; package watermark says what each may
// do, watermarktest tests it.
type StateStore interface {
	// Claim takes a partition; the error is a *watermark.HeldError while another claim is alive.
	Claim(ctx context.Context, c watermark.Claim) (watermark.Grant, error)
	// Begin sets the positions of a partition at its first contact; watermark.ErrOvertaken if the claim is gone.
	Begin(ctx context.Context, b watermark.Begin) error
	// Commit moves a claimed partition on; watermark.ErrOvertaken if the claim is gone.
	Commit(ctx context.Context, c watermark.Commit) error
}

// errTooLate says that the invocation has too little time left to start or to go on.
var errTooLate = errors.New("too little time left before the invocation's deadline: raise the function's timeout or lower the batch size")

// claim takes the partition with a producer of its own, waiting for a live claim to end as far as the invocation's time
// allows. The owner is a nonce, never the request id: retries of an asynchronous invocation share one.
func (t *Task) claim(ctx context.Context, tp mm2.TopicPartition) (*progress, error) {
	ctx, cancel := t.leaveMargin(ctx)
	defer cancel()
	remote, err := t.remote(tp.Topic)
	if err != nil {
		return nil, err
	}
	producer, err := t.producer(ctx)
	if err != nil {
		return nil, fmt.Errorf("target producer: %w", err)
	}
	owner := rand.Text()
	for pause := 250 * time.Millisecond; ; pause *= 2 {
		grant, err := t.attempt(ctx, tp, owner, producer.ID())
		if err == nil {
			return &progress{
				remote:   mm2.TopicPartition{Topic: remote, Partition: tp.Partition},
				producer: producer, state: grant.State, from: grant.State.Next,
				unsettled: grant.Settle && grant.State.Begun(),
			}, nil
		}
		if held := (*watermark.HeldError)(nil); errors.As(err, &held) {
			if rest := time.Until(held.Until); pause > rest {
				pause = max(rest, time.Millisecond)
			}
			if sleep(ctx, pause) == nil {
				continue
			}
		}
		producer.Release()
		return nil, err
	}
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

// attempt asks for the claim once. A claim lasts as long as its owner may produce, not as long as the function may run:
// an owner killed at once holds its partition for seconds, not for the function's timeout.
func (t *Task) attempt(ctx context.Context, tp mm2.TopicPartition, owner string, producer int64) (watermark.Grant, error) {
	now := time.Now()
	deadline := now.Add(t.options.Budget)
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	if deadline.Sub(now) < time.Second {
		return watermark.Grant{}, errTooLate
	}
	return t.state.Claim(ctx, watermark.Claim{
		Partition: tp, Owner: owner, Producer: producer, Now: now, Deadline: deadline.Truncate(time.Millisecond), Drain: t.options.Drain,
	})
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

// begin sets the positions of a partition at the first contact, before anything is produced. The downstream position is
// the remote partition's log end, not its high watermark: a record of somebody else that is not yet replicated would else
// be taken for one of ours. An earlier owner that never began has sent nothing, so there is no tail to settle.
func (t *Task) begin(ctx context.Context, p *progress, topic Topic, d Delivery) error {
	s := &p.state
	if s.Begun() {
		return nil
	}
	next, err := t.start(ctx, s.Next, d)
	if err != nil {
		return err
	}
	end, err := t.remoteEnd(ctx, p.remote, topic.Partitions)
	if err != nil {
		return err
	}
	b := watermark.Begin{Partition: s.Partition, Epoch: s.Epoch, Owner: s.Owner, TopicID: topic.ID, Next: next, DownstreamNext: end}
	if err := t.state.Begin(ctx, b); err != nil {
		return err
	}
	s.TopicID, s.Next, s.DownstreamNext, p.from = topic.ID, next, end, next
	return nil
}

// start is where a partition begins that was never mirrored: where its seeded item says, else at the log start. Retention
// may have moved the log start past what the delivery holds, hence the earlier of the two.
func (t *Task) start(ctx context.Context, seeded int64, d Delivery) (int64, error) {
	if seeded != watermark.None {
		return seeded, nil
	}
	ends, err := t.source.Ends(ctx, d.Partition)
	if err != nil {
		return 0, fmt.Errorf("source ends: %w", err)
	}
	if len(d.Offsets) > 0 {
		return min(ends.Start, d.Offsets[0]), nil
	}
	return ends.Start, nil
}

// remoteEnd is the remote partition's log end. A missing topic or partition is made first, with the source's count.
func (t *Task) remoteEnd(ctx context.Context, remote mm2.TopicPartition, partitions int32) (int64, error) {
	ends, err := t.target.Ends(ctx, remote)
	if errors.Is(err, ErrMissing) {
		if err := t.target.Ensure(ctx, remote.Topic, partitions); err != nil {
			return 0, fmt.Errorf("create remote topic %s: %w", remote.Topic, err)
		}
		ends, err = t.target.Ends(ctx, remote)
	}
	if err != nil {
		return 0, fmt.Errorf("target ends of %s: %w", remote, err)
	}
	return ends.LogEnd, nil
}
