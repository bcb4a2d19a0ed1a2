package mirror

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Limits are what the brokers of a topic refuse. A zero limit is none.
type Limits struct {
	MaxMessageBytes int           // max.message.bytes: the largest record batch
	Before, After   time.Duration // message.timestamp.before.max.ms, after.max.ms: how far a timestamp may be from the broker's clock (KIP-937)
}

// RefusedError says that the target refuses a record for good, as it stands.
type RefusedError struct {
	Offset int64 // upstream
	Reason string
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("record %d is refused by the target: %s", e.Offset, e.Reason)
}

// choose returns the part of a piece that the target takes: the send list ends before the first record that it would
// refuse. A broker's verdict covers every record of its batch, so it is better not to ask for one.
func (t *Task) choose(ctx context.Context, p *progress, piece Piece) (Piece, error) {
	limits, err := t.target.Limits(ctx, p.remote.Topic)
	if err != nil {
		return Piece{}, fmt.Errorf("limits of %s: %w", p.remote.Topic, err)
	}
	now := time.Now()
	for i, r := range piece.Records {
		if reason := limits.refuse(r, now); reason != "" {
			t.target.ForgetLimits(p.remote.Topic)
			return Piece{Offsets: piece.Offsets[:i], Records: piece.Records[:i]}, &RefusedError{Offset: piece.Offsets[i], Reason: reason}
		}
	}
	return piece, nil
}

// refuse says why the target would refuse a record; empty when it would not.
func (l Limits) refuse(r *kgo.Record, now time.Time) string {
	if size := batchSize(r); l.MaxMessageBytes > 0 && size > l.MaxMessageBytes {
		return fmt.Sprintf("%d bytes in a batch of its own, max.message.bytes is %d: raise it on the remote topic", size, l.MaxMessageBytes)
	}
	switch age := now.Sub(r.Timestamp); {
	case l.Before > 0 && age > l.Before:
		return fmt.Sprintf("its timestamp is %s old, message.timestamp.before.max.ms is %d: raise it on the remote topic", age, l.Before.Milliseconds())
	case l.After > 0 && -age > l.After:
		return fmt.Sprintf("its timestamp is %s ahead, message.timestamp.after.max.ms is %d: raise it on the remote topic", -age, l.After.Milliseconds())
	}
	return ""
}

// batchSize is the most that a record takes in an uncompressed batch of its own (record batch v2: 61 bytes of header; a
// record's length, attributes, timestamp and offset deltas, and a length before each field, at most 5 or 10 bytes each).
func batchSize(r *kgo.Record) int {
	const header, record, field = 61, 5 + 1 + 10 + 5 + 5, 5
	size := header + record + 2*field + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		size += 2*field + len(h.Key) + len(h.Value)
	}
	return size
}
