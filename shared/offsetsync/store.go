package offsetsync

import (
	"slices"

	"tidemark/shared/mm2"
)

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

// partition is all that is known of one source partition: its stretches, which answer where they reach, and the slots, which
// answer the rest.
type partition struct {
	slots  slots
	header *Header // nil: no sync of ours was read
	epoch  int64   // of the newest header
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
// partition means that the source went back: all older syncs of the partition are dropped, and stretches past it. Equal
// upstream offsets do not mean that. Offsets are not checked.
func (s *Store) Add(sync mm2.OffsetSync) {
	p := s.partitions[sync.TopicPartition]
	if p == nil {
		p = new(partition)
		s.partitions[sync.TopicPartition] = p
	}
	latest := &pair{upstream: sync.Upstream, downstream: sync.Downstream}
	if p.header != nil && latest.upstream < p.slots[0].upstream {
		h := *p.header
		h.Runs.list = slices.Clone(h.Runs.list)
		h.Runs.cutUpstream(latest.upstream)
		p.header = &h
	}
	if !s.loaded && s.mode == LatestOnly {
		p.slots.fill(latest)
		return
	}
	p.slots.add(latest)
}

// Note takes the header of the sync that was added last. Of several headers of a partition the one with the highest epoch
// is kept, and of equal ones the last: a pass that was held up may write an older one late.
func (s *Store) Note(tp mm2.TopicPartition, h Header) {
	if p := s.partitions[tp]; p != nil && h.Epoch >= p.epoch {
		p.header, p.epoch = &h, h.Epoch
	}
}

// Doubt says that what the headers of a partition say may be of a source that is no more: the newest cannot be read, or its
// log is gone. They are not gone by any more.
func (s *Store) Doubt(tp mm2.TopicPartition) {
	if p := s.partitions[tp]; p != nil {
		p.header = nil
	}
}

// Place is where a group goes on that fails over.
type Place struct {
	Downstream int64 // offset on the target; -1 when upstream is older than all that is known
	Again      int64 // how many records it may read again there at most; 0: it goes on exactly where it was
}

// Locate returns where a group goes on whose committed offset on the source partition tp, the next one that it would read, is
// upstream: by the stretches, exactly or within their bound; where they do not reach, by MM2's rule, the downstream offset of
// the newest kept sync at or below upstream, or one more if that sync lies below.
//
// It is false if there is nothing to go by: no sync of the partition, or an initial read that has not ended.
func (s *Store) Locate(tp mm2.TopicPartition, upstream int64) (Place, bool) {
	p := s.partitions[tp]
	if p == nil || !s.loaded {
		return Place{}, false
	}
	sync := p.slots.newest(upstream)
	if p.header == nil || len(p.header.Runs.list) == 0 {
		return sync.place(upstream), true
	}
	runs := &p.header.Runs
	downstream, again, reaches := runs.Translate(upstream)
	switch {
	case reaches && (sync == nil || sync.upstream < runs.known().upstream): // no sync says more
		return Place{downstream, again}, true
	case !reaches && sync != nil && !runs.follow(*sync):
		return Place{Downstream: -1}, true
	}
	return sync.place(upstream), true
}

// Translate is Locate without the bound.
func (s *Store) Translate(tp mm2.TopicPartition, upstream int64) (downstream int64, ok bool) {
	place, ok := s.Locate(tp, upstream)
	return place.Downstream, ok
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

// Header returns what the syncs of the source partition tp carry beside MM2's fields; false if none carries anything. Its
// runs must not be changed.
func (s *Store) Header(tp mm2.TopicPartition) (Header, bool) {
	p := s.partitions[tp]
	if p == nil || p.header == nil {
		return Header{}, false
	}
	return *p.header, true
}
