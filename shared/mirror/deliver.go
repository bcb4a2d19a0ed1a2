package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/tracker"
	"tidemark/shared/watermark"
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

// ErrUnknown means that records may be on the target, or may still land there until the drain margin has passed.
var ErrUnknown = errors.New("outcome of produce is unknown")

// deliver brings a piece to the target and moves the watermark behind its last durable record, whatever happens.
func (t *Task) deliver(ctx context.Context, p *progress, piece Piece) error {
	send, refused := t.choose(ctx, p, piece)
	if err := register(p.tracker, send.Offsets); err != nil {
		return err
	}
	n, err := p.produce(ctx, send.Records)
	t.resolve(p, send, n)
	return errors.Join(err, refused)
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
	if len(records) == 0 {
		return 0, nil
	}
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
func (t *Task) resolve(p *progress, sent Piece, n int) {
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
		return
	}
	if sent.Records[0].Offset != p.state.DownstreamNext {
		t.options.Metrics.Add(TargetDiscontinuities, 1)
	}
	last := sent.Records[n-1]
	p.advanceTo(next, last, last.Offset)
	p.state.DownstreamNext = last.Offset + 1
	t.options.Metrics.Add(RecordsMirrored, int64(n))
	t.options.Metrics.Add(BytesMirrored, int64(bytes))
}

// advanceTo moves the watermark to next, behind the source record last, which stands at downstream on the target.
func (p *progress) advanceTo(next int64, last *kgo.Record, downstream int64) {
	p.state.Next, p.state.NextDigest, p.moved = next, digest(last), true
	p.state.DownstreamLast = downstream
	p.state.RecordTimestamp = last.Timestamp
}

// commit writes what is durable and why the rest is not. It gives the claim back when every outcome is known, and keeps it
// for the next owner to settle when one is not. An owner that could not settle what it found leaves the producer ids that
// it found: the next one settles in its place, without having to wait for it.
func (t *Task) commit(ctx context.Context, p *progress, d Delivery, failure error) error {
	if errors.Is(failure, watermark.ErrOvertaken) {
		return nil
	}
	s, now := p.state, time.Now()
	if p.moved {
		s.AdvancedAt = now
	}
	return t.state.Commit(ctx, watermark.Commit{
		Partition: s.Partition, Epoch: s.Epoch, Owner: s.Owner, From: p.from,
		TopicID: s.TopicID, Next: s.Next, DownstreamNext: s.DownstreamNext,
		DownstreamLast: s.DownstreamLast, NextDigest: s.NextDigest,
		Stall: stall(s, d, failure, now), AdvancedAt: s.AdvancedAt, RecordTimestamp: s.RecordTimestamp,
		Release: !p.unknown, Left: p.left(),
	})
}

// stall is what the item says about a watermark that does not move: since the first failure at the same offset, and how
// often it failed there. A delivery that does not reach that offset, a redelivery, says nothing about it, unless it shows
// that the source is no longer the one that was mirrored.
func stall(s watermark.State, d Delivery, failure error, now time.Time) *watermark.Stall {
	before := s.Stall
	if before != nil && before.Offset != s.Next {
		before = nil
	}
	reaches := len(d.from(s.Next).Offsets)+len(d.Unread) > 0 || errors.Is(failure, ErrStepBack) || errors.Is(failure, ErrRecreated)
	if failure == nil || !reaches {
		return before
	}
	const length = 400 // an item of under 1 KB is one write unit
	reason := failure.Error()
	if len(reason) > length {
		reason = strings.ToValidUTF8(reason[:length], "")
	}
	if before == nil {
		before = &watermark.Stall{Offset: s.Next, Since: now}
	}
	return &watermark.Stall{Offset: s.Next, Since: before.Since, Reason: reason, Attempts: before.Attempts + 1}
}

// left are the producer ids that the next owner still has to settle. An owner that did not get that far has handed nothing
// over, so its own id is none of them; the claim can be given back at once, for whom it took over from had its time.
func (p *progress) left() []int64 {
	ids := p.state.Producers
	switch {
	case !p.unsettled:
		return nil
	case len(ids) > 1:
		return ids[:len(ids)-1]
	}
	return ids
}
