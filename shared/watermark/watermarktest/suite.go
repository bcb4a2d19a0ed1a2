package watermarktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// Store is what the suite tests; mirror and the other use cases each ask for the part they use.
type Store interface {
	Claim(ctx context.Context, c watermark.Claim) (watermark.Grant, error)
	Begin(ctx context.Context, b watermark.Begin) error
	Commit(ctx context.Context, c watermark.Commit) error
	Leave(ctx context.Context, l watermark.Leave) error
	// Get returns a state, strongly consistent; a blank one if the partition was never claimed.
	Get(ctx context.Context, tp mm2.TopicPartition) (watermark.State, error)
}

// Run runs the suite against a store that starts empty.
func Run(t *testing.T, store Store) {
	t.Helper()
	t.Run("blank", func(t *testing.T) { blank(t, store) })
	t.Run("round trip", func(t *testing.T) { roundTrip(t, store) })
	t.Run("one winner", func(t *testing.T) { oneWinner(t, store) })
	t.Run("same as the rules", func(t *testing.T) { sameAsRules(t, store) })
}

// instant is a time that survives a store: milliseconds, as the item keeps them.
func instant(ms int64) time.Time { return time.UnixMilli(1_700_000_000_000 + ms) }

func blank(t *testing.T, store Store) {
	t.Helper()
	tp := mm2.TopicPartition{Topic: "never.claimed-yet", Partition: 7}
	got, err := store.Get(t.Context(), tp)
	if err != nil {
		t.Fatalf("Get(%s): %v", tp, err)
	}
	if diff := cmp.Diff(watermark.New(tp), got, equal()); diff != "" {
		t.Errorf("Get of a partition never claimed (-want +got):\n%s", diff)
	}
}

