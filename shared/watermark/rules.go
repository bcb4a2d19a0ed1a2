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
	Owner     string    // a nonce that no other invocation has, retries of the same request included
	Producer  int64     // the id under which the owner will produce; None for one that produces nothing
	Now       time.Time // the claimant's clock
	Deadline  time.Time // when the owner stops handing records over
}

// Grant is a won claim.
type Grant struct {
	State State // after the claim: under the new epoch and owner, the positions as they were
	// Settle says that an earlier owner may have left records on the target past DownstreamNext: fence Foreign, or wait
	// for Until and the drain margin, and then compare the tail, before anything is sent and whatever the delivery holds.
	Settle  bool
	Foreign []int64   // producer ids of earlier owners, whose records may still be on their way
	Until   time.Time // when they hand over no more
}

// HeldError is returned while another owner's claim is alive: produce nothing; wait until Until, or fail retryably.
type HeldError struct {
	Partition mm2.TopicPartition
	Owner     string
	Until     time.Time // when the claim may be taken over
	Wanted    int64     // as the item has it
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
// granted, but what it replaced is unknown, so it always has to settle; whoever it was had their time before Now.
func (s State) Take(c Claim) (Grant, error) {
	if s.Owner == c.Owner {
		foreign := slices.DeleteFunc(slices.Clone(s.Producers), func(id int64) bool { return id == c.Producer })
		return Grant{State: s, Settle: true, Foreign: foreign, Until: c.Now}, nil
	}
	if s.Owner != "" && c.Now.Before(s.OwnerDeadline) {
		return Grant{}, &HeldError{Partition: s.Partition, Owner: s.Owner, Until: s.OwnerDeadline, Wanted: s.Wanted}
	}
	g := Grant{Settle: s.Owner != "" || len(s.Producers) > 0, Foreign: slices.Clone(s.Producers), Until: s.OwnerDeadline}
	s.Partition = c.Partition
	s.Epoch++
	s.Owner, s.OwnerDeadline = c.Owner, c.Deadline
	if s.Producers = slices.Clone(s.Producers); c.Producer != None {
		s.Producers = append(s.Producers, c.Producer)
	}
	g.State = s
	return g, nil
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
	s.TopicID, s.Origin, s.Next, s.DownstreamNext = b.TopicID, b.Next, b.Next, b.DownstreamNext
	return s, nil
}

// Commit moves a claimed partition on.
type Commit struct {
	Owner string // the holder
	From  int64  // the Next that this commit starts from; None if the partition was not begun
	Seen  int64  // the Wanted that the holder knows of
	// State is what the item says afterwards, under the holder's epoch. Without an Owner it gives the claim back. That is
	// only for a holder that knows the outcome of everything it handed over: then Producers are empty, or, when it could
	// not settle what it found, the ids that it found, and OwnerDeadline the time after which they hand over no more. A
	// holder that does not know an outcome keeps Owner, OwnerDeadline and Producers, for the next one to settle; one that
	// goes on may extend OwnerDeadline and, once all is settled, reduce Producers to its own. Wanted is what it leaves to look
	// at; only a commit that gives the claim back changes it.
	State State
}

// WantedError is returned to a holder that gives its claim back without knowing of all deliveries that left their records to
// it. One of them may have shown that the source is another log by now: look, and commit again.
type WantedError struct{ Wanted int64 }

// Error implements error.
func (e *WantedError) Error() string {
	return fmt.Sprintf("deliveries left their records, up to %d, to the claim's owner", e.Wanted)
}

// Commit decides a commit. It needs epoch, owner and the Next it starts from: without the last, a delayed duplicate of an
// older commit of the same claim moves Next back. One that gives the claim back has to know of all that was left to its
// owner ([*WantedError]). One that was applied already is granted again. Anything else is [ErrOvertaken].
func (s State) Commit(c Commit) (State, error) {
	if s.heldBy(c.Owner, c.State.Epoch) && s.Next == c.From {
		to := c.State
		switch released := to.Owner == ""; {
		case !released:
			to.Wanted = s.Wanted
		case s.Wanted != c.Seen:
			return s, &WantedError{s.Wanted}
		}
		return to, nil
	}
	if c.Owner != "" && s.Epoch == c.State.Epoch && s.Owner == c.State.Owner && s.Next == c.State.Next {
		return s, nil // epochs are never shared: only this holder can have written its Next under its epoch
	}
	return s, ErrOvertaken
}

// Leave leaves the records of a delivery to the owner of a live claim, who reads them from the source.
type Leave struct {
	Partition mm2.TopicPartition
	Owner     string // the one that was met
	Seen      int64  // the Wanted that was met with it
	Wanted    int64  // behind the delivery's last record, and more than Seen: two deliveries are told apart
}

// Leave decides a leave. The claim has to be that owner's still, and nobody else may have left records meanwhile, else it is
// [ErrOvertaken]: claim again.
func (s State) Leave(l Leave) (State, error) {
	if l.Owner == "" || s.Owner != l.Owner || s.Wanted != l.Seen {
		return s, ErrOvertaken
	}
	s.Wanted = l.Wanted
	return s, nil
}

// heldBy says whether a claim is still its owner's. Nobody is no owner.
func (s State) heldBy(owner string, epoch int64) bool {
	return owner != "" && s.Owner == owner && s.Epoch == epoch
}
