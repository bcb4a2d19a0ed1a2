//go:build integration

package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/mapping"
	"tidemark/infra/local/runtimeapi"
	"tidemark/shared/checkpoint"
	"tidemark/shared/mm2"
)

// passes are a flow's scheduled passes. The internal topics are shared by the tests; each has groups of its own.
type passes struct {
	*flow
	function *runtimeapi.Function
	output   *os.File
	env      []string
	minute   int
}

// newPasses is the checkpoint function of a flow; start begins a new process of it.
func newPasses(t *testing.T, f *flow, dynamoDB string, env ...string) *passes {
	t.Helper()
	p := &passes{flow: f, env: append([]string{
		"SOURCE_CLUSTER_ALIAS=source", "TARGET_CLUSTER_ALIAS=target", "STATE_TABLE=state-" + f.topic,
		"SOURCE_BOOTSTRAP_SERVERS=" + source.addr, "TARGET_BOOTSTRAP_SERVERS=" + target.addr, "AWS_ENDPOINT_URL_DYNAMODB=" + dynamoDB,
		"OFFSET_SYNCS_TOPIC_REPLICATION_FACTOR=1", "CHECKPOINTS_TOPIC_REPLICATION_FACTOR=1", "HEARTBEATS_TOPIC_REPLICATION_FACTOR=1",
		"TOPICS=" + regexp.QuoteMeta(f.topic), "GROUPS=" + regexp.QuoteMeta(f.topic) + ".*",
	}, env...)}
	output, err := os.Create(filepath.Join(t.TempDir(), "checkpoint.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { output.Close() })
	p.output = output
	p.start(t, 50*time.Second)
	return p
}

func (p *passes) start(t *testing.T, timeout time.Duration) {
	t.Helper()
	if p.function != nil {
		p.function.Close()
	}
	p.function = runtimeapi.New(os.Getenv("TIDEMARK_CHECKPOINT"), runtimeapi.Options{Name: "checkpoint", Concurrency: 1, Output: p.output, Timeout: timeout, Env: p.env})
	t.Cleanup(p.function.Close)
}

// tick serves the next minute's tick.
func (p *passes) tick(t *testing.T) {
	t.Helper()
	p.minute++
	if err := p.again(t.Context()); err != nil {
		t.Fatalf("tick %d: %v", p.minute, err)
	}
}

// again delivers the last tick once more.
func (p *passes) again(ctx context.Context) error {
	at := time.UnixMilli(int64(p.minute) * 60_000).UTC().Format(time.RFC3339)
	_, err := p.function.Invoke(ctx, fmt.Appendf(nil, `{"time":%q}`, at))
	return err
}

// group names a group of this flow's.
func (p *passes) group(name string) string { return p.topic + "-" + name }

// commit puts a group at an offset in every partition.
func (p *passes) commit(t *testing.T, name string, partitions int32, at int64) {
	t.Helper()
	var offsets kadm.Offsets
	for partition := range partitions {
		offsets.Add(kadm.Offset{Topic: p.topic, Partition: partition, At: at, LeaderEpoch: -1, Metadata: name})
	}
	if err := source.admin(t).CommitAllOffsets(t.Context(), p.group(name), offsets); err != nil {
		t.Fatalf("commit for %s: %v", name, err)
	}
}

// checkpoints are those of this flow's groups, in the order in which they were written.
func (p *passes) checkpoints(t *testing.T) (all []mm2.Checkpoint) {
	t.Helper()
	for _, r := range readFrom(t, target, mm2.TopicPartition{Topic: "source.checkpoints.internal"}, 0) {
		c, err := mm2.DecodeCheckpoint(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		if c.Topic == p.remote {
			all = append(all, c)
		}
	}
	return all
}

// last is a group's last checkpoint in a partition; false if it has none.
func (p *passes) last(t *testing.T, name string, partition int32) (found mm2.Checkpoint, ok bool) {
	t.Helper()
	for _, c := range p.checkpoints(t) {
		if c.Group == p.group(name) && c.Partition == partition {
			found, ok = c, true
		}
	}
	return found, ok
}

// failover reads each partition on the target from a group's checkpoint on, and wants every record that the group had not
// read on the source. It returns how many it read again.
func (p *passes) failover(t *testing.T, name string, partitions int32) (again int) {
	t.Helper()
	for partition := range partitions {
		upstream, downstream := p.partition(partition)
		c, ok := p.last(t, name, partition)
		if !ok || c.Metadata != name {
			t.Fatalf("group %s has checkpoint %+v in %s, %t, want one with its metadata", name, c, downstream, ok)
		}
		unread := readFrom(t, source, upstream, c.Upstream)
		got := readFrom(t, target, downstream, c.Downstream)
		if len(got) < len(unread) {
			t.Errorf("%s: group %s at %d is sent to %d: %d records on the target, %d unread", upstream, name, c.Upstream, c.Downstream, len(got), len(unread))
			continue
		}
		again += len(got) - len(unread)
		for i, r := range got[len(got)-len(unread):] {
			if !bytes.Equal(r.Value, unread[i].Value) || !bytes.Equal(r.Key, unread[i].Key) {
				t.Errorf("%s: group %s skips record %d", upstream, name, unread[i].Offset)
			}
		}
	}
	return again
}

// readFrom reads a partition from an offset to its end, as a read_committed consumer sees it.
func readFrom(t *testing.T, b *broker, tp mm2.TopicPartition, from int64) (all []*kgo.Record) {
	t.Helper()
	end := b.end(t, tp)
	if from >= end {
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	client := b.client(t, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{tp.Topic: {tp.Partition: kgo.NewOffset().At(from)}}))
	for len(all) == 0 || all[len(all)-1].Offset < end-1 {
		fetched := client.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			t.Fatalf("read %s from %d: %v", tp, from, err)
		}
		all = append(all, fetched.Records()...)
	}
	return slices.DeleteFunc(all, func(r *kgo.Record) bool { return r.Attrs.IsControl() })
}

// mirrored starts a flow of two halves with a pass after each, so that each partition has two syncs, and groups at the end,
// between the syncs, at the first one and before it.
func mirrored(t *testing.T, dynamoDB string, env ...string) *passes {
	t.Helper()
	const half = 500
	topic := source.topic(t, failoverPartitions)
	f := newFlow(t, topic, settings{dynamoDB: dynamoDB, trigger: mapping.Options{BatchSize: 200, Pollers: 2}})
	p := newPasses(t, f, f.dynamoDB, env...)
	for range 2 {
		newOdd().write(t, topic, failoverPartitions, half)
		f.caughtUp(t, failoverPartitions, time.Minute)
		p.tick(t)
	}
	for name, at := range map[string]int64{"end": 2 * half, "between": half + half/2, "first": half, "before": half / 2} {
		p.commit(t, name, failoverPartitions, at)
	}
	p.tick(t)
	return p
}

const failoverPartitions = 3

// exact fails groups over and wants them to read nothing again, for every position lies in a run that was kept.
func (p *passes) exact(t *testing.T, groups ...string) {
	t.Helper()
	for _, name := range groups {
		if again := p.failover(t, name, failoverPartitions); again != 0 {
			t.Errorf("group %s reads %d records again, want none", name, again)
		}
	}
}

func TestFailover(t *testing.T) {
	t.Parallel()
	for name, dynamoDB := range map[string]string{"embedded table": "", "second emulator": aws.url} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mirrored(t, dynamoDB)
			p.exact(t, "end", "between", "first", "before")
			before := p.checkpoints(t)
			if err := p.again(t.Context()); err != nil { // a tick that comes twice
				t.Fatal(err)
			}
			p.start(t, 50*time.Second) // another process
			p.tick(t)
			if diff := cmp.Diff(before, p.checkpoints(t)); diff != "" {
				t.Errorf("checkpoints of passes in which nothing moved (-before +after):\n%s", diff)
			}
		})
	}
}

