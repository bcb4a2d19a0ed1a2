package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
	"tidemark/shared/tracker"
)

// Target is the cluster that is written.
type Target interface {
	Log
	// ClusterID returns the cluster's id; empty where brokers tell none.
	ClusterID(ctx context.Context) (string, error)
	// Ensure makes a topic with that many partitions, or adds the missing ones, and returns when they can be written.
	Ensure(ctx context.Context, topic string, partitions int32) error
	// Limits returns what the topic's brokers refuse. The answer may be minutes old.
	Limits(ctx context.Context, topic string) (Limits, error)
	// Fence makes the partition's leader refuse whatever these producers send from now on, and returns once that stands
	// replicated behind everything that they appended before. ErrFenceRefused where the cluster does not let us.
	Fence(ctx context.Context, tp mm2.TopicPartition, producers []int64) error
	// ForgetLimits makes the next Limits ask the brokers: somebody may be about to raise one.
	ForgetLimits(topic string)
	// Producer returns an idempotent producer for one partition at a time, to be released.
	Producer(ctx context.Context) (Producer, error)
}

// Producer writes for one owner at a time.
type Producer interface {
	// ID is the producer id that the brokers know its records by. It does not change before Release.
	ID() int64
	// Produce appends records of one partition, in order, and waits until they are durable on all in-sync replicas. It
	// returns how many are, counted from the first; their Offset is then the downstream one. n < len(records) iff err is
	// not nil. Unless err is ErrUnknown, none of records[n:] is on the target or ever will be. Nothing is handed over once
	// ctx has ended, and when Produce returns no record is referenced any more.
	Produce(ctx context.Context, records []*kgo.Record) (n int, err error)
	// Release gives the producer back. One that saw a failure is closed instead: a client with records under way must not
	// be used for another claim.
	Release()
}

// ErrRefused means that a broker validated a batch and refused it: none of it is on the target or ever will be. Some
// record of the batch is the reason.
var ErrRefused = errors.New("the broker refuses the batch")

// ErrUnknown means that records may be on the target, or may still land there until the drain margin has passed.
var ErrUnknown = errors.New("outcome of produce is unknown")

// deliver brings a piece to the target and moves the watermark behind its last durable record, whatever happens. A record
// that the target refuses for good ends it, unless there is a topic for such records: then it goes there, alone, and the
// rest of the piece follows.
func (t *Task) deliver(ctx context.Context, p *progress, piece Piece) error {
	for {
		chosen, refusal := t.choose(ctx, p, piece)
		if err := t.send(ctx, p, chosen); err != nil {
			return errors.Join(err, t.buryFirst(ctx, p, err, chosen))
		}
		var refused *RefusedError
		if !errors.As(refusal, &refused) || t.options.DeadLetter == "" {
			return refusal
		}
		n := len(chosen.Offsets)
		if err := t.bury(ctx, p, refused, piece.Records[n]); err != nil {
			return err
		}
		piece = Piece{Offsets: piece.Offsets[n+1:], Records: piece.Records[n+1:]}
	}
}

// send hands records over, and moves the watermark behind those that are durable. A broker's verdict covers every record
// of its batch, so the first record at an offset that failed before goes alone: what is refused then is refused for good.
func (t *Task) send(ctx context.Context, p *progress, piece Piece) error {
	if s := p.state.Stall; s != nil && s.Offset == p.state.Next && len(piece.Offsets) > 1 {
		if err := t.hand(ctx, p, Piece{Offsets: piece.Offsets[:1], Records: piece.Records[:1]}); err != nil {
			return err
		}
		piece = Piece{Offsets: piece.Offsets[1:], Records: piece.Records[1:]}
	}
	return t.hand(ctx, p, piece)
}

