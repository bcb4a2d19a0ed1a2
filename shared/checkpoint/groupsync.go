package checkpoint

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
)

// groupHeader is a header of a checkpoint of ours: what the group's offset on the target was when the checkpoint was written,
// as far as it was ours. A pass that dies between the checkpoint and the group's offset leaves one of the two there.
const groupHeader = "tidemark-group-offset"

// theirs says that the group has gone on by itself on the target.
const theirs = -2

// mostOurs bounds how many offsets are remembered while a group's offset on the target cannot be read.
const mostOurs = 8

// groups is what is known of the groups' offsets on the target.
type groups struct {
	ours   map[Position][]int64 // what may stand there and be ours, beside the last checkpoint; theirs alone: nothing of it is
	target map[Position]int64   // what stands there, as of this pass
	unread []Position           // where that could not be read
	freed  []Position           // where the group went on by itself and has no offset any more: the topic still says it did
}

func newGroups() *groups { return &groups{ours: make(map[Position][]int64)} }

// learn takes what a checkpoint that was read tells.
func (g *groups) learn(at Position, r *kgo.Record) {
	delete(g.ours, at)
	for _, h := range r.Headers {
		if h.Key == groupHeader && len(h.Value)%8 == 0 {
			for v := h.Value; len(v) > 0; v = v[8:] {
				g.ours[at] = append(g.ours[at], int64(binary.BigEndian.Uint64(v)))
			}
		}
	}
}

// header is what a new checkpoint tells of its group's offset; none when there is nothing to tell.
func (g *groups) header(at Position) []kgo.RecordHeader {
	var value []byte
	for _, offset := range g.ours[at] {
		value = binary.BigEndian.AppendUint64(value, uint64(offset))
	}
	if value == nil {
		return nil
	}
	return []kgo.RecordHeader{{Key: groupHeader, Value: value}}
}

// judge decides about every position what of its offset on the target is ours: none is nobody's, and free; one that was
// written here may be written again; anything else is the group's own from then on, until it has none there.
func (g *groups) judge(last map[Position]mm2.Checkpoint) {
	for at, offset := range g.target {
		known, written := last[at]
		mine := g.ours[at]
		if written && !slices.Contains(mine, theirs) {
			mine = append(slices.Clone(mine), known.Downstream)
		}
		switch {
		case offset < 0:
			if slices.Contains(mine, theirs) {
				g.freed = append(g.freed, at)
			}
			delete(g.ours, at)
		case slices.Contains(mine, offset):
			g.ours[at] = []int64{offset}
		default:
			g.ours[at] = []int64{theirs}
		}
	}
	for _, at := range g.unread {
		if known, written := last[at]; written && !slices.Contains(g.ours[at], theirs) && !slices.Contains(g.ours[at], known.Downstream) {
			mine := append(slices.Clone(g.ours[at]), known.Downstream)
			g.ours[at] = mine[max(len(mine)-mostOurs, 0):]
		}
	}
}

// due are the offsets to write of each group: its last checkpoints, where the target has none, or one of ours.
func (g *groups) due(last map[Position]mm2.Checkpoint) map[string]kadm.Offsets {
	due := make(map[string]kadm.Offsets)
	for at, offset := range g.target {
		c, ok := last[at]
		if !ok || offset == c.Downstream || slices.Contains(g.ours[at], theirs) {
			continue
		}
		offsets := due[at.Group]
		offsets.Add(kadm.Offset{Topic: at.Partition.Topic, Partition: at.Partition.Partition, At: c.Downstream, LeaderEpoch: -1, Metadata: c.Metadata})
		due[at.Group] = offsets
	}
	return due
}

// again are the last checkpoints of freed groups that a pass would not write: so that the topic forgets what it says of them.
func (g *groups) again(last map[Position]mm2.Checkpoint, planned []mm2.Checkpoint) (all []mm2.Checkpoint) {
	for _, at := range g.freed {
		written := slices.ContainsFunc(planned, func(c mm2.Checkpoint) bool { return at == Position{c.Group, c.TopicPartition} })
		if c, ok := last[at]; ok && !written {
			all = append(all, c)
		}
	}
	return all
}

// readGroups reads where the groups stand on the target, in the partitions that they have on the source. A group that cannot
// be read is counted and left out.
func (t *Task) readGroups(ctx context.Context, committed []Committed, remote map[string]string) {
	t.groups.target, t.groups.unread, t.groups.freed = make(map[Position]int64), nil, nil
	names := make(map[string]bool)
	for _, c := range committed {
		names[c.Group] = true
	}
	if len(names) == 0 {
		return
	}
	responses := t.target.Admin.FetchManyOffsets(ctx, slices.Sorted(maps.Keys(names))...)
	for _, c := range committed {
		at := Position{c.Group, mm2.TopicPartition{Topic: remote[c.Partition.Topic], Partition: c.Partition.Partition}}
		response, ok := responses[c.Group]
		if !ok || response.Err != nil {
			t.groups.unread = append(t.groups.unread, at)
			t.fault(ctx, c.Group, at.Partition, response.Err)
			continue
		}
		o, found := response.Fetched.Lookup(at.Partition.Topic, at.Partition.Partition)
		switch {
		case !found:
			t.groups.target[at] = -1
		case o.Err != nil:
			t.groups.unread = append(t.groups.unread, at)
			t.fault(ctx, c.Group, at.Partition, o.Err)
		default:
			t.groups.target[at] = o.At
		}
	}
	t.groups.judge(t.checkpoints.last)
}

// syncGroups writes the groups' offsets on the target, a request a group. The broker refuses what an active group has; that is
// no error, and tried again by the next pass.
func (t *Task) syncGroups(ctx context.Context, held func(context.Context) error) error {
	due := t.groups.due(t.checkpoints.last)
	if len(due) == 0 {
		return nil
	}
	if err := held(ctx); err != nil {
		return err
	}
	written := 0
	for _, group := range slices.Sorted(maps.Keys(due)) {
		responses, err := t.target.Admin.CommitOffsets(ctx, group, due[group])
		if err == nil {
			err = responses.Error()
		}
		switch {
		case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.IllegalGeneration), errors.Is(err, kerr.RebalanceInProgress), errors.Is(err, kerr.FencedMemberEpoch), errors.Is(err, kerr.StaleMemberEpoch):
			t.metrics.Add(GroupsActive, 1)
		case err != nil:
			t.metrics.Add(GroupErrors, 1)
			t.log.WarnContext(ctx, "group offsets cannot be written to the target", "group", group, "error", err)
		default:
			written += countOf(due[group])
		}
	}
	t.metrics.Add(GroupOffsetsWritten, int64(written))
	return nil
}

// checkpointHeaders are those of a checkpoint: none unless groups are synced.
func (t *Task) checkpointHeaders(c mm2.Checkpoint) []kgo.RecordHeader {
	if !t.flow.SyncGroups {
		return nil
	}
	return t.groups.header(Position{c.Group, c.TopicPartition})
}

// countOf counts offsets.
func countOf(o kadm.Offsets) (n int) {
	o.Each(func(kadm.Offset) { n++ })
	return n
}