// roundTrip takes one partition through its life and checks every attribute on the way.
func roundTrip(t *testing.T, store Store) {
	t.Helper()
	ctx, tp := t.Context(), mm2.TopicPartition{Topic: "round-trip", Partition: 3}
	want := watermark.New(tp)
	check := func(when string) {
		t.Helper()
		got, err := store.Get(ctx, tp)
		if err != nil {
			t.Fatalf("%s: Get: %v", when, err)
		}
		if diff := cmp.Diff(want, got, equal()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	claim := watermark.Claim{Partition: tp, Owner: "a", Producer: 41, Now: instant(0), Deadline: instant(20_000)}
	grant, err := store.Claim(ctx, claim)
	if err != nil || grant.Settle {
		t.Fatalf("first claim: settle %t, err %v, want a clean grant", grant.Settle, err)
	}
	want.Epoch, want.Owner, want.OwnerDeadline, want.Producers = 1, "a", instant(20_000), []int64{41}
	check("after the first claim")
	if diff := cmp.Diff(want, grant.State, equal()); diff != "" {
		t.Errorf("granted state (-want +got):\n%s", diff)
	}
	if err := store.Begin(ctx, watermark.Begin{Partition: tp, Epoch: 1, Owner: "a", TopicID: "id-1", Next: 0, DownstreamNext: 12}); err != nil {
		t.Fatalf("Begin: %v", err)
	}
	want.TopicID, want.Next, want.DownstreamNext = "id-1", 0, 12
	check("after the beginning")
	for wanted := int64(1); wanted <= 6; wanted++ {
		if err := store.Leave(ctx, watermark.Leave{Partition: tp, Owner: "a", Seen: want.Wanted, Wanted: wanted}); err != nil {
			t.Fatalf("Leave: %v", err)
		}
		want.Wanted = wanted
	}
	check("after deliveries left their records")
	commit := func(when string, from int64) {
		t.Helper()
		if err := store.Commit(ctx, watermark.Commit{Owner: "a", From: from, Seen: 6, State: want}); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		check("after " + when)
	}
	want.Next, want.DownstreamNext, want.DownstreamLast, want.NextDigest = 1<<40, 1<<41, 1<<41-2, []byte{0, 255, 7}
	want.Origin = 77
	want.TrustFrom, want.Runs, want.Skips, want.Lost = 1<<42, []byte{1, 0, 255}, 2, 3
	want.Stall = &watermark.Stall{Offset: 1 << 40, Since: instant(5), Kind: watermark.Refused, Reason: "record too large", Attempts: 3, RetryAt: instant(9)}
	want.AdvancedAt, want.RecordTimestamp, want.OwnerDeadline = instant(6), time.UnixMilli(-1), instant(30_000)
	commit("a commit that keeps the claim", 0)
	want.Owner, want.OwnerDeadline, want.Producers, want.Stall, want.RecordTimestamp = "", time.Time{}, nil, nil, time.Time{}
	want.TrustFrom, want.Runs, want.Skips, want.Lost, want.NextDigest, want.Wanted = 0, nil, 0, 0, nil, 0
	commit("the releasing commit", 1<<40)
}

// oneWinner lets many invocations claim one partition at once: one wins, the others learn until when it is held.
func oneWinner(t *testing.T, store Store) {
	t.Helper()
	ctx, tp := t.Context(), mm2.TopicPartition{Topic: "one-winner", Partition: 0}
	const claimants = 16
	errs := make([]error, claimants)
	var wg sync.WaitGroup
	for i := range claimants {
		wg.Go(func() {
			_, errs[i] = store.Claim(ctx, watermark.Claim{
				Partition: tp, Owner: fmt.Sprint("owner-", i), Producer: int64(i), Now: instant(0), Deadline: instant(10),
			})
		})
	}
	wg.Wait()
	won := 0
	for i, err := range errs {
		var held *watermark.HeldError
		switch {
		case err == nil:
			won++
		case !errors.As(err, &held):
			t.Errorf("claim %d: %v, want a HeldError", i, err)
		case !held.Until.Equal(instant(10)):
			t.Errorf("claim %d: held until %v, want %v", i, held.Until, instant(10))
		}
	}
	if won != 1 {
		t.Errorf("%d of %d claims won, want 1", won, claimants)
	}
}

// sameAsRules plays random claims, beginnings, leaves and commits, repeats and stale ones among them, on the store and on the
// pure rules, and wants the same answers and the same state after each.
func sameAsRules(t *testing.T, store Store) {
	t.Helper()
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		tp := mm2.TopicPartition{Topic: "same-as-rules", Partition: int32(run)}
		model, now := watermark.New(tp), int64(0)
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			now += rapid.Int64Range(0, 15).Draw(r, "pause")
			var got, want error
			change := func(next watermark.State, err error) {
				if want = err; err == nil {
					model = next
				}
			}
			switch rapid.IntRange(0, 3).Draw(r, "step") {
			case 0:
				c := drawClaim(r, tp, now)
				var grant, expected watermark.Grant
				grant, got = store.Claim(t.Context(), c)
				expected, want = model.Take(c)
				if want == nil {
					model = expected.State
					if diff := cmp.Diff(expected, grant, equal()); got == nil && diff != "" {
						r.Fatalf("grant (-rules +store):\n%s", diff)
					}
				}
			case 1:
				b := drawBegin(r, model)
				got = store.Begin(t.Context(), b)
				change(model.Begin(b))
			case 2:
				c := drawCommit(r, model, now)
				got = store.Commit(t.Context(), c)
				change(model.Commit(c))
			case 3:
				l := drawLeave(r, model)
				got = store.Leave(t.Context(), l)
				change(model.Leave(l))
			}
			if !sameError(got, want) {
				r.Fatalf("store answers %v, the rules %v", got, want)
			}
			state, err := store.Get(t.Context(), tp)
			if err != nil {
				r.Fatalf("Get: %v", err)
			}
			if diff := cmp.Diff(model, state, equal()); diff != "" {
				r.Fatalf("state (-rules +store):\n%s", diff)
			}
		}
	})
}

func drawClaim(r *rapid.T, tp mm2.TopicPartition, now int64) watermark.Claim {
	return watermark.Claim{
		Partition: tp, Owner: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "owner"), Producer: rapid.Int64Range(-1, 3).Draw(r, "producer"),
		Now: instant(now), Deadline: instant(now + rapid.Int64Range(1, 20).Draw(r, "length")),
	}
}

