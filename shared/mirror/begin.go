package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// Start says where a partition begins that was never mirrored. The zero value is the start of its log.
type Start struct {
	// At is the time whose first record is the first to be mirrored; zero: not by time.
	At time.Time
	// Seen fails until the flow was seen: from then on the partitions that existed have items that say where they begin,
	// and others begin at the start of their logs. Nil: they all do.
	Seen func(ctx context.Context) error
}

// begin sets the positions of a partition at the first contact, before anything is produced. The downstream position is
// the remote partition's log end, not its high watermark: a record of somebody else that is not yet replicated would else
// be taken for one of ours. An earlier owner that never began has sent nothing, so there is no tail to settle.
func (t *Task) begin(ctx context.Context, p *progress, topic Topic, d Delivery) error {
	s := &p.state
	if s.Begun() {
		return nil
	}
	next, err := t.start(ctx, s.Next, d)
	if err != nil {
		return err
	}
	end, err := t.remoteEnd(ctx, p.remote, topic.Partitions)
	if err != nil {
		return err
	}
	b := watermark.Begin{Partition: s.Partition, Epoch: s.Epoch, Owner: s.Owner, TopicID: topic.ID, Next: next, DownstreamNext: end}
	if err := t.state.Begin(ctx, b); err != nil {
		return err
	}
	s.TopicID, s.Origin, s.Next, s.DownstreamNext, p.from = topic.ID, next, next, end, next
	return nil
}

// start is where a partition begins that was never mirrored: where its seeded item says, else where the flow is told to
// start. At the log start that is what the delivery holds, if that is earlier: retention may have moved the log start past
// it.
func (t *Task) start(ctx context.Context, seeded int64, d Delivery) (int64, error) {
	if seeded != watermark.None {
		return seeded, nil
	}
	if at := t.options.Start.At; !at.IsZero() {
		next, err := t.source.OffsetAt(ctx, d.Partition, at)
		if err != nil {
			return 0, fmt.Errorf("source offset at %s: %w", at.UTC().Format(time.RFC3339), err)
		}
		return next, nil
	}
	if seen := t.options.Start.Seen; seen != nil {
		if err := seen(ctx); err != nil {
			return 0, err
		}
	}
	ends, err := t.source.Ends(ctx, d.Partition)
	if err != nil {
		return 0, fmt.Errorf("source ends: %w", err)
	}
	return min(ends.Start, d.first()), nil
}

// remoteEnd is the remote partition's log end. A missing topic or partition is made first, with the source's count.
func (t *Task) remoteEnd(ctx context.Context, remote mm2.TopicPartition, partitions int32) (int64, error) {
	ends, err := t.target.Ends(ctx, remote)
	if errors.Is(err, ErrMissing) {
		if err := t.target.Ensure(ctx, remote.Topic, partitions); err != nil {
			return 0, fmt.Errorf("create remote topic %s: %w", remote.Topic, err)
		}
		ends, err = t.target.Ends(ctx, remote)
	}
	if err != nil {
		return 0, fmt.Errorf("target ends of %s: %w", remote, err)
	}
	return ends.LogEnd, nil
}
