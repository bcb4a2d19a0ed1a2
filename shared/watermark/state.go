// Package watermark is the durable truth about one source partition: how far it is mirrored, and who may move it.
//
// [State] is the item. It changes in four ways only: a [Claim] takes it for one epoch, a [Begin] gives it its positions
// at the first contact, a [Commit] moves it on, and a [Leave] tells its owner of a delivery that does not wait for it.
// Whoever holds an older epoch can change nothing. The package decides what each may do and is pure: no I/O, no clock.
// Stores make the decision atomic; package watermarktest runs one suite over every store, and its in-memory store calls
// nothing but these rules.
package watermark

import (
	"time"

	"tidemark/shared/mm2"
)

// None is the value of an offset that is not set.
const None int64 = -1

// State is the state of one source partition. Get a blank one from [New]: the zero State has offsets 0, not [None].
// Times have millisecond precision; a zero time is not set.
type State struct {
	Partition mm2.TopicPartition

	Epoch         int64     // rises by one with every claim; 0 before the first
	Owner         string    // nonce of the invocation that holds the claim; empty when released
	OwnerDeadline time.Time // from here on neither the owner nor any of Producers hands anything to the target; not set when released
	Producers     []int64   // producer ids that may still have records on their way to the target; empty when released
	Wanted        int64     // deliveries left their records, up to here at most, to an owner; higher with each; 0: none, or all were looked at

	TopicID         string    // the source topic's id (KIP-516) that the positions belong to; empty where brokers have none
	Origin          int64     // first upstream offset that is mirrored at all; what lies below is not wanted
	Next            int64     // next upstream offset to mirror; None before the first contact
	DownstreamNext  int64     // next downstream offset expected; None before the first contact
	DownstreamLast  int64     // downstream offset of the newest mirrored record; None until one was mirrored
	NextDigest      []byte    // digest of the record at Next-1; nil when there is none, or it is not known
	TrustFrom       int64     // below it a delivery may hold records of a log that is no more: the source is read instead
	Runs            []byte    // where the newest records stand on the target, in package offsetsync's coding; nil: not known
	Skips           int64     // records that were passed over on purpose, all told
	Lost            int64     // offsets that were gone from the source before they were mirrored, all told
	Stall           *Stall    // why the watermark does not move; nil when it does
	AdvancedAt      time.Time // when Next moved last
	RecordTimestamp time.Time // timestamp of the newest mirrored record
}

// Stall says why a watermark does not move.
type Stall struct {
	Offset   int64     // the upstream offset that does not get through
	Since    time.Time // when an attempt at Offset failed first
	Kind     Kind      // who can help
	Reason   string    // for a person: what failed and what to check
	Attempts int64     // failed attempts at Offset
	RetryAt  time.Time // a parked partition is not tried before; zero: it is not parked
}

// Kind says who can help a stalled watermark.
type Kind string

// The kinds of stalls. They are part of the item.
const (
	Transient   Kind = "transient" // time: a throttle, a leader that moves, a timeout
	NeedsPerson Kind = "person"    // whoever grants rights or makes topics
	Refused     Kind = "refused"   // whoever raises the target's limits: the record is refused as it stands
)

// New returns the state of a partition that was never claimed.
func New(tp mm2.TopicPartition) State {
	return State{Partition: tp, Next: None, DownstreamNext: None, DownstreamLast: None}
}

// Begun says whether the positions are set.
func (s State) Begun() bool { return s.Next != None && s.DownstreamNext != None }
