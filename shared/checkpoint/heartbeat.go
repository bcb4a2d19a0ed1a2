package checkpoint

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
)

// heartbeat writes one beat when its interval is over.
func (t *Task) heartbeat(ctx context.Context, slot time.Time) error {
	if !t.flow.EmitHeartbeats || !due(slot, t.beat, t.flow.HeartbeatInterval) {
		return nil
	}
	now := time.Now()
	beat := mm2.Heartbeat{Source: t.flow.Names.Source, Target: t.flow.Names.Target, At: now}
	key, err := beat.Key()
	if err != nil {
		return err
	}
	record := &kgo.Record{Topic: t.flow.Names.Heartbeats(), Key: key, Value: beat.Value(), Timestamp: now}
	if err := t.target.Writer.ProduceSync(ctx, record).FirstErr(); err != nil {
		return fmt.Errorf("write to %s: %w", record.Topic, err)
	}
	t.beat = slot
	return nil
}

// due says whether an interval is over between two slots. Slots of ticks that tell no time come some seconds early or
// late, which must not cost a whole interval.
func due(slot, last time.Time, interval time.Duration) bool {
	return slot.Sub(last) >= interval-interval/10
}
