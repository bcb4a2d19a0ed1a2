package checkpoint

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/shared/mm2"
)

// Seeds keeps where partitions begin that are to begin at their end.
type Seeds interface {
	// Seen says whether the flow was seen before.
	Seen(ctx context.Context) (bool, error)
	// Seed sets where a partition begins, unless it has begun.
	Seed(ctx context.Context, tp mm2.TopicPartition, next int64) error
	// See notes that the flow was seen, at a time.
	See(ctx context.Context, at time.Time) error
}

// seed gives every partition that there is its end as the beginning, once in the flow's life: what appears later begins at
// its start. It is noted last, so that a pass that fails on the way is repeated whole; until then mirror begins with none.
func (t *Task) seed(ctx context.Context) error {
	if t.flow.Seeds == nil || t.seeded {
		return nil
	}
	seen, err := t.flow.Seeds.Seen(ctx)
	if err != nil || seen {
		t.seeded = seen
		return err
	}
	topics, err := t.selected(ctx)
	if err != nil {
		return err
	}
	ends := kadm.ListedOffsets{}
	if len(topics) > 0 {
		if ends, err = t.source.Admin.ListEndOffsets(ctx, topics...); err == nil {
			err = ends.Error()
		}
		if err != nil {
			return fmt.Errorf("list end offsets of source topics: %w", err)
		}
	}
	for _, of := range ends.Offsets().Sorted() {
		if err := t.flow.Seeds.Seed(ctx, mm2.TopicPartition{Topic: of.Topic, Partition: of.Partition}, of.At); err != nil {
			return err
		}
	}
	return t.flow.Seeds.See(ctx, time.Now())
}
