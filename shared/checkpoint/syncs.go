package checkpoint

import (
	"cmp"
	"slices"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// DueSyncs returns the offset syncs that the state items call for: one per partition whose watermark moved since the
// newest sync read back from the topic. A sync names a record, the newest mirrored one, never the position behind it:
// Java's stores translate what lies past a sync to its downstream offset + 1, and one past a position could be a record
// that the group has not read. The upstream side of a sync never goes back, for a lower one makes Java's stores forget
// the partition's history (OffsetSyncStore.updateExistingSyncs).
func DueSyncs(states []watermark.State, newest func(mm2.TopicPartition) (mm2.OffsetSync, bool)) []mm2.OffsetSync {
	var due []mm2.OffsetSync
	for _, s := range states {
		if !s.Begun() || s.DownstreamLast == watermark.None {
			continue
		}
		sync := mm2.OffsetSync{TopicPartition: s.Partition, Upstream: s.Next - 1, Downstream: s.DownstreamLast}
		if last, ok := newest(s.Partition); !ok || sync.Upstream > last.Upstream {
			due = append(due, sync)
		}
	}
	slices.SortFunc(due, func(a, b mm2.OffsetSync) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return due
}
