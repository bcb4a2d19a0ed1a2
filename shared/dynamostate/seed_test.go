package dynamostate_test

import (
	"errors"
	"testing"
	"time"

	"tidemark/shared/dynamostate"
)

// TestSeed: a seed sets where a partition begins, once, and never moves one that has begun.
func TestSeed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	ctx := t.Context()
	if err := b.store.Wait(ctx); !errors.Is(err, dynamostate.ErrUnseen) {
		t.Errorf("Wait before the flow was seen: %v, want ErrUnseen", err)
	}
	for _, next := range []int64{41, 77} {
		if err := b.store.Seed(ctx, tp, next); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.store.See(ctx, time.UnixMilli(5)); err != nil {
		t.Fatal(err)
	}
	if seen, err := b.store.Seen(ctx); err != nil || !seen || b.store.Wait(ctx) != nil {
		t.Errorf("Seen = %t, %v, want true", seen, err)
	}
	s, err := b.store.Get(ctx, tp)
	if err != nil || s.Next != 41 || s.Begun() {
		t.Errorf("item = %+v, %v, want next 41, not begun", s, err)
	}
	g, err := b.store.Claim(ctx, claimAt("a", 1_000_000))
	if err != nil || g.State.Next != 41 || g.Settle {
		t.Errorf("claim = %+v, %v, want a clean one at 41", g, err)
	}
	for s, err := range b.store.All(ctx) { // the flow's own items are no partitions
		if err != nil || s.Partition != tp {
			t.Errorf("All yields %+v, %v", s, err)
		}
	}
}
