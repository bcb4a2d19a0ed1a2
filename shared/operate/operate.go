// Package operate is what a person does to a flow: look at its partitions, release one that is stalled, place one anew.
//
// Nothing here goes past the claims: a change takes the partition as an invocation of mirror does, so that it never meets
// one under way, and is refused while an earlier owner's records are not settled.
package operate

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
	"tidemark/shared/watermark"
)

// Errors that a person acts on.
var (
	// ErrMoved says that the partition is not as it was when the caller looked.
	ErrMoved = errors.New("the partition has changed since: ask for its status again")
	// ErrUnsettled says that an earlier owner may have left records on the target.
	ErrUnsettled = errors.New("an earlier invocation has to be settled first: run a catch-up of the partition")
	// ErrNotStalled says that the offset is not the one that the partition is stalled at.
	ErrNotStalled = errors.New("the partition is not stalled at that offset")
	// ErrNotBegun says that the partition was never mirrored.
	ErrNotBegun = errors.New("the partition was never mirrored: nothing is there to change")
)

// StateStore holds the states; see mirror.StateStore.
type StateStore interface {
	Get(ctx context.Context, tp mm2.TopicPartition) (watermark.State, error)
	Claim(ctx context.Context, c watermark.Claim) (watermark.Grant, error)
	Commit(ctx context.Context, c watermark.Commit) error
}

// Entry is one line of the audit: what was asked for, about what, and what was there before.
type Entry struct {
	Action    string // "retry", "skip", "set-position"
	Partition mm2.TopicPartition
	Epoch     int64 // of the state that the caller saw
	From, To  int64 // the watermark before and after
	Reason    string
}

// Audit keeps an entry. It is called under the claim and before the change: what cannot be kept is not changed. An entry
// whose change then failed stays, for the caller was told.
type Audit func(ctx context.Context, e Entry) error

// Task changes partitions. It is safe for concurrent use.
type Task struct {
	state StateStore
	audit Audit
}

// NewTask returns a task that tells audit of each change before it is made.
func NewTask(state StateStore, audit Audit) *Task { return &Task{state: state, audit: audit} }

// Retry has a parked partition tried again at once: by the next delivery or catch-up.
func (t *Task) Retry(ctx context.Context, tp mm2.TopicPartition, epoch int64) error {
	return t.change(ctx, "retry", tp, epoch, func(s *watermark.State) error {
		if s.Stall == nil {
			return ErrNotStalled
		}
		stall := *s.Stall
		stall.RetryAt = time.Time{}
		s.Stall = &stall
		return nil
	})
}

// Skip passes over the one offset that the partition is stalled at. The record there is not mirrored, ever.
func (t *Task) Skip(ctx context.Context, tp mm2.TopicPartition, epoch, offset int64) error {
	return t.change(ctx, "skip", tp, epoch, func(s *watermark.State) error {
		if s.Stall == nil || s.Stall.Offset != offset || s.Next != offset {
			return ErrNotStalled
		}
		s.Next, s.NextDigest, s.Stall, s.AdvancedAt = offset+1, nil, nil, time.Now()
		s.Skips++
		return nil
	})
}

// SetPosition has mirroring go on at another upstream offset. Going back repeats records on the target; going forward
// leaves records out. The item is kept: to delete it would restart its epochs, and a dead owner's commit could match again.
func (t *Task) SetPosition(ctx context.Context, tp mm2.TopicPartition, epoch, next int64) error {
	if next < 0 {
		return fmt.Errorf("position %d is negative", next)
	}
	return t.change(ctx, "set-position", tp, epoch, func(s *watermark.State) error {
		// The runs stay: what is sent again keeps its first copy until the source has passed it, see offsetsync.Runs.Cut.
		if next > s.Next { // whoever mirrored meanwhile may have put what is left out on the target
			torn, err := tear(s.Runs)
			if err != nil {
				return err
			}
			s.Runs = torn
		}
		s.Next, s.NextDigest, s.DownstreamLast = next, nil, watermark.None
		s.Origin, s.TrustFrom, s.Stall, s.AdvancedAt = min(s.Origin, next), 0, nil, time.Now()
		return nil
	})
}

// tear notes in coded runs that offsets were passed over.
func tear(coded []byte) ([]byte, error) {
	var runs offsetsync.Runs
	if err := runs.UnmarshalBinary(coded); err != nil {
		return nil, fmt.Errorf("read runs of the item: %w", err)
	}
	runs.Tear()
	return runs.AppendBinary(nil)
}

// claimed is how long a change may take.
const claimed = 10 * time.Second

// change claims the partition, applies a change to what is there then, and gives the partition back.
func (t *Task) change(ctx context.Context, action string, tp mm2.TopicPartition, epoch int64, apply func(*watermark.State) error) error {
	seen, err := t.state.Get(ctx, tp)
	if err != nil {
		return err
	}
	if err := allowed(seen, epoch, apply); err != nil {
		return err // without a claim, which would change the epoch
	}
	now, owner := time.Now(), rand.Text()
	grant, err := t.state.Claim(ctx, watermark.Claim{
		Partition: tp, Owner: owner, Producer: watermark.None, Now: now, Deadline: now.Add(claimed).Truncate(time.Millisecond),
	})
	if err != nil {
		return fmt.Errorf("claim %s: %w", tp, err)
	}
	after, refusal := t.changed(ctx, Entry{Action: action, Partition: tp, Epoch: epoch}, grant, apply)
	if err := t.state.Commit(ctx, watermark.Commit{Owner: owner, From: grant.State.Next, Seen: grant.State.Wanted, State: after}); err != nil {
		return errors.Join(refusal, fmt.Errorf("commit %s: %w", tp, err))
	}
	return refusal
}

// allowed says whether a partition is as the caller saw it, and can be changed that way.
func allowed(s watermark.State, epoch int64, apply func(*watermark.State) error) error {
	if s.Epoch != epoch {
		return fmt.Errorf("%w: its epoch is %d, not %d", ErrMoved, s.Epoch, epoch)
	}
	if !s.Begun() {
		return ErrNotBegun
	}
	return apply(&s)
}

// changed is what to give a claimed partition back as: changed, or as it was, and why. The change is made to what the claim
// brought: an invocation under way may have committed since the caller looked, under the epoch that the caller saw.
func (t *Task) changed(ctx context.Context, e Entry, grant watermark.Grant, apply func(*watermark.State) error) (watermark.State, error) {
	before := grant.State
	before.Owner, before.OwnerDeadline, before.Producers = "", time.Time{}, nil
	if grant.Settle {
		before.Producers, before.OwnerDeadline = grant.Foreign, grant.Until
		return before, ErrUnsettled
	}
	if before.Epoch != e.Epoch+1 {
		return before, ErrMoved
	}
	after := before
	if err := apply(&after); err != nil {
		return before, err
	}
	e.From, e.To, e.Reason = before.Next, after.Next, reason(before)
	if err := t.audit(ctx, e); err != nil {
		return before, fmt.Errorf("audit %s of %s: %w", e.Action, e.Partition, err)
	}
	return after, nil
}

// reason is why a partition was stalled; empty if it was not.
func reason(s watermark.State) string {
	if s.Stall == nil {
		return ""
	}
	return s.Stall.Reason
}