// TestFailoverFromHoles fails groups over from anywhere in a source with markers and aborted records, and in one with
// compacted ones.
func TestFailoverFromHoles(t *testing.T) {
	t.Parallel()
	const groups = 25
	for name, source := range map[string]struct {
		make  func(t *testing.T) mm2.TopicPartition
		exact bool // the item has kept every run until the first pass
	}{
		"transactional": {func(t *testing.T) mm2.TopicPartition {
			t.Helper()
			tp := mm2.TopicPartition{Topic: source.topic(t, 1)}
			transactions(t, tp, 40, 25, 4)
			write(t, source.client(t), noisy(tp, 1)...)
			return tp
		}, true},
		"compacted": {func(t *testing.T) mm2.TopicPartition {
			t.Helper()
			return compacted(t, 2000)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tp := source.make(t)
			f := newFlow(t, tp.Topic, settings{trigger: mapping.Options{BatchSize: 100}})
			p := newPasses(t, f, f.dynamoDB)
			f.caughtUp(t, 1, time.Minute)
			p.tick(t)
			end := f.next(t)
			for i := range int64(groups) {
				p.commit(t, strconv.FormatInt(i, 10), 1, end*i/(groups-1))
			}
			p.tick(t)
			stated := p.gauge(t, checkpoint.RecordsReadAgain)
			all, most := 0, 0
			for i := range groups {
				again := p.failover(t, strconv.Itoa(i), 1)
				all, most = all+again, max(most, again)
			}
			t.Logf("%d groups from 0 to %d read %d records again, one of them %d; the pass stated %d at most", groups, end, all, most, stated)
			if int64(most) > stated || source.exact && stated > 0 {
				t.Errorf("a group reads %d records again, the pass stated %d at most; exact: %t", most, stated, source.exact)
			}
		})
	}
}

