package checkpoint

import (
	"cmp"
	"slices"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
)

// Committed is where a group stands on the source.
type Committed struct {
	Group     string
	Partition mm2.TopicPartition // of the source
	Offset    int64              // next upstream offset to read; negative: none
	Metadata  string
}

// Position is the key of a checkpoint: a group's place in one remote partition.
type Position struct {
	Group     string
	Partition mm2.TopicPartition // of the target
}

// Bounds are the offsets that a remote partition holds: Start inclusive, End exclusive.
type Bounds struct{ Start, End int64 }

// Translator translates upstream offsets; *offsetsync.Store is one.
type Translator interface {
	// Locate returns where a group that stands at upstream goes on, and how many records it may read again there; false when
	// there is no sync to go by, -1 when upstream is older than all that is known.
	Locate(tp mm2.TopicPartition, upstream int64) (offsetsync.Place, bool)
}

// View is what a plan is made of. Nothing in it changes while the plan is made.
type View struct {
	Syncs  Translator
	Remote map[string]string             // the remote topic of each source topic that a group reads
	Target map[mm2.TopicPartition]Bounds // remote partitions by name; an absent one does not exist
	Last   map[Position]mm2.Checkpoint   // the checkpoints on the target
}

// Plan is what a pass writes, and why it does not write the rest.
type Plan struct {
	Checkpoints []mm2.Checkpoint // in order of group, topic and partition

	Uncommitted int // group partitions without an offset
	Unsynced    int // no sync to go by
	TooOld      int // older than every sync and all stretches
	Beyond      int // translated past the end of the remote partition, or there is none: withheld until it is there
	Unchanged   int // equal to the last checkpoint, or behind it while the group is not

	Exact   int      // translated, whether written or unchanged: nothing is read again
	Bounded int      // translated: some records may be read again
	Again   int64    // how many at most, in the group partition where they are most
	Worst   Position // that one
}

// Make plans the checkpoints of groups, by MM2's rules (MirrorCheckpointTask.checkpointsForGroup): null, negative and
// untranslatable offsets are not written, and a downstream offset never goes back unless the group did. Beyond these: a
// translation below the target's log start is raised to it, for a consumer placed below is thrown to wherever its reset
// points; one past the target's end is withheld, and a last checkpoint there, left by a target that was truncated or made
// again, blocks nothing.
func Make(v View, groups []Committed) Plan {
	var p Plan
	for _, c := range groups {
		if checkpoint, ok := p.translate(v, c); ok {
			p.Checkpoints = append(p.Checkpoints, checkpoint)
		}
	}
	slices.SortFunc(p.Checkpoints, func(a, b mm2.Checkpoint) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return p
}

// RemoteTopic is the name under which a failed-over consumer reads a source topic: what came from the target goes back to
// its own name there (MirrorCheckpointTask.renameTopicPartition).
func RemoteTopic(p mm2.Policy, flow mm2.Names, topic string) string {
	if alias, ok := p.Source(topic); ok && alias == flow.Target {
		return mm2.Original(p, topic)
	}
	return p.Remote(flow.Source, topic)
}

// translate returns the checkpoint of one group partition, if one is due, and counts why not otherwise.
func (p *Plan) translate(v View, c Committed) (mm2.Checkpoint, bool) {
	if c.Offset < 0 {
		p.Uncommitted++
		return mm2.Checkpoint{}, false
	}
	place, ok := v.Syncs.Locate(c.Partition, c.Offset)
	switch {
	case !ok:
		p.Unsynced++
		return mm2.Checkpoint{}, false
	case place.Downstream < 0:
		p.TooOld++
		return mm2.Checkpoint{}, false
	}
	remote := mm2.TopicPartition{Topic: v.Remote[c.Partition.Topic], Partition: c.Partition.Partition}
	bounds, exists := v.Target[remote]
	downstream := max(place.Downstream, bounds.Start)
	if !exists || downstream > bounds.End {
		p.Beyond++
		return mm2.Checkpoint{}, false
	}
	p.count(Position{c.Group, remote}, place.Again)
	last, written := v.Last[Position{c.Group, remote}]
	if written && last.Downstream <= bounds.End && c.Offset >= last.Upstream && downstream <= last.Downstream {
		p.Unchanged++
		return mm2.Checkpoint{}, false
	}
	return mm2.Checkpoint{TopicPartition: remote, Group: c.Group, Upstream: c.Offset, Downstream: downstream, Metadata: c.Metadata}, true
}

// count notes how exactly a group partition was translated.
func (p *Plan) count(at Position, again int64) {
	if again == 0 {
		p.Exact++
		return
	}
	p.Bounded++
	if again > p.Again {
		p.Again, p.Worst = again, at
	}
}
