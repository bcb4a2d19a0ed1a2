//go:build integration

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/infra/local/mapping"
	"tidemark/infra/local/runtimeapi"
	"tidemark/shared/handover"
	"tidemark/shared/mm2"
)

// mirrorMaker is a dedicated MM2 of the flow source -> target.
type mirrorMaker struct{ *process }

// startMM2 starts one for a topic and the groups whose names begin with it.
func startMM2(t *testing.T, topic string) mirrorMaker {
	t.Helper()
	dir := t.TempDir()
	properties := filepath.Join(dir, "mm2.properties")
	text := strings.Join([]string{
		"clusters=source,target",
		"source.bootstrap.servers=" + source.addr,
		"target.bootstrap.servers=" + target.addr,
		"source->target.enabled=true",
		"source->target.topics=" + regexp.QuoteMeta(topic),
		"source->target.groups=" + regexp.QuoteMeta(topic) + ".*",
		"source->target.emit.checkpoints.interval.seconds=1", "source->target.refresh.groups.interval.seconds=2",
		"source->target.offset-syncs.topic.location=target",
		"source->target.sync.topic.acls.enabled=false",
		"emit.heartbeats.enabled=false",
		"replication.factor=1",
		"offset-syncs.topic.replication.factor=1", "checkpoints.topic.replication.factor=1", "heartbeats.topic.replication.factor=1",
		"config.storage.replication.factor=1", "offset.storage.replication.factor=1", "status.storage.replication.factor=1",
		"dedicated.mode.enable.internal.rest=false",
	}, "\n")
	if err := os.WriteFile(properties, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := run(filepath.Join(dir, "mm2.log"), nil, java("-Xmx384m", "org.apache.kafka.connect.mirror.MirrorMaker", properties)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return mirrorMaker{p}
}

// until waits for something that MM2 is to do.
func (m mirrorMaker) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	const limit = 2 * time.Minute
	for deadline := time.Now().Add(limit); !done(); time.Sleep(200 * time.Millisecond) {
		select {
		case <-m.exited:
			t.Fatalf("MM2 has ended before %s: %v\n%s", what, m.err, m.tail())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("MM2: not %s within %v\n%s", what, limit, m.tail())
		}
	}
}

// end stops it in an orderly way, so that it notes its positions.
func (m mirrorMaker) end(t *testing.T) {
	t.Helper()
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-m.exited:
	case <-time.After(time.Minute):
		t.Fatalf("MM2 does not end\n%s", m.tail())
	}
}

// operator is the operator function of a flow.
type operator struct{ function *runtimeapi.Function }

func newOperator(t *testing.T, f *flow) operator {
	t.Helper()
	function := runtimeapi.New(os.Getenv("TIDEMARK_OPERATOR"), runtimeapi.Options{Name: "operator", Concurrency: 1, Output: os.Stderr, Timeout: time.Minute, Env: []string{
		"SOURCE_CLUSTER_ALIAS=source", "TARGET_CLUSTER_ALIAS=target", "STATE_TABLE=state-" + f.topic,
		"SOURCE_BOOTSTRAP_SERVERS=" + source.addr, "TARGET_BOOTSTRAP_SERVERS=" + target.addr, "AWS_ENDPOINT_URL_DYNAMODB=" + f.dynamoDB,
		"OFFSET_SYNCS_TOPIC_REPLICATION_FACTOR=1", "TOPICS=" + regexp.QuoteMeta(f.topic),
	}})
	t.Cleanup(function.Close)
	return operator{function}
}

