package mirror

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// catchUpOwner begins the nonce of a catch-up that the scheduled pass invoked: it comes again until the partition has
// caught up, so that deliveries may leave their records to it. They note that in the item, for one that lies below the
// watermark may be the only one ever to show that the source stepped back.
const catchUpOwner = "c:"

func isCatchUp(owner string) bool { return strings.HasPrefix(owner, catchUpOwner) }

// claimOrLeave claims a delivery's partition, or leaves its records to a catch-up that has it; then left says which.
func (t *Task) claimOrLeave(ctx context.Context, d Delivery) (p *progress, left, err error) {
	for {
		p, err := t.claim(ctx, d.Partition, rand.Text())
		held := (*watermark.HeldError)(nil)
		if !errors.As(err, &held) || !isCatchUp(held.Owner) {
			return p, nil, err
		}
		wanted := max(held.Wanted+1, d.end())
		switch errLeave := t.state.Leave(ctx, watermark.Leave{Partition: d.Partition, Owner: held.Owner, Seen: held.Wanted, Wanted: wanted}); {
		case errLeave == nil:
			return nil, err, nil
		case !errors.Is(errLeave, watermark.ErrOvertaken):
			return nil, nil, fmt.Errorf("leave records to a catch-up: %w", errLeave)
		}
	}
}

// isCatchUp says whether this stands for a catch-up, which no event brings: it holds no records and has no key.
func (d Delivery) isCatchUp() bool { return d.Key == "" }

// CatchUp mirrors one partition from its watermark to what is stable on the source, or until the invocation's time is
// over, a commit a chunk. It is for what no delivery brings any more: holes at the end of an idle topic, parked
// partitions, history. A partition with a live claim is left alone, and so is one that is parked, unless forced.
// scheduled says that it is tried again until there is nothing left; see catchUpOwner.
func (t *Task) CatchUp(ctx context.Context, tp mm2.TopicPartition, scheduled bool) error {
	inv := &invocation{done: make(chan struct{})}
	t.identify(ctx, inv, []string{tp.Topic})
	owner := rand.Text()
	if scheduled {
		owner = catchUpOwner + owner
	}
	p, err := t.claimOnce(ctx, tp, owner)
	if held := (*watermark.HeldError)(nil); errors.As(err, &held) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("claim %s: %w", tp, err)
	}
	defer p.producer.Release()
	d := Delivery{Partition: tp}
	if s := p.state.Stall; scheduled && s != nil && time.Now().Before(s.RetryAt) {
		return p.giveBack(func() error { return t.release(ctx, p, s) })
	}
	work, cancel := t.leaveMargin(ctx)
	defer cancel()
	for {
		failure := t.carry(work, inv, p, d, t.rest)
		commit := func() error { return t.commit(ctx, p, d, failure) }
		err := commit()
		if p.learns(err) {
			if failure == nil {
				continue // one of those deliveries may have shown that the source stepped back
			}
			err = p.giveBack(commit)
		}
		switch {
		case err != nil:
			return errors.Join(failure, fmt.Errorf("commit %s at %d: %w", tp, p.state.Next, err))
		case errors.Is(failure, errTooLate):
			return nil // the next one goes on where this one stands
		}
		return failure
	}
}

// giveBack commits without having looked at what deliveries left meanwhile: it stays wanted, and the next owner looks.
func (p *progress) giveBack(commit func() error) error {
	for {
		if err := commit(); !p.learns(err) {
			return err
		}
	}
}

// learns says whether a commit was refused because deliveries left records meanwhile, and notes that they did.
func (p *progress) learns(err error) bool {
	wanted := (*watermark.WantedError)(nil)
	if !errors.As(err, &wanted) {
		return false
	}
	p.seen, p.state.Wanted = wanted.Wanted, wanted.Wanted
	return true
}

// rest is the plan of a catch-up: all that is stable on the source now.
func (t *Task) rest(ctx context.Context, p *progress, d Delivery) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		p.start()
		ends, err := t.source.Ends(ctx, d.Partition)
		if err != nil {
			yield(Piece{}, fmt.Errorf("source ends: %w", err))
			return
		}
		if ends.LogEnd < p.state.Next {
			yield(Piece{}, fmt.Errorf("%w: it ends at %d", ErrStepBack, ends.LogEnd))
			return
		}
		for piece, err := range t.read(ctx, p, ends.LastStable) {
			if !yield(piece, err) || err != nil {
				return
			}
		}
		if n := len(p.losses); n > 0 { // what is left has expired, and nothing stands behind it
			p.state.Next, p.state.NextDigest, p.moved = p.losses[n-1].to, nil, true
			p.passLosses()
		}
	}
}
