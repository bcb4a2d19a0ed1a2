package handover

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// readOffsets returns the newest Connect offset of each partition of the source, by whatever connector; none if there is no
// such topic.
func (f Flow) readOffsets(ctx context.Context) (map[mm2.TopicPartition]int64, error) {
	name := f.offsetsTopic()
	topics, err := f.Target.Topics(ctx, []string{name})
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", name, err)
	}
	offsets := map[mm2.TopicPartition]int64{}
	for partition := range topics[name].Partitions {
		tp := mm2.TopicPartition{Topic: name, Partition: partition}
		err := readAll(ctx, f.Target, tp, func(r *kgo.Record) error {
			o, ok, err := DecodeOffset(r.Key, r.Value)
			switch {
			case err != nil:
				return fmt.Errorf("%s at %d: %w", tp, r.Offset, err)
			case !ok || o.Cluster != f.Names.Source || f.Connector != "" && o.Connector != f.Connector:
			case o.Last < 0:
				delete(offsets, o.TopicPartition)
			default:
				offsets[o.TopicPartition] = o.Last
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return offsets, nil
}

// mostSyncs is how many of a partition's syncs count: a few starts of an MM2 that fell over again and again.
const mostSyncs = 64

// readSyncs returns the places behind the newest offset syncs of each partition of the source, oldest first; none if there
// is no such topic. What cannot be decoded is passed over, as Java does.
func (f Flow) readSyncs(ctx context.Context) (map[mm2.TopicPartition][]place, error) {
	holder := f.Target
	if f.Names.Location == mm2.OnSource {
		holder = f.Source
	}
	syncs := map[mm2.TopicPartition][]place{}
	err := readAll(ctx, holder, mm2.TopicPartition{Topic: f.Names.OffsetSyncs()}, func(r *kgo.Record) error {
		if s, err := mm2.DecodeOffsetSync(r.Key, r.Value); err == nil && s.Upstream >= 0 && s.Downstream >= 0 {
			known := syncs[s.TopicPartition]
			syncs[s.TopicPartition] = append(known[max(len(known)-mostSyncs+1, 0):], place{next: s.Upstream + 1, last: s.Downstream})
		}
		return nil
	})
	return syncs, err
}

// readAll gives every record of a partition to take; none if there is no such partition.
func readAll(ctx context.Context, c Cluster, tp mm2.TopicPartition, take func(*kgo.Record) error) error {
	ends, err := c.Ends(ctx, tp)
	if errors.Is(err, mirror.ErrMissing) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask for the ends of %s: %w", tp, err)
	}
	for records, err := range c.ReadCommitted(ctx, tp, ends.Start, ends.LastStable) {
		if err != nil {
			return fmt.Errorf("read %s: %w", tp, err)
		}
		for _, r := range records {
			if r.Attrs.IsControl() {
				continue
			}
			if err := take(r); err != nil {
				return err
			}
		}
	}
	return nil
}
