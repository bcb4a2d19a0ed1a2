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
	claim := watermark.Claim{Partition: tp, Owner: "me", Producer: 9, Now: at(100), Deadline: at(200), Drain: 5 * time.Millisecond}
	held := watermark.State{Partition: tp, Epoch: 4, Owner: "other", OwnerDeadline: at(96), Producers: []int64{1}, Next: 10, DownstreamNext: 20}
	tests := []struct {
		name   string
		change func(*watermark.State)
		held   bool
		epoch  int64
		settle bool
	}{
		{"released", func(s *watermark.State) { s.Owner, s.Producers = "", nil }, false, 5, false},
		{"alive until its drain margin is over", func(*watermark.State) {}, true, 0, false},
		{"taken over at the end of the margin", func(s *watermark.State) { s.OwnerDeadline = at(95) }, false, 5, true},
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
	first := watermark.Commit{Epoch: 1, Owner: "a", From: 0, Next: 1, DownstreamNext: 1}
	second := watermark.Commit{Epoch: 1, Owner: "a", From: 1, Next: 2, DownstreamNext: 2}
	for _, c := range []watermark.Commit{first, first, second, second} {
		var err error
		if s, err = s.Commit(c); err != nil {
			t.Fatalf("Commit from %d to %d: %v", c.From, c.Next, err)
		}
	}
	after, err := s.Commit(first)
	if !errors.Is(err, watermark.ErrOvertaken) || after.Next != 2 {
		t.Errorf("delayed duplicate: next %d, err %v, want next 2, ErrOvertaken", after.Next, err)
	}
}

func TestUnreleasedCommitKeepsWhatTheNextOwnerNeeds(t *testing.T) {
	t.Parallel()
	s := watermark.State{Epoch: 3, Owner: "a", OwnerDeadline: at(7), Next: 0, DownstreamNext: 0, Producers: []int64{1, 2}}
	s, err := s.Commit(watermark.Commit{Epoch: 3, Owner: "a", From: 0, Next: 5, DownstreamNext: 5})
	if err != nil || s.Owner != "a" || !s.OwnerDeadline.Equal(at(7)) || len(s.Producers) != 2 || s.Next != 5 {
		t.Errorf("commit with an unknown outcome = %+v, %v, want next 5 and the claim as it was", s, err)
	}
}
