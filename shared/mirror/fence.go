package mirror

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"tidemark/shared/mm2"
)

// ErrFenceRefused says that the cluster does not let us write abort markers.
var ErrFenceRefused = errors.New("the cluster refuses to fence producers: grant Alter on it (IAM: kafka-cluster:AlterCluster), or set FENCING=wait")

// fence makes sure that no earlier owner's record lands any more. A clock does not: a killed process's records were
// appended 20 s later while a broker was paused. An abort marker per producer id makes the broker refuse that producer
// from there on. Where the cluster refuses, the waiting rule has to do: everybody has stopped handing over, and what was
// under way has had the drain margin to land. It does not cover a process that stands still between its last look at the
// clock and its send, so it is counted.
func (t *Task) fence(ctx context.Context, p *progress) error {
	if len(p.foreign) == 0 {
		return nil // everybody before gave the claim back with every outcome known
	}
	if !t.options.Wait && !t.unfenced.Load() {
		err := t.target.Fence(ctx, p.remote, p.foreign)
		if err == nil {
			t.options.Metrics.Add(ProducersFenced, int64(len(p.foreign)))
			return nil
		}
		if !errors.Is(err, ErrFenceRefused) {
			return fmt.Errorf("fence producers %d of %s: %w", p.foreign, p.remote, err)
		}
		t.unfenced.Store(true)
		t.options.Log.WarnContext(ctx, "takeovers rest on the waiting rule", "error", err)
	}
	t.options.Metrics.Add(UnfencedTakeovers, 1)
	if err := sleep(ctx, time.Until(p.until.Add(t.options.Drain))); err != nil {
		return fmt.Errorf("wait for producers %d of %s: %w", p.foreign, p.remote, err)
	}
	return nil
}

// finalEnds returns the remote partition's ends once nothing of an earlier owner can appear below the high watermark any
// more: behind the fence, or the wait for it, everything of theirs is in the leader's log.
func (t *Task) finalEnds(ctx context.Context, p *progress) (Ends, error) {
	ends, err := shown(ctx, t.target.Ends, p.remote)
	if err != nil {
		return Ends{}, fmt.Errorf("target ends of %s: %w", p.remote, err)
	}
	return ends, nil
}

// shown returns a partition's ends once its high watermark has come to where the leader's log ended at first: a follower may
// stall, and a new leader's high watermark is behind for a while. KIP-207 has brokers hide the latter; not all do.
func shown(ctx context.Context, ask func(context.Context, mm2.TopicPartition) (Ends, error), tp mm2.TopicPartition) (Ends, error) {
	end := int64(math.MaxInt64)
	for {
		ends, err := ask(ctx, tp)
		if err != nil {
			return Ends{}, err
		}
		end = min(end, ends.LogEnd) // less is left after an election: what was not replicated is gone
		if ends.HighWatermark >= end {
			return ends, nil
		}
		if sleep(ctx, 100*time.Millisecond) != nil {
			return Ends{}, fmt.Errorf("wait for %s to be replicated up to %d, it is up to %d: %w", tp, end, ends.HighWatermark, context.DeadlineExceeded)
		}
	}
}
