package watermark

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/shared/mm2"
)

// Claim asks for one partition.
type Claim struct {
	Partition mm2.TopicPartition
	Owner     string        // a nonce that no other invocation has, retries of the same request included
	Producer  int64         // the id under which the owner will produce
	Now       time.Time     // the claimant's clock
	Deadline  time.Time     // when the owner stops handing records over
	Drain     time.Duration // how long past its deadline an owner's records may still land: the waiting rule
}

// Grant is a won claim.
type Grant struct {
	State State // after the claim: under the new epoch and owner, the positions as they were
	// Settle says that an earlier owner may have left records on the target past DownstreamNext: compare its tail before
	// anything is sent, whatever the delivery holds.
	Settle bool
}

// HeldError is returned while another owner's claim is alive: produce nothing; wait until Until, or fail retryably.
type HeldError struct {
	Partition mm2.TopicPartition
	Owner     string
	Until     time.Time // when the claim may be taken over, drain margin included
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("partition %s is claimed until %s", e.Partition, e.Until.UTC().Format(time.RFC3339Nano))
}

// ErrOvertaken is returned to a holder whose claim is no longer its own: stop, report failure, change nothing.
var ErrOvertaken = errors.New("claim was taken over by another invocation")

// Take decides a claim. The error is a [*HeldError] while another claim is alive.
//
// A claim that shows its own owner was won before and its answer lost (the SDK repeats a request without an answer). It is
// granted, but what it replaced is unknown, so it always has to settle.
func (s State) Take(c Claim) (Grant, error) {
	if s.Owner == c.Owner {
		return Grant{State: s, Settle: true}, nil
	}
	if until := s.OwnerDeadline.Add(c.Drain); s.Owner != "" && c.Now.Before(until) {
		return Grant{}, &HeldError{Partition: s.Partition, Owner: s.Owner, Until: until}
	}
	settle := s.Owner != "" || len(s.Producers) > 0
	s.Partition = c.Partition
	s.Epoch++
	s.Owner, s.OwnerDeadline = c.Owner, c.Deadline
	s.Producers = append(slices.Clone(s.Producers), c.Producer)
	return Grant{State: s, Settle: settle}, nil
}

// Begin sets the positions of a partition at the first contact, before anything is produced, so that even a crash of the
// first invocation can be settled.
type Begin struct {
	Partition      mm2.TopicPartition
	Epoch          int64
	Owner          string
	TopicID        string
	Next           int64 // where mirroring starts
	DownstreamNext int64 // the remote partition's log end, not its high watermark
}

// Begin decides a beginning. It needs epoch and owner, and a partition whose DownstreamNext is not set: an owner that was
// overtaken between reading the log end and writing it must not write an old end under its successor ([ErrOvertaken]).
// One that was applied already is granted again.
func (s State) Begin(b Begin) (State, error) {
	switch {
	case !s.heldBy(b.Owner, b.Epoch):
		return s, ErrOvertaken
	case s.DownstreamNext != None && (s.DownstreamNext != b.DownstreamNext || s.Next != b.Next):
		return s, ErrOvertaken
	}
	s.TopicID, s.Next, s.DownstreamNext = b.TopicID, b.Next, b.DownstreamNext
	return s, nil
}

// Commit moves a claimed partition on.
type Commit struct {
	Partition mm2.TopicPartition
	Epoch     int64
	Owner     string
	From      int64 // the Next that this commit starts from; None if the partition was not begun

	TopicID         string
	Next            int64
	DownstreamNext  int64
	DownstreamLast  int64
	NextDigest      []byte
	Stall           *Stall // nil clears it
	AdvancedAt      time.Time
	RecordTimestamp time.Time

	// Release gives the claim back and empties Producers. Only for a holder that knows the outcome of everything it
	// handed over and has settled what it found; otherwise owner, deadline and producers stay, for the next owner to settle.
	Release bool
	// Left are the producer ids that a released claim leaves behind: none once everything is settled.
	Left []int64
}

// Commit decides a commit. It needs epoch, owner and the Next it starts from: without the last, a delayed duplicate of an
// older commit of the same claim moves Next back. One that was applied already is granted again. Anything else is
// [ErrOvertaken].
func (s State) Commit(c Commit) (State, error) {
	if !s.heldBy(c.Owner, c.Epoch) || s.Next != c.From {
		if s.applied(c) {
			return s, nil
		}
		return s, ErrOvertaken
	}
	s.TopicID, s.Next, s.DownstreamNext = c.TopicID, c.Next, c.DownstreamNext
	s.DownstreamLast, s.NextDigest = c.DownstreamLast, c.NextDigest
	s.Stall, s.AdvancedAt, s.RecordTimestamp = c.Stall, c.AdvancedAt, c.RecordTimestamp
	if c.Release {
		s.Owner, s.OwnerDeadline, s.Producers = "", time.Time{}, c.Left
	}
	return s, nil
}

// heldBy says whether a claim is still its owner's. Nobody is no owner.
func (s State) heldBy(owner string, epoch int64) bool {
	return owner != "" && s.Owner == owner && s.Epoch == epoch
}

// applied recognizes a commit whose answer was lost. Epochs are never shared, so my epoch and my Next, without an owner
// or still with me, can only be my own doing.
func (s State) applied(c Commit) bool {
	owner := c.Owner
	if c.Release {
		owner = ""
	}
	return c.Owner != "" && s.Epoch == c.Epoch && s.Owner == owner && s.Next == c.Next
}