func (t *Task) hand(ctx context.Context, p *progress, piece Piece) error {
	if len(piece.Offsets) == 0 {
		return nil
	}
	if err := register(p.tracker, piece.Offsets); err != nil {
		return err
	}
	n, err := p.produce(ctx, piece.Records)
	if errDiscontinuity := t.resolve(ctx, p, piece, n); err == nil {
		err = errDiscontinuity
	}
	if errors.Is(err, ErrRefused) && len(piece.Offsets) == 1 {
		return &RefusedError{Offset: piece.Offsets[0], Reason: err.Error()}
	}
	if errors.Is(err, ErrMissing) { // it was deleted
		topic, errTopic := t.source.Topics(ctx, []string{p.state.Partition.Topic})
		return errors.Join(err, errTopic, t.target.Ensure(ctx, p.remote.Topic, topic[p.state.Partition.Topic].Partitions))
	}
	return err
}

// register adds one slot a record: a slot per batch could not express that a part of it is durable.
func register(slots *tracker.Tracker, offsets []int64) error {
	first, now := slots.Sequence(), time.Now()
	slots.Grow(len(offsets))
	for i, offset := range offsets {
		if err := slots.Register(first+uint64(i), offset, offset, now); err != nil {
			return fmt.Errorf("register %d: %w", offset, err)
		}
	}
	return nil
}

// produce hands the records over, unless the claim is over: whoever took it after that must not find more than it read.
func (p *progress) produce(ctx context.Context, records []*kgo.Record) (int, error) {
	for _, r := range records {
		route(r, p.remote)
	}
	if !time.Now().Before(p.state.OwnerDeadline) {
		return 0, errTooLate
	}
	n, err := p.producer.Produce(ctx, records)
	p.unknown = errors.Is(err, ErrUnknown)
	if err != nil {
		return n, fmt.Errorf("produce to %s: %w", p.remote, err)
	}
	return n, nil
}

// resolve settles the slots and moves the positions behind the contiguous durable prefix.
func (t *Task) resolve(ctx context.Context, p *progress, sent Piece, n int) error {
	head := p.tracker.Sequence() - uint64(len(sent.Offsets))
	bytes := 0
	for i := range sent.Offsets {
		status := tracker.Failed
		if i < n {
			status = tracker.Delivered
			bytes += len(sent.Records[i].Key) + len(sent.Records[i].Value)
		}
		p.tracker.Resolve(head+uint64(i), status)
	}
	next, moved := p.tracker.Advance(time.Now())
	if !moved {
		return nil
	}
	at := make([]int64, n)
	for i, r := range sent.Records[:n] {
		at[i] = r.Offset
	}
	err := t.landed(ctx, p, at)
	p.copied(sent, n, at)
	p.advanceTo(next, sent.Records[n-1], at[n-1])
	p.state.DownstreamNext = at[n-1] + 1
	t.options.Metrics.Add(RecordsMirrored, int64(n))
	t.options.Metrics.Add(BytesMirrored, int64(bytes))
	return err
}

// advanceTo moves the watermark to next, behind the source record last, which stands at downstream on the target. What was
// noted as lost on the way there is lost now.
func (p *progress) advanceTo(next int64, last *kgo.Record, downstream int64) {
	p.state.Next, p.state.NextDigest, p.moved = next, digest(last), true
	p.state.DownstreamLast = downstream
	p.state.RecordTimestamp = last.Timestamp
	p.passLosses()
}

// passLosses counts the losses that the watermark has passed.
func (p *progress) passLosses() {
	p.losses = slices.DeleteFunc(p.losses, func(l loss) bool {
		if l.to > p.state.Next {
			return false
		}
		p.lost += l.to - l.from
		p.state.Lost += l.to - l.from
		return true
	})
}

// copied notes where the first n records of a piece stand on the target; -1 for one that is gone there, so that the gap it
// leaves is not nothing.
func (p *progress) copied(piece Piece, n int, at []int64) {
	explained := true
	for i := 0; i < n; {
		k := i + 1
		for k < n && at[k] == at[k-1]+1 && piece.Offsets[k] == piece.Offsets[k-1]+1 {
			k++
		}
		if explained = at[i] >= 0 && explained; at[i] >= 0 {
			p.runs.Extend(piece.Offsets[i], at[i], int64(k-i), explained)
			explained = true
		}
		i = k
	}
}
