package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/shared/watermark"
)

// runBytes bounds the runs in the item, which stays within one write unit of 1 KB. The newest half of it is left exact.
const runBytes = 512

// commit writes what is durable and why the rest is not. It gives the claim back when every outcome is known, and keeps it
// for the next owner to settle when one is not. An owner that could not settle what it found leaves the producer ids that
// it found: the next one settles in its place, without having to wait for it.
func (t *Task) commit(ctx context.Context, p *progress, d Delivery, failure error) error {
	if errors.Is(failure, watermark.ErrOvertaken) {
		return nil
	}
	p.stall = p.stalled(d, failure, time.Now())
	if p.parks(d) {
		p.distrustUpTo(d.end())
	}
	if p.unknown {
		return t.write(ctx, p, p.state.Owner, p.state.OwnerDeadline, p.held(), p.stall)
	}
	return t.release(ctx, p, p.stall)
}

// release gives the claim back. An owner that did not get as far as settling has handed nothing over, so its own id is
// none of those that it leaves.
func (t *Task) release(ctx context.Context, p *progress, stall *watermark.Stall) error {
	if p.unsettled {
		return t.write(ctx, p, "", p.until, p.foreign, stall)
	}
	return t.write(ctx, p, "", time.Time{}, nil, stall)
}

// goOn commits what is done, keeps the claim and extends it, as far as the invocation has time.
func (t *Task) goOn(ctx context.Context, p *progress) error {
	deadline, err := t.deadline(ctx)
	if err != nil {
		return err
	}
	stall := p.state.Stall
	if stall != nil && stall.Offset != p.state.Next {
		stall = nil
	}
	if err := t.write(ctx, p, p.state.Owner, deadline, p.held(), stall); err != nil {
		return fmt.Errorf("commit at %d: %w", p.state.Next, err)
	}
	p.state.OwnerDeadline, p.state.Stall = deadline, stall
	return nil
}

// held are the producer ids of a claim that is kept: once the earlier owners' are settled, the own one.
func (p *progress) held() []int64 {
	if p.unsettled {
		return p.state.Producers
	}
	return []int64{p.producer.ID()}
}

// write commits the state under the given claim. What was counted on the way counts once it is written.
func (t *Task) write(ctx context.Context, p *progress, owner string, deadline time.Time, producers []int64, stall *watermark.Stall) error {
	p.runs.Fold(runBytes, runBytes/2)
	coded, err := p.runs.AppendBinary(nil)
	if err != nil {
		return fmt.Errorf("encode runs: %w", err)
	}
	s := p.state
	s.Owner, s.OwnerDeadline, s.Producers, s.Stall, s.Runs = owner, deadline, producers, stall, coded
	if p.moved {
		s.AdvancedAt = time.Now()
	}
	if s.Next >= s.TrustFrom {
		s.TrustFrom = 0
	}
	if err := t.state.Commit(ctx, watermark.Commit{Owner: p.state.Owner, From: p.from, Seen: p.seen, State: s}); err != nil {
		return err
	}
	p.state.Producers, p.state.AdvancedAt, p.state.TrustFrom = producers, s.AdvancedAt, s.TrustFrom
	p.from = s.Next
	t.options.Metrics.Add(RecordsLost, p.lost)
	p.lost, p.moved = 0, false
	return nil
}
