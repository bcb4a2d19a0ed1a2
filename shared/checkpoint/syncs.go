package checkpoint

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
	"tidemark/shared/watermark"
)

// headerBytes bounds the list of stretches that a sync carries: thousands of runs. The newest half of it is left exact.
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

// DueSyncs returns the offset syncs that the state items call for: one per partition of which a newer record was mirrored than
// the newest sync read back from the topic names, or whose stretches are not in the topic (MM2 wrote the newest sync, or an
// older version of this program).
func DueSyncs(states []watermark.State, h History) []Sync {
	var due []Sync
	for _, s := range states {
		var short offsetsync.Runs
		readable := short.UnmarshalBinary(s.Runs) == nil // what a newer program wrote adds nothing
		sync, ok := newest(s, short)
		if !ok {
			continue
		}
		last, synced := h.Newest(s.Partition)
		long, listed := h.Header(s.Partition)
		switch {
		case !synced, sync.Upstream > last.Upstream, sync == last && !listed && len(s.Runs) > 0, listed && wentBack(long, s, short):
			header := offsetsync.Header{TopicID: s.TopicID, Epoch: max(s.Epoch, long.Epoch), Runs: long.Runs}
			if readable {
				header.Runs = offsetsync.Merge(long.Runs, short)
				header.Runs.Fold(headerBytes, headerBytes/2)
			}
			due = append(due, Sync{sync, header})
		}
	}
	slices.SortFunc(due, func(a, b Sync) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return due
}

// Outdated returns the partitions whose newest header is of a log that is no more, while nothing of the present one was noted
// that a sync could name.
func Outdated(states []watermark.State, h History) []mm2.TopicPartition {
	var outdated []mm2.TopicPartition
	for _, s := range states {
		long, listed := h.Header(s.Partition)
		var short offsetsync.Runs
		if !listed || short.UnmarshalBinary(s.Runs) != nil {
			continue
		}
		if _, ok := newest(s, short); !ok && wentBack(long, s, short) {
			outdated = append(outdated, s.Partition)
		}
	}
	return outdated
}

// newest is the sync of the newest mirrored record; false if there is none. A sync names a record, never the position behind
// it: Java's stores translate what lies past a sync to its downstream offset + 1, and one past a position could be a record
// that the group has not read. The watermark may stand further on, behind records that were skipped or have expired.
func newest(s watermark.State, short offsetsync.Runs) (mm2.OffsetSync, bool) {
	upstream, downstream, ok := short.Last()
	if !ok {
		upstream, downstream, ok = s.Next-1, s.DownstreamLast, s.Begun() && s.DownstreamLast != watermark.None
	}
	return mm2.OffsetSync{TopicPartition: s.Partition, Upstream: upstream, Downstream: downstream}, ok
}

// wentBack says whether the source really is another log than the one of the newest header, or was cut since: only then may
// the upstream side of a sync go back, for a lower one makes Java's stores forget the partition's history
// (OffsetSyncStore.updateExistingSyncs). An item that was read before the header was made says nothing.
func wentBack(long offsetsync.Header, s watermark.State, short offsetsync.Runs) bool {
	recreated := long.TopicID != "" && s.TopicID != "" && long.TopicID != s.TopicID
	return s.Epoch >= long.Epoch && (recreated || short.CutSince(long.Runs))
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
			store.Doubt(sync.TopicPartition)
			return err
		}
		store.Note(sync.TopicPartition, h)
	}
	return nil
}