func drawBegin(r *rapid.T, s watermark.State) watermark.Begin {
	return watermark.Begin{
		Partition: s.Partition, Epoch: s.Epoch - rapid.Int64Range(0, 1).Draw(r, "stale"), Owner: rapid.SampledFrom([]string{s.Owner, "a"}).Draw(r, "owner"),
		TopicID: "id", Next: rapid.Int64Range(0, 1).Draw(r, "next"), DownstreamNext: rapid.Int64Range(0, 1).Draw(r, "downstream"),
	}
}

func drawCommit(r *rapid.T, s watermark.State, now int64) watermark.Commit {
	c := watermark.Commit{Owner: rapid.SampledFrom([]string{s.Owner, "a", "b"}).Draw(r, "owner"), From: s.Next, Seen: s.Wanted, State: s}
	if rapid.IntRange(0, 3).Draw(r, "seen") == 0 {
		c.Seen = rapid.Int64Range(0, 2).Draw(r, "another")
	}
	c.State.Wanted = rapid.SampledFrom([]int64{0, s.Wanted}).Draw(r, "wanted")
	c.From = max(c.From-rapid.Int64Range(0, 1).Draw(r, "behind"), watermark.None)
	to := &c.State
	to.Epoch -= rapid.Int64Range(0, 1).Draw(r, "stale")
	to.TopicID, to.AdvancedAt, to.RecordTimestamp = "id", instant(now), instant(0)
	to.Owner = c.Owner
	switch rapid.IntRange(0, 2).Draw(r, "claim") {
	case 0: // given back
		to.Owner, to.OwnerDeadline, to.Producers = "", time.Time{}, nil
	case 1: // given back, not settled
		to.Owner, to.OwnerDeadline, to.Producers = "", instant(now), []int64{1, 2}
	}
	if to.Owner != "" && to.OwnerDeadline.IsZero() {
		to.OwnerDeadline = instant(now)
	}
	if s.Begun() {
		n := rapid.Int64Range(-1, 2).Draw(r, "records")
		to.Next, to.DownstreamNext, to.DownstreamLast = max(s.Next+n, 0), s.DownstreamNext+max(n, 0), s.DownstreamNext+max(n-1, 0)
		to.NextDigest, to.Runs, to.Lost = []byte{byte(n)}, []byte{1, byte(n)}, s.Lost+max(n, 0)
	}
	if rapid.Bool().Draw(r, "stalled") {
		to.Stall = &watermark.Stall{Offset: to.Next, Since: instant(now), Reason: "reason", Attempts: 1}
	}
	return c
}

func drawLeave(r *rapid.T, s watermark.State) watermark.Leave {
	l := watermark.Leave{Partition: s.Partition, Owner: rapid.SampledFrom([]string{s.Owner, "a", ""}).Draw(r, "owner"), Seen: s.Wanted}
	if rapid.IntRange(0, 3).Draw(r, "seen") == 0 {
		l.Seen = rapid.Int64Range(0, 2).Draw(r, "another")
	}
	l.Wanted = l.Seen + rapid.Int64Range(1, 2).Draw(r, "records")
	return l
}

func sameError(got, want error) bool {
	var gotHeld, wantHeld *watermark.HeldError
	if errors.As(got, &gotHeld) && errors.As(want, &wantHeld) {
		return gotHeld.Owner == wantHeld.Owner && gotHeld.Until.Equal(wantHeld.Until) && gotHeld.Wanted == wantHeld.Wanted
	}
	var gotWanted, wantWanted *watermark.WantedError
	if errors.As(got, &gotWanted) && errors.As(want, &wantWanted) {
		return *gotWanted == *wantWanted
	}
	return errors.Is(got, want) || got == nil && want == nil
}

// equal compares states as a store can keep them: nil and empty lists are one, times are instants.
func equal() cmp.Option {
	return cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)}
}
