package checkpoint

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
	"tidemark/shared/watermark"
)

// headerBytes bounds the list of stretches that a sync carries: thousands of runs.
const headerBytes = 8 << 10

// Sync is an offset sync with its header.
type Sync struct {
	mm2.OffsetSync
	offsetsync.Header
}

// History is what was read back from the offset-syncs topic; *offsetsync.Store is one.
type History interface {
	Newest(tp mm2.TopicPartition) (mm2.OffsetSync, bool)
	Header(tp mm2.TopicPartition) (offsetsync.Header, bool)
}

// DueSyncs returns the offset syncs that the state items call for: one per partition whose watermark moved since the
// newest sync read back from the topic, or whose stretches are not in the topic (MM2 wrote the newest sync, or an older
// version of this program). A sync names a record, the newest mirrored one, never the position behind it: Java's stores
// translate what lies past a sync to its downstream offset + 1, and one past a position could be a record that the group has
// not read.
func DueSyncs(states []watermark.State, h History) []Sync {
	var due []Sync
	for _, s := range states {
		if !s.Begun() || s.DownstreamLast == watermark.None {
			continue
		}
		sync := Sync{OffsetSync: mm2.OffsetSync{TopicPartition: s.Partition, Upstream: s.Next - 1, Downstream: s.DownstreamLast}}
		last, synced := h.Newest(s.Partition)
		long, listed := h.Header(s.Partition)
		switch moved := cmp.Compare(sync.Upstream, last.Upstream); {
		case !synced, moved > 0, moved == 0 && !listed && len(s.Runs) > 0, moved < 0 && listed && wentBack(long, s):
			sync.Header = extended(long, s)
			due = append(due, sync)
		}
	}
	slices.SortFunc(due, func(a, b Sync) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return due
}

// wentBack says whether the source really is another log than the one of the newest header, or was cut since: only then may
// the upstream side of a sync go back, for a lower one makes Java's stores forget the partition's history
// (OffsetSyncStore.updateExistingSyncs). An item that was read before the header was made says nothing.
func wentBack(long offsetsync.Header, s watermark.State) bool {
	recreated := long.TopicID != "" && s.TopicID != "" && long.TopicID != s.TopicID
	merged := extended(long, s)
	return s.Epoch >= long.Epoch && (recreated || merged.Runs.CutSince(long.Runs))
}

// extended is the header that knows what the last one and the item know. Stretches of an item that this program cannot read
// add nothing.
func extended(long offsetsync.Header, s watermark.State) offsetsync.Header {
	h := offsetsync.Header{TopicID: s.TopicID, Epoch: max(s.Epoch, long.Epoch), Runs: long.Runs}
	var short offsetsync.Runs
	if short.UnmarshalBinary(s.Runs) == nil {
		h.Runs = offsetsync.Merge(long.Runs, short)
		h.Runs.Fold(headerBytes)
	}
	return h
}

// Record encodes a sync for the offset-syncs topic.
func (s Sync) Record(topic string) (*kgo.Record, error) {
	key, err := s.Key()
	if err != nil {
		return nil, err
	}
	header, err := s.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	return &kgo.Record{Topic: topic, Key: key, Value: s.Value(), Headers: []kgo.RecordHeader{{Key: offsetsync.HeaderKey, Value: header}}}, nil
}

// take adds a record of the offset-syncs topic to a store. A header that cannot be read is an error, and the bare sync counts
// all the same.
func take(store *offsetsync.Store, r *kgo.Record) error {
	sync, err := mm2.DecodeOffsetSync(r.Key, r.Value)
	if err != nil {
		return err
	}
	store.Add(sync)
	for _, header := range r.Headers {
		if header.Key != offsetsync.HeaderKey {
			continue
		}
		var h offsetsync.Header
		if err := h.UnmarshalBinary(header.Value); err != nil {
			return err
		}
		store.Note(sync.TopicPartition, h)
	}
	return nil
}
