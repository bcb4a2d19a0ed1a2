package watermark_test

import (
	"errors"
	"testing"
	"time"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
	"tidemark/shared/watermark/watermarktest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	watermarktest.Run(t, &watermarktest.Memory{})
}

func at(ms int64) time.Time { return time.UnixMilli(ms) }

func TestTake(t *testing.T) {
	t.Parallel()
	tp := mm2.TopicPartition{Topic: "t"}
	claim := watermark.Claim{Partition: tp, Owner: "me", Producer: 9, Now: at(100), Deadline: at(200)}
	held := watermark.State{Partition: tp, Epoch: 4, Owner: "other", OwnerDeadline: at(101), Producers: []int64{1}, Next: 10, DownstreamNext: 20}
	tests := []struct {
		name   string
		change func(*watermark.State)
		held   bool
		epoch  int64
		settle bool
	}{
		{"released", func(s *watermark.State) { s.Owner, s.Producers = "", nil }, false, 5, false},
		{"alive until its deadline", func(*watermark.State) {}, true, 0, false},
		{"taken over at its deadline", func(s *watermark.State) { s.OwnerDeadline = at(100) }, false, 5, true},
		{"without owner, producers left", func(s *watermark.State) { s.Owner = "" }, false, 5, true},
		{"won before, the answer lost", func(s *watermark.State) { s.Owner = "me" }, false, 4, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := held
			test.change(&s)
			grant, err := s.Take(claim)
			if got := err != nil; got != test.held {
				t.Fatalf("Take: err %v, want held %t", err, test.held)
			}
			if err == nil && (grant.State.Epoch != test.epoch || grant.Settle != test.settle || grant.State.Owner != "me") {
				t.Errorf("Take = epoch %d, owner %q, settle %t, want epoch %d, owner \"me\", settle %t",
					grant.State.Epoch, grant.State.Owner, grant.Settle, test.epoch, test.settle)
			}
		})
	}
}

func TestCommitRefusesADelayedDuplicate(t *testing.T) {
	t.Parallel()
	s := watermark.State{Epoch: 1, Owner: "a", Next: 0, DownstreamNext: 0, Producers: []int64{1}}
	to := func(next int64) watermark.Commit {
		c := watermark.Commit{Owner: "a", From: next - 1, State: s}
		c.State.Next, c.State.DownstreamNext = next, next
		return c
	}
	first, second := to(1), to(2)
	for _, c := range []watermark.Commit{first, first, second, second} {
		var err error
		if s, err = s.Commit(c); err != nil {
			t.Fatalf("Commit from %d to %d: %v", c.From, c.State.Next, err)
		}
	}
	after, err := s.Commit(first)
	if !errors.Is(err, watermark.ErrOvertaken) || after.Next != 2 {
		t.Errorf("delayed duplicate: next %d, err %v, want next 2, ErrOvertaken", after.Next, err)
	}
}

// TestNothingLeftIsForgotten: an owner gives its claim back only when it knows of all deliveries that left their records.
func TestNothingLeftIsForgotten(t *testing.T) {
	t.Parallel()
	s := watermark.State{Epoch: 1, Owner: "c:1", Next: 5}
	back := func(seen, wanted int64) watermark.Commit {
		to := s
		to.Owner, to.Wanted = "", wanted
		return watermark.Commit{Owner: "c:1", From: 5, Seen: seen, State: to}
	}
	leave := func(owner string, seen, wanted int64) error {
		after, err := s.Leave(watermark.Leave{Owner: owner, Seen: seen, Wanted: wanted})
		s = after
		return err
	}
	if err := leave("c:2", 0, 6); !errors.Is(err, watermark.ErrOvertaken) || s.Wanted != 0 {
		t.Errorf("left to who has no claim: %v, wanted %d", err, s.Wanted)
	}
	if err := leave("c:1", 0, 6); err != nil || s.Wanted != 6 {
		t.Fatalf("first leave: %v, wanted %d", err, s.Wanted)
	}
	if err := leave("c:1", 0, 6); !errors.Is(err, watermark.ErrOvertaken) || s.Wanted != 6 {
		t.Errorf("a leave that does not know of the first: %v, wanted %d", err, s.Wanted)
	}
	wanted := (*watermark.WantedError)(nil)
	if after, err := s.Commit(back(0, 0)); !errors.As(err, &wanted) || wanted.Wanted != 6 || after.Owner != "c:1" {
		t.Errorf("given back unknowing: %v, owner %q", err, after.Owner)
	}
	keep := back(0, 0)
	keep.State.Owner, keep.State.Next = "c:1", 6
	if after, err := s.Commit(keep); err != nil || after.Wanted != 6 || after.Next != 6 {
		t.Errorf("kept: %v, wanted %d, next %d", err, after.Wanted, after.Next)
	}
	if after, err := s.Commit(back(6, 0)); err != nil || after.Owner != "" || after.Wanted != 0 {
		t.Errorf("given back knowing: %v, owner %q, wanted %d", err, after.Owner, after.Wanted)
	}
}
