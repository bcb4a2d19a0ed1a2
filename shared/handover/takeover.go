package handover

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// Errors that a person acts on.
var (
	// ErrOtherLog says that MM2's positions are not of the logs that there are now.
	ErrOtherLog = errors.New("MM2's position is of another log: was the topic made again? remove its remote topic to begin anew, or keep MM2")
	// ErrOpen says that the target's end is not final.
	ErrOpen = errors.New("a transaction is open on the target: is MM2 stopped? try again when it has ended")
	// ErrNoPosition says that MM2 has left no position of a partition whose remote partition holds records.
	ErrNoPosition = errors.New("MM2 has left neither an offset nor a sync, and the remote partition holds records, which would be repeated: remove the remote topic to begin anew, or name the topic of Connect's offsets")
)

// TakeOver gives each partition of the flow that was never mirrored by it the place where MM2 has left it, so that the next
// delivery goes on there. A partition that has an item is left alone, so that it can be repeated. An error of one partition
// stands in its Partition and leaves it as it is.
func (f Flow) TakeOver(ctx context.Context) ([]Partition, error) {
	partitions, err := f.partitions(ctx)
	if err != nil {
		return nil, err
	}
	offsets, err := f.readOffsets(ctx)
	if err != nil {
		return nil, err
	}
	syncs, err := f.readSyncs(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range partitions {
		names = append(names, p.Topic)
	}
	topics, err := f.Source.Topics(ctx, slices.Compact(names)) // before their logs are read: a topic made again since shows
	if err != nil {
		return nil, fmt.Errorf("ask for the ids of the source's topics: %w", err)
	}
	for i := range partitions {
		p := &partitions[i]
		tp := mm2.TopicPartition{Topic: p.Topic, Partition: p.Partition}
		left := traces{id: topics[p.Topic].ID, offset: -1, syncs: syncs[tp]}
		if o, ok := offsets[tp]; ok {
			left.offset = o
		}
		if err := f.takeOver(ctx, p, tp, left); err != nil {
			p.Position, p.From, p.Found, p.Error = nil, "", 0, err.Error()
		}
	}
	return partitions, nil
}

// traces are what MM2 has left of a partition, and which topic it is now.
type traces struct {
	id     string  // the source topic's; empty where brokers have none
	offset int64   // the source record that it copied last, as far as it was noted; -1: it was not
	syncs  []place // behind its newest offset syncs, oldest first
}

// takeOver places one partition.
func (f Flow) takeOver(ctx context.Context, p *Partition, tp mm2.TopicPartition, left traces) error {
	s, err := f.States.Get(ctx, tp)
	if err != nil {
		return err
	}
	if s.Begun() {
		p.Note = "it is mirrored already"
		return nil
	}
	name, err := f.Remote(tp.Topic)
	if err != nil {
		return err
	}
	remote := mm2.TopicPartition{Topic: name, Partition: tp.Partition}
	ends, err := f.Target.Ends(ctx, remote)
	switch missing := errors.Is(err, mirror.ErrMissing); {
	case err != nil && !missing:
		return fmt.Errorf("target ends of %s: %w", remote, err)
	case ends.LastStable < ends.LogEnd:
		return ErrOpen
	case left.offset < 0 && len(left.syncs) == 0 && ends.Start == ends.LogEnd:
		p.From = "nothing"
		return nil
	case left.offset < 0 && len(left.syncs) == 0:
		return ErrNoPosition
	case missing:
		return fmt.Errorf("%w: the remote topic %s is gone", ErrOtherLog, name)
	}
	at, err := f.locate(ctx, p, tp, remote, ends, left)
	if err != nil {
		return err
	}
	p.Position = &at.next
	return f.begin(ctx, tp, left.id, at.next, ends.LogEnd)
}

// locate finds the place from which on the source is not on the target.
func (f Flow) locate(ctx context.Context, p *Partition, tp, remote mm2.TopicPartition, target mirror.Ends, left traces) (place, error) {
	source, err := f.Source.Ends(ctx, tp)
	if err != nil {
		return place{}, fmt.Errorf("source ends: %w", err)
	}
	if left.offset >= source.LogEnd {
		return place{}, fmt.Errorf("%w: it is %d, the source ends at %d", ErrOtherLog, left.offset, source.LogEnd)
	}
	at, noted := place{-1, -1}, left.offset+1
	if len(left.syncs) > 0 {
		p.From = "offset sync"
		i, err := f.choose(ctx, tp, remote, left.syncs, source, target)
		if err != nil {
			return place{}, err
		}
		at = left.syncs[i]
		for _, s := range left.syncs[i:] {
			noted = max(noted, s.next)
		}
	}
	if left.offset >= 0 {
		p.From = "connect offset"
	}
	if at.next < 0 {
		if at, err = f.find(ctx, tp, remote, left.offset, source, target); err != nil {
			return place{}, err
		}
	}
	if at.last >= 0 {
		from := max(at.last+1, target.Start)
		walk := f.Source.Walk(ctx, tp, left.id, max(at.next, source.Start), max(at.next, source.Start, source.LastStable))
		if at, err = follow(walk, f.Target.ReadCommitted(ctx, remote, from, target.LastStable), place{at.next, from - 1}); err != nil {
			return place{}, err
		}
	}
	if at.next < noted { // MM2 notes what is durable only
		at.next = noted
		p.Note = "the newest records on the target do not equal the source's (a transformation? compaction?): up to a flush interval of MM2 may be repeated"
	}
	p.Found = at.next - noted
	return at, nil
}

// choose returns the oldest sync whose records are equal on both sides. An MM2 that was started again has begun to repeat what
// it had sent, and its newest sync may be of that: what was sent before stands in front of it. The newest is believed also
// where a side is gone.
func (f Flow) choose(ctx context.Context, tp, remote mm2.TopicPartition, syncs []place, source, target mirror.Ends) (chosen int, err error) {
	for i, at := range syncs {
		upstream := at.next - 1
		var s, c *kgo.Record
		if upstream >= source.Start && upstream < source.LastStable {
			if s, err = first(f.Source.ReadCommitted(ctx, tp, upstream, upstream+1)); err != nil {
				return 0, fmt.Errorf("read source at %d: %w", upstream, err)
			}
		}
		if at.last >= target.Start && at.last < target.LastStable {
			if c, err = first(f.Target.ReadCommitted(ctx, remote, at.last, at.last+1)); err != nil {
				return 0, fmt.Errorf("read target at %d: %w", at.last, err)
			}
		}
		inside := upstream < source.LogEnd && at.last < target.LogEnd
		switch newest, known := i == len(syncs)-1, s != nil && c != nil; {
		case known && copied(c, s), newest && !known && inside:
			return i, nil
		case newest:
			return 0, fmt.Errorf("%w: its sync says that %d is %d on the target, and the records differ", ErrOtherLog, upstream, at.last)
		}
	}
	return 0, ErrOtherLog // there is always a newest
}

// find looks for the newest copy of a source record, in a window of the target that grows from its end. Where the source has
// no such record any more, the place has no downstream side.
func (f Flow) find(ctx context.Context, tp, remote mm2.TopicPartition, offset int64, source, target mirror.Ends) (place, error) {
	none := place{next: offset + 1, last: -1}
	if offset < source.Start || offset >= source.LastStable {
		return none, nil
	}
	wanted, err := first(f.Source.ReadCommitted(ctx, tp, offset, offset+1))
	if err != nil || wanted == nil {
		return none, err
	}
	end := target.LastStable
	for window := int64(1024); end > target.Start; window *= 4 {
		from, newest := max(end-window, target.Start), int64(-1)
		for records, err := range f.Target.ReadCommitted(ctx, remote, from, end) {
			if err != nil {
				return none, fmt.Errorf("read target from %d: %w", from, err)
			}
			for _, r := range records {
				if !r.Attrs.IsControl() && copied(r, wanted) {
					newest = r.Offset
				}
			}
		}
		if newest >= 0 {
			return place{next: offset + 1, last: newest}, nil
		}
		end = from
	}
	return none, fmt.Errorf("%w: no copy of the record at %d, the last that MM2 has copied, stands on the target", ErrOtherLog, offset)
}

// first is the first record of a read that is not a marker; nil when there is none.
func first(read func(func([]*kgo.Record, error) bool)) (*kgo.Record, error) {
	for records, err := range read {
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if !r.Attrs.IsControl() {
				return r, nil
			}
		}
	}
	return nil, nil
}

