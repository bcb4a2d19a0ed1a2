package checkpoint

import (
	"cmp"
	"slices"

	"tidemark/shared/mm2"
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
	// Translate returns the downstream offset at which a group that stands at upstream goes on; false when there is no
	// sync to go by, -1 when upstream is older than every sync.
	Translate(tp mm2.TopicPartition, upstream int64) (downstream int64, ok bool)
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

	Uncommitted    int // group partitions without an offset
	Untranslatable int // no sync to go by, or older than every sync
	Beyond         int // translated past the end of the remote partition, or there is none: withheld until it is there
	Unchanged      int // equal to the last checkpoint, or behind it while the group is not
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
	downstream, ok := v.Syncs.Translate(c.Partition, c.Offset)
	if !ok || downstream < 0 {
		p.Untranslatable++
		return mm2.Checkpoint{}, false
	}
	remote := mm2.TopicPartition{Topic: v.Remote[c.Partition.Topic], Partition: c.Partition.Partition}
	bounds, exists := v.Target[remote]
	if downstream = max(downstream, bounds.Start); !exists || downstream > bounds.End {
		p.Beyond++
		return mm2.Checkpoint{}, false
	}
	last, ok := v.Last[Position{c.Group, remote}]
	if ok && last.Downstream <= bounds.End && c.Offset >= last.Upstream && downstream <= last.Downstream {
		p.Unchanged++
		return mm2.Checkpoint{}, false
	}
	return mm2.Checkpoint{TopicPartition: remote, Group: c.Group, Upstream: c.Offset, Downstream: downstream, Metadata: c.Metadata}, true
}
