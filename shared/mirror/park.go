package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/shared/watermark"
)

// ErrDenied says that a cluster refuses an action for want of a right.
var ErrDenied = errors.New("not authorized")

// A partition that does not get on is parked, so that it does not hold back its batch-mates for ever: the watermark stays,
// its delivered records are left to whoever reads the source from there, and it is tried again after a while.
const (
	parkAfter    = 3 // failures at one offset; a record that is refused for good needs one
	firstPause   = 30 * time.Second
	longestPause = 15 * time.Minute
)

// stalled is what the item says about a watermark that does not move: since the first failure at the same offset, and how
// often it failed there. A delivery that does not reach that offset, a redelivery, says nothing about it, unless it shows
// that the source is no longer the one that was mirrored.
func (p *progress) stalled(d Delivery, failure error, now time.Time) *watermark.Stall {
	before := p.state.Stall
	if before != nil && before.Offset != p.state.Next {
		before = nil
	}
	reaches := d.isCatchUp() || len(d.from(p.state.Next).Offsets)+len(d.Unread) > 0 || errors.Is(failure, ErrStepBack)
	switch catchUp := d.isCatchUp(); {
	case catchUp && failure == nil:
		return nil // nothing more is there
	case failure == nil, !reaches, catchUp && errors.Is(failure, errTooLate):
		return before
	}
	s := watermark.Stall{Offset: p.state.Next, Since: now, Kind: kind(failure), Reason: reason(failure)}
	if before != nil {
		s.Since, s.Attempts = before.Since, before.Attempts
	}
	s.Attempts++
	if pause := firstPause << min(max(s.Attempts-parkAfter, 0), 10); s.Attempts >= parkAfter || s.Kind == watermark.Refused {
		s.RetryAt = now.Add(min(pause, longestPause))
	}
	return &s
}

// reason shortens an error: an item of under 1 KB is one write unit.
func reason(err error) string {
	const length = 300
	text := err.Error()
	if len(text) > length {
		text = strings.ToValidUTF8(text[:length], "")
	}
	return text
}

// kind sorts failures by who can help.
func kind(failure error) watermark.Kind {
	var refused *RefusedError
	switch {
	case errors.As(failure, &refused):
		return watermark.Refused
	case errors.Is(failure, ErrDenied), errors.Is(failure, ErrMissing), errors.Is(failure, ErrStepBack):
		return watermark.NeedsPerson
	}
	return watermark.Transient
}

// parks says whether the stall that was committed leaves the delivery to a later reader of the source. A malformed record
// is left to nobody: nothing but the trigger has seen it.
func (p *progress) parks(d Delivery) bool {
	return p.stall != nil && !p.stall.RetryAt.IsZero() && d.Fault == nil
}

// distrustUpTo has everything below an offset read from the source: the trigger has been told that it need not bring it
// again, so that what still comes of it may be older than what the source holds now.
func (p *progress) distrustUpTo(end int64) { p.state.TrustFrom = max(p.state.TrustFrom, end) }

// leave gives the claim on a parked partition back without a try.
func (t *Task) leave(ctx context.Context, p *progress, d Delivery) Outcome {
	why := fmt.Errorf("partition %s is parked at %d until %s: %s", d.Partition, p.state.Stall.Offset,
		p.state.Stall.RetryAt.UTC().Format(time.RFC3339), p.state.Stall.Reason)
	stall := p.state.Stall
	p.distrustUpTo(d.end())
	if err := t.release(ctx, p, stall); err != nil {
		return t.failed(d, watermark.None, fmt.Errorf("commit %s at %d: %w", d.Partition, p.state.Next, err))
	}
	return Outcome{Key: d.Key, Parked: why, stall: stall}
}

// holdBack fails what is parked when no partition of the invocation got through and one may yet with time: then parking
// spares nobody, and the trigger brings the records again when the target is well, at its own pace.
func (t *Task) holdBack(deliveries []Delivery, outcomes []Outcome) []Outcome {
	defer func() {
		for _, o := range outcomes {
			if o.Parked != nil {
				t.options.Metrics.Add(PartitionsParked, 1)
			}
		}
	}()
	through := slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Err == nil && o.Parked == nil })
	if through {
		return outcomes
	}
	for i, o := range outcomes {
		if o.stall != nil && o.stall.Kind != watermark.Refused {
			outcomes[i] = Outcome{Key: o.Key, Undelivered: slices.Concat(deliveries[i].Offsets, deliveries[i].Unread), Err: o.Parked}
		}
	}
	return outcomes
}