// gauge is what the last pass has measured.
func (p *passes) gauge(t *testing.T, name string) (last int64) {
	t.Helper()
	each(t, p.output.Name(), name, func(n int64) { last = n })
	return last
}

// next is partition 0's watermark.
func (f *flow) next(t *testing.T) int64 {
	t.Helper()
	upstream, _ := f.partition(0)
	s, err := f.store.Get(t.Context(), upstream)
	if err != nil {
		t.Fatal(err)
	}
	return s.Next
}

// TestOlderSyncsAreGone keeps the syncs on the source and takes the older ones away between two passes, as compaction does.
func TestOlderSyncsAreGone(t *testing.T) {
	t.Parallel()
	const alias = "elsewhere"
	syncs := mm2.TopicPartition{Topic: "mm2-offset-syncs." + alias + ".internal"}
	source.topicNamed(t, syncs.Topic, 1, "cleanup.policy=compact,delete")
	p := mirrored(t, "", "TARGET_CLUSTER_ALIAS="+alias, "OFFSET_SYNCS_TOPIC_LOCATION=source")
	before := p.checkpoints(t)
	source.deleteBefore(t, syncs, source.end(t, syncs)-failoverPartitions) // one sync a partition is left
	p.start(t, 50*time.Second)
	p.commit(t, "between", failoverPartitions, 800)
	p.commit(t, "end", failoverPartitions, 1000)
	p.tick(t)
	after := p.checkpoints(t)
	if len(after) != len(before)+failoverPartitions || !slices.Equal(after[:len(before)], before) {
		t.Errorf("%d checkpoints after the history was lost, want the %d from before and a group's %d that moved", len(after), len(before), failoverPartitions)
	}
	p.exact(t, "end", "between", "first", "before")
}

// TestIncompleteRead stops the target in the middle of a pass.
func TestIncompleteRead(t *testing.T) {
	p := mirrored(t, "")
	before := p.checkpoints(t)
	p.commit(t, "first", failoverPartitions, 1000)
	p.start(t, 6*time.Second)
	target.signal(t, syscall.SIGSTOP)
	p.minute++
	err := p.again(t.Context())
	target.signal(t, syscall.SIGCONT)
	if err == nil {
		t.Error("a pass without the target succeeded")
	}
	if diff := cmp.Diff(before, p.checkpoints(t)); diff != "" {
		t.Errorf("checkpoints of a pass that failed (-before +after):\n%s", diff)
	}
	p.start(t, 50*time.Second)
	p.tick(t)
	if after := p.checkpoints(t); len(after) != len(before)+failoverPartitions || !slices.Equal(after[:len(before)], before) {
		t.Errorf("%d checkpoints after the next pass, want the %d from before and %d more", len(after), len(before), failoverPartitions)
	}
	p.failover(t, "first", failoverPartitions)
}