// claimed is how long nobody else may have a partition that is being placed.
const claimed = 10 * time.Second

// begin gives the partition its place as an owner would that died then: whoever comes next settles what stands behind it.
func (f Flow) begin(ctx context.Context, tp mm2.TopicPartition, id string, next, end int64) error {
	now, owner := time.Now(), rand.Text()
	grant, err := f.States.Claim(ctx, watermark.Claim{
		Partition: tp, Owner: owner, Producer: watermark.None, Now: now, Deadline: now.Add(claimed).Truncate(time.Millisecond),
	})
	if err != nil {
		return fmt.Errorf("claim %s: %w", tp, err)
	}
	b := watermark.Begin{Partition: tp, Epoch: grant.State.Epoch, Owner: owner, TopicID: id, Next: next, DownstreamNext: end}
	if err := f.States.Begin(ctx, b); err != nil {
		return fmt.Errorf("place %s at %d: %w", tp, next, err)
	}
	return nil
}

// partitions are those of the source's topics that the flow mirrors, by name.
func (f Flow) partitions(ctx context.Context) ([]Partition, error) {
	topics, err := f.SourceAdmin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list source topics: %w", err)
	}
	var all []Partition
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		detail := topics[name]
		if !f.Topics(name) {
			continue
		}
		if detail.Err != nil {
			return nil, fmt.Errorf("describe source topic %s: %w", name, detail.Err)
		}
		for _, p := range detail.Partitions.Sorted() {
			all = append(all, Partition{Topic: name, Partition: p.Partition})
		}
	}
	return all, nil
}

// offsetsTopic is where Connect keeps its positions.
func (f Flow) offsetsTopic() string { return cmp.Or(f.Offsets, f.Names.ConnectOffsets()) }
