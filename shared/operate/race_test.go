package operate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tidemark/shared/operate"
	"tidemark/shared/watermark"
	"tidemark/shared/watermark/watermarktest"
)

// racing has an invocation that was under way end between the look at the partition and the claim.
type racing struct {
	*watermarktest.Memory
	end func(context.Context) error
}

func (r racing) Claim(ctx context.Context, c watermark.Claim) (watermark.Grant, error) {
	if err := r.end(ctx); err != nil {
		return watermark.Grant{}, err
	}
	return r.Memory.Claim(ctx, c)
}

// TestChangeKeepsWhatWasCommittedMeanwhile plays an invocation that parks the partition where it was: neither epoch nor
// watermark tell, and yet the item says more than the one that the caller saw.
func TestChangeKeepsWhatWasCommittedMeanwhile(t *testing.T) {
	t.Parallel()
	m := begun(t, nil)
	now := time.Now()
	g, err := m.Claim(t.Context(), watermark.Claim{Partition: orders, Owner: "b", Producer: 8, Now: now, Deadline: now.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	after := g.State
	after.Owner, after.OwnerDeadline, after.Producers = "", time.Time{}, nil
	after.DownstreamNext, after.TrustFrom, after.Lost = 120, 99, 3
	store := racing{m, func(ctx context.Context) error {
		return m.Commit(ctx, watermark.Commit{Owner: "b", From: 10, State: after})
	}}
	var audited []operate.Entry
	if err := operate.NewTask(store, keep(&audited)).Skip(t.Context(), orders, g.State.Epoch, 10); err != nil {
		t.Fatal(err)
	}
	s, _ := m.Get(t.Context(), orders)
	if s.Next != 11 || s.DownstreamNext != 120 || s.TrustFrom != 99 || s.Lost != 3 {
		t.Errorf("next %d, downstream next %d, trust from %d, lost %d, want 11, and 120, 99, 3 as they were committed",
			s.Next, s.DownstreamNext, s.TrustFrom, s.Lost)
	}
}

// TestAnotherClaimMeanwhile plays an invocation that came and went since: the epoch is no longer the one that was seen.
func TestAnotherClaimMeanwhile(t *testing.T) {
	t.Parallel()
	m := begun(t, nil)
	store := racing{m, func(ctx context.Context) error {
		now := time.Now()
		g, err := m.Claim(ctx, watermark.Claim{Partition: orders, Owner: "b", Producer: 8, Now: now, Deadline: now.Add(time.Minute)})
		if err != nil {
			return err
		}
		after := g.State
		after.Owner, after.OwnerDeadline, after.Producers = "", time.Time{}, nil
		return m.Commit(ctx, watermark.Commit{Owner: "b", From: 10, State: after})
	}}
	err := operate.NewTask(store, unaudited(t)).SetPosition(t.Context(), orders, 1, 4)
	s, _ := m.Get(t.Context(), orders)
	if !errors.Is(err, operate.ErrMoved) || s.Next != 10 || s.Owner != "" {
		t.Errorf("err %v, next %d, owner %q, want %v, 10, and it given back", err, s.Next, s.Owner, operate.ErrMoved)
	}
}

// TestSkipOfWhatGotThroughMeanwhile plays an invocation that brings the stalled record to the target after all.
func TestSkipOfWhatGotThroughMeanwhile(t *testing.T) {
	t.Parallel()
	m := begun(t, nil)
	now := time.Now()
	g, err := m.Claim(t.Context(), watermark.Claim{Partition: orders, Owner: "b", Producer: 8, Now: now, Deadline: now.Add(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	store := racing{m, func(ctx context.Context) error {
		after := g.State
		after.Owner, after.OwnerDeadline, after.Producers, after.Stall = "", time.Time{}, nil, nil
		after.Next, after.DownstreamNext, after.DownstreamLast = 11, 111, 110
		return m.Commit(ctx, watermark.Commit{Owner: "b", From: 10, State: after})
	}}
	err = operate.NewTask(store, unaudited(t)).Skip(t.Context(), orders, 2, 10)
	s, _ := m.Get(t.Context(), orders)
	if !errors.Is(err, operate.ErrNotStalled) || s.Next != 11 || s.Skips != 0 || s.Owner != "" {
		t.Errorf("err %v, next %d, skips %d, owner %q, want %v, 11, 0, and it given back", err, s.Next, s.Skips, s.Owner, operate.ErrNotStalled)
	}
}

// dying loses every commit.
type dying struct{ *watermarktest.Memory }

var errDied = errors.New("no answer")

func (dying) Commit(context.Context, watermark.Commit) error { return errDied }

// TestDeathUnderTheClaim: whoever takes the partition over next has no producer of ours to fence.
func TestDeathUnderTheClaim(t *testing.T) {
	t.Parallel()
	m := begun(t, nil)
	var audited []operate.Entry
	err := operate.NewTask(dying{m}, keep(&audited)).Skip(t.Context(), orders, 1, 10)
	s, _ := m.Get(t.Context(), orders)
	if !errors.Is(err, errDied) || s.Next != 10 || s.Owner == "" || len(s.Producers) > 0 {
		t.Errorf("err %v, next %d, owner %q, producers %v, want %v, 10, a claim, none", err, s.Next, s.Owner, s.Producers, errDied)
	}
}
