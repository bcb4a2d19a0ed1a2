package mirror

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// Delivery is what one event brings of one source partition.
type Delivery struct {
	Key       string // the event's own name of the partition, repeated verbatim in the answer
	Partition mm2.TopicPartition

	// Offsets are the upstream offsets of Records, in the event's order. They are kept apart because the client writes
	// the downstream offset into Record.Offset when a record is acknowledged.
	Offsets []int64
	// Records hold key, value, headers and timestamp as the source has them. Topic and Partition are not set: the task
	// routes them. They point into the event's payload, which is valid only until the handler answers.
	Records []*kgo.Record

	// Fault is why the delivery ends before the event does: a record that cannot be decoded. Nil if all could.
	Fault error
	// Unread are the offsets of the records from the malformed one on, as far as the event tells them. A malformed record
	// whose offset cannot be read counts as -1.
	Unread []int64
}

// Outcome is how far one partition of an event got.
type Outcome struct {
	Key string
	// Undelivered are the delivery's offsets that the trigger must bring again: all from the first one on that is not
	// known to be durable on the target, unread ones included. Empty iff Err is nil.
	Undelivered []int64
	// Err says what stopped the partition; nil when the trigger need not bring anything again.
	Err error
	// Parked says why records that are not on the target need not be brought again all the same: the partition is parked,
	// its watermark stays, and a later delivery or a catch-up reads them from the source. Nil when all of them are durable
	// and the watermark is written.
	Parked error

	stall *watermark.Stall // of a parked partition
}
