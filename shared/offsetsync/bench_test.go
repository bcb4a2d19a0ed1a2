package offsetsync_test

import (
	"testing"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
)

// One partition that is synced every 100 records.
func BenchmarkAdd(b *testing.B) {
	b.ReportAllocs()
	s := offsetsync.New()
	sync := mm2.OffsetSync{TopicPartition: orders}
	for b.Loop() {
		s.Add(sync)
		sync.Upstream += 100
		sync.Downstream += 100
	}
}

// The first sync of each of many partitions: what a store costs after compaction.
func BenchmarkAddFirst(b *testing.B) {
	b.ReportAllocs()
	s := offsetsync.New()
	sync := mm2.OffsetSync{TopicPartition: orders}
	for b.Loop() {
		s.Add(sync)
		if sync.Partition++; sync.Partition == 10_000 {
			sync.Partition = 0
			s.Load(offsetsync.History)
		}
	}
}

func BenchmarkTranslate(b *testing.B) {
	s := store(offsetsync.History, nil, every(0, 100, 1_000_000))
	for _, bb := range []struct {
		name     string
		upstream int64
	}{{"newest", 1_000_000}, {"older", 900_000}, {"oldest", 99_999}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Translate(orders, bb.upstream)
			}
		})
	}
}
