package offsetsync

import "tidemark/shared/mm2"

// Mode says what a store makes of the syncs that it is fed before Loaded (KAFKA-15905; Java's mustReadToEnd).
type Mode uint8

const (
	// History keeps them as any others. It is right when the checkpoints already published are known, so that a
	// translation by an old sync cannot take a group back unnoticed. Java's mustReadToEnd = false.
	History Mode = iota
	// LatestOnly keeps the last one of each partition: whatever is older translates to -1. Java's mustReadToEnd = true.
	LatestOnly
)

// Store is the sum of an offset-syncs topic: what is left of the syncs of every source partition. Use [New]. It does no
// I/O and is not safe for concurrent use.
type Store struct {
	partitions map[mm2.TopicPartition]*partition
	mode       Mode
	loaded     bool
}

// partition is all that is known of one source partition. It is the place of a list of stretches, which answers before the
// slots do where it reaches; the slots answer the rest.
type partition struct {
	slots slots
}

// New returns an empty store at the beginning of its initial read, in the mode [History].
func New() *Store {
	s := new(Store)
	s.Load(History)
	return s
}

// Load forgets everything and begins the initial read: the topic from its beginning to an end captured beforehand. Until
// Loaded, nothing is translated.
func (s *Store) Load(m Mode) {
	*s = Store{partitions: make(map[mm2.TopicPartition]*partition), mode: m}
}

// Loaded ends the initial read: from now on the store translates, and keeps every sync that it can. Calling it again
// changes nothing. After a read that did not reach the captured end it must not be called: a store that has seen half of
// the topic would translate by syncs that later ones revoke (KAFKA-13659).
func (s *Store) Loaded() { s.loaded = true }

// Add takes the next sync of the topic, in topic order. One whose upstream offset lies below the newest one of its
// partition means that the source went back: all older syncs of the partition are dropped. Equal upstream offsets do not
// mean that. Offsets are not checked.
func (s *Store) Add(sync mm2.OffsetSync) {
	p := s.partitions[sync.TopicPartition]
	if p == nil {
		p = new(partition)
		s.partitions[sync.TopicPartition] = p
	}
	latest := &pair{upstream: sync.Upstream, downstream: sync.Downstream}
	if !s.loaded && s.mode == LatestOnly {
		p.slots.fill(latest)
		return
	}
	p.slots.add(latest)
}

// Translate returns the downstream offset at which a group goes on whose committed offset on the source partition tp, the
// next one that it would read, is upstream. It is the downstream offset of the newest kept sync at or below upstream, or
// one more if that sync lies below.
//
// It is -1 if every kept sync lies above upstream: the group is too far back for a translation. It is false if there is
// nothing to go by: no sync of the partition, or an initial read that has not ended.
func (s *Store) Translate(tp mm2.TopicPartition, upstream int64) (downstream int64, ok bool) {
	p := s.partitions[tp]
	if p == nil || !s.loaded {
		return 0, false
	}
	return p.slots.translate(upstream), true
}

// Newest returns the newest sync of the source partition tp, during the initial read too; false if there is none.
func (s *Store) Newest(tp mm2.TopicPartition) (mm2.OffsetSync, bool) {
	p := s.partitions[tp]
	if p == nil {
		return mm2.OffsetSync{}, false
	}
	newest := p.slots[0]
	return mm2.OffsetSync{TopicPartition: tp, Upstream: newest.upstream, Downstream: newest.downstream}, true
}
