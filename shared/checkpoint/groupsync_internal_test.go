package checkpoint

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"tidemark/shared/mm2"
)

// TestGroupOffsets plays passes that die anywhere, over a group that may go on by itself on the target, and wants: what the
// group has put there itself is never overwritten, and what it leaves alone follows the checkpoints within a pass.
func TestGroupOffsets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		at := Position{"g", mm2.TopicPartition{Topic: "us.orders"}}
		var written *kgo.Record // the newest checkpoint in the topic
		target, own := int64(-1), false
		next := int64(10)
		var g *groups
		var taken *kgo.Record // the newest checkpoint that the process has read
		last := map[Position]mm2.Checkpoint{}
		read := func() {
			if written == taken {
				return
			}
			taken = written
			c, err := mm2.DecodeCheckpoint(written.Key, written.Value)
			if err != nil {
				r.Fatal(err)
			}
			last[at] = c
			g.learn(at, written)
		}
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			if g == nil || rapid.IntRange(0, 3).Draw(r, "cold") == 0 {
				g, taken, last = newGroups(), nil, map[Position]mm2.Checkpoint{}
			}
			read()
			g.target, g.unread, g.freed = map[Position]int64{}, nil, nil
			if rapid.IntRange(0, 5).Draw(r, "unreadable") == 0 {
				g.unread = []Position{at}
			} else {
				g.target[at] = target
			}
			g.judge(last)
			var planned []mm2.Checkpoint
			if rapid.Bool().Draw(r, "moved") { // a checkpoint is due
				next += rapid.Int64Range(1, 3).Draw(r, "by")
				planned = []mm2.Checkpoint{{TopicPartition: at.Partition, Group: at.Group, Upstream: next, Downstream: next}}
			}
			for _, c := range append(planned, g.again(last, planned)...) {
				key, err := c.Key()
				if err != nil {
					r.Fatal(err)
				}
				value, err := c.Value()
				if err != nil {
					r.Fatal(err)
				}
				written = &kgo.Record{Key: key, Value: value, Headers: g.header(at)}
			}
			switch rapid.IntRange(0, 5).Draw(r, "then") {
			case 0: // the pass dies
				g = nil
				continue
			case 1: // the interval of group offsets is not over
				continue
			}
			read()
			offsets, due := g.due(last)[at.Group]
			if _, unread := g.target[at]; !unread && due {
				r.Fatal("an offset is written where none was read")
			}
			if due {
				if own {
					r.Fatalf("the group stands at %d by itself and is moved to %v", target, offsets)
				}
				o, _ := offsets.Lookup(at.Partition.Topic, at.Partition.Partition)
				target = o.At
			}
			if _, known := g.target[at]; known && written != nil && !own && target != last[at].Downstream {
				r.Fatalf("the group is left at %d, its checkpoint is at %d", target, last[at].Downstream)
			}
			switch rapid.IntRange(0, 9).Draw(r, "group") {
			case 0: // it goes on by itself, never to where a checkpoint has put it
				target, own = 1_000_000+next, true
			case 1: // it is reset
				target, own = -1, false
			}
		}
	})
}