// do carries out the command of docs/mm2.md whose payload holds an action, and wants no partition to have an error.
func (o operator) do(t *testing.T, action string) []handover.Partition {
	t.Helper()
	page, err := os.ReadFile("../../docs/mm2.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`aws lambda invoke .* --payload '(\{"action":"` + action + `".*\})' out.json`).FindSubmatch(page)
	if command == nil {
		t.Fatalf("docs/mm2.md has no command for %s", action)
	}
	answer, err := o.function.Invoke(t.Context(), command[1])
	if err != nil {
		t.Fatalf("%s: %v", command[1], err)
	}
	var partitions []handover.Partition
	if err := json.Unmarshal(answer, &partitions); err != nil {
		t.Fatalf("%s: %s: %v", action, answer, err)
	}
	for _, p := range partitions {
		if p.Error != "" {
			t.Errorf("%s: %+v", action, p)
		}
	}
	t.Logf("%s: %s", action, answer)
	return partitions
}

// holds says whether the target has all that the source has, of so many partitions.
func (f *flow) holds(t *testing.T, partitions int32) func() bool {
	t.Helper()
	return func() bool {
		for p := range partitions {
			upstream, downstream := f.partition(p)
			if target.end(t, downstream) < source.end(t, upstream) {
				return false
			}
		}
		return true
	}
}

// translates says whether a group's newest checkpoint in partition 0 is of a position.
func (p *passes) translates(t *testing.T, name string, upstream int64) func() bool {
	t.Helper()
	return func() bool {
		if target.end(t, mm2.TopicPartition{Topic: "source.checkpoints.internal"}) == 0 {
			return false
		}
		c, ok := p.last(t, name, 0)
		return ok && c.Upstream == upstream
	}
}

// monotonic wants no group's checkpoints ever to have gone back.
func (p *passes) monotonic(t *testing.T) {
	t.Helper()
	type key struct {
		group     string
		partition int32
	}
	last := map[key]mm2.Checkpoint{}
	for _, c := range p.checkpoints(t) {
		k := key{c.Group, c.Partition}
		if before := last[k]; c.Upstream < before.Upstream || c.Downstream < before.Downstream {
			t.Errorf("checkpoint %+v goes back behind %+v", c, before)
		}
		last[k] = c
	}
}

// TestMM2 takes a flow over from a real MM2 that was killed, and hands it back to one, by the commands of docs/mm2.md.
// Meanwhile Tidemark mirrors another topic of the same two clusters.
func TestMM2(t *testing.T) {
	t.Parallel()
	const partitions, part = 2, 500
	topic := source.topic(t, partitions)
	f := newFlow(t, topic, settings{idle: true, trigger: mapping.Options{BatchSize: 200}})
	p := newPasses(t, f, f.dynamoDB)
	o := newOdd()
	more := func(topic string) {
		t.Helper()
		for p := range int32(partitions) {
			records := o.records(topic, p, part)
			for _, r := range records { // MM2 gives a record without a timestamp one of its own
				r.Timestamp = r.Timestamp.Add(time.Millisecond)
			}
			write(t, source.client(t), records...)
		}
	}

	more(topic)
	m := startMM2(t, topic)
	m.until(t, "mirrored", f.holds(t, partitions))
	m.end(t) // it notes its positions
	more(topic)
	m = startMM2(t, topic)
	m.until(t, "mirrored what came since", f.holds(t, partitions))
	p.commit(t, "old", partitions, 300)
	p.commit(t, "new", partitions, 2*part)
	m.until(t, "translated", p.translates(t, "new", 2*part))
	m.kill() // its noted positions trail
	more(topic)

	hands := newOperator(t, f)
	for _, placed := range hands.do(t, "take-over") {
		if placed.Position == nil || *placed.Position != 2*part || placed.From != "connect offset" {
			t.Errorf("taken over: %+v, want it behind the %d records that MM2 has mirrored", placed, 2*part)
		}
	}
	f.run(t)
	f.caughtUp(t, partitions, time.Minute)
	f.same(t, partitions*3*part)
	p.tick(t)
	p.commit(t, "new", partitions, 2*part+part/2)
	p.tick(t)
	again := map[string]int{"old": p.failover(t, "old", partitions), "new": p.failover(t, "new", partitions)}
	t.Logf("after the take-over, group old in what MM2 mirrored reads %d records again, group new %d", again["old"], again["new"])
	if again["new"] != 0 {
		t.Errorf("group new reads %d records again", again["new"])
	}

	f.stop()
	p.tick(t)
	for _, back := range hands.do(t, "hand-back") {
		if back.Position == nil || *back.Position != 3*part {
			t.Errorf("handed back: %+v, want it at %d", back, 3*part)
		}
	}
	beside := source.topicNamed(t, "beside."+topic, partitions)
	other := newFlow(t, beside, settings{trigger: mapping.Options{BatchSize: 200}})
	otherPasses := newPasses(t, other, other.dynamoDB)
	more(topic)
	m = startMM2(t, topic)
	more(beside)
	m.until(t, "gone on", f.holds(t, partitions))
	other.caughtUp(t, partitions, time.Minute)
	other.same(t, partitions*part)
	otherPasses.tick(t)
	otherPasses.commit(t, "group", partitions, part/2)
	otherPasses.tick(t)
	if n := otherPasses.failover(t, "group", partitions); n != 0 {
		t.Errorf("beside MM2, a group reads %d records again", n)
	}
	f.same(t, partitions*4*part)
	p.commit(t, "new", partitions, 4*part)
	m.until(t, "translated by Tidemark's syncs and its own", p.translates(t, "new", 4*part))
	m.end(t)
	t.Logf("after the hand-back, by MM2's translation, group old reads %d records again, group new %d", p.failover(t, "old", partitions), p.failover(t, "new", partitions))
	p.monotonic(t)
	otherPasses.monotonic(t)
}
