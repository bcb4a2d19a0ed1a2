//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/infra/local/mapping"
	"tidemark/shared/mm2"
)

// TestJavaClient asks MM2's own client, as tools that fail groups over do, about a target that Tidemark has written.
func TestJavaClient(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		alias, separator string
		identity         bool
	}{
		"dot":         {alias: "one", separator: "."},
		"underscore":  {alias: "two", separator: "_"},
		"underscores": {alias: "three", separator: "__"},
		"identity":    {alias: "four", separator: ".", identity: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const half, partitions = 300, 2
			topic := source.topic(t, partitions)
			gone := begunLate(t, topic, partitions)
			env := []string{"SOURCE_CLUSTER_ALIAS=" + c.alias, "REPLICATION_POLICY_SEPARATOR=" + c.separator}
			properties := []string{"bootstrap.servers=" + target.addr, "replication.policy.separator=" + c.separator}
			remote := c.alias + c.separator + topic
			if c.identity {
				remote = topic
				env = append(env, "REPLICATION_POLICY_CLASS=IdentityReplicationPolicy")
				properties = append(properties, "replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy", "source.cluster.alias="+c.alias)
			}
			f := newFlow(t, topic, settings{env: env, trigger: mapping.Options{BatchSize: 100}})
			f.remote = remote
			p := newPasses(t, f, f.dynamoDB, env...)
			newOdd().write(t, topic, partitions, 2*half)
			f.caughtUp(t, partitions, time.Minute)
			p.tick(t)
			p.commit(t, "group", partitions, gone+half)
			p.tick(t)

			says := javaClient(t, append([]string{c.alias, p.group("group")}, properties...)...)
			has := func(method string, wanted ...string) {
				t.Helper()
				for _, w := range wanted {
					if !slices.Contains(says[method], w) {
						t.Errorf("%s = %q, want %q among it", method, says[method], w)
					}
				}
			}
			has("upstreamClusters", c.alias)
			has("replicationHops", "1")
			has("heartbeatTopics", "heartbeats", c.alias+c.separator+"heartbeats")
			checkpoints := c.alias + c.separator + "checkpoints" + c.separator + "internal"
			has("checkpointTopics", checkpoints)
			has("remoteTopics", remote)
			if n := len(says["translateOffsets"]); n != partitions {
				t.Errorf("translateOffsets = %q, want %d partitions", says["translateOffsets"], partitions)
			}
			stands := f.standing(t, checkpoints, p.group("group"))
			for partition := range int32(partitions) {
				upstream, downstream := f.partition(partition)
				at := stands[downstream]
				has("translateOffsets", fmt.Sprintf("%s=%d/group", downstream, at))
				if at != half {
					t.Errorf("group at %d of %s is sent to %d of %s, want %d", gone+half, upstream, at, downstream, half)
				}
				sameFrom(t, upstream, gone+half, downstream, at)
			}
		})
	}
}

// begunLate makes a source's logs begin past 0, so that no offset on the target is the one on the source. It returns where.
func begunLate(t *testing.T, topic string, partitions int32) (start int64) {
	t.Helper()
	const gone = 40
	newOdd().write(t, topic, partitions, gone)
	for p := range partitions {
		source.deleteBefore(t, mm2.TopicPartition{Topic: topic, Partition: p}, gone)
	}
	return gone
}

// standing is where a group's last checkpoints in a topic place it in this flow's remote topic.
func (f *flow) standing(t *testing.T, topic, group string) map[mm2.TopicPartition]int64 {
	t.Helper()
	offsets := map[mm2.TopicPartition]int64{}
	for _, r := range readFrom(t, target, mm2.TopicPartition{Topic: topic}, 0) {
		c, err := mm2.DecodeCheckpoint(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		if c.Group == group && c.Topic == f.remote {
			offsets[c.TopicPartition] = c.Downstream
		}
	}
	return offsets
}

// sameFrom wants a plain consumer to find the same records on both sides, from its place on each on.
func sameFrom(t *testing.T, upstream mm2.TopicPartition, from int64, downstream mm2.TopicPartition, at int64) {
	t.Helper()
	want, got := readFrom(t, source, upstream, from), readFrom(t, target, downstream, at)
	if len(want) == 0 || len(got) != len(want) {
		t.Fatalf("%s from %d on has %d records, %s from %d on has %d, want as many and some", upstream, from, len(want), downstream, at, len(got))
	}
	for i, r := range got {
		if !bytes.Equal(r.Key, want[i].Key) || !bytes.Equal(r.Value, want[i].Value) {
			t.Fatalf("record %d of %s is not record %d of %s", r.Offset, downstream, want[i].Offset, upstream)
		}
	}
}

// javaClient runs Client.java and returns the values that it printed of each method.
func javaClient(t *testing.T, args ...string) map[string][]string {
	t.Helper()
	command := java("-Xmx128m", append([]string{"kafka/Client.java"}, args...)...)
	var stderr strings.Builder
	run := exec.CommandContext(t.Context(), command[0], command[1:]...)
	run.Stderr = &stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("MM2's client: %v\n%s", err, &stderr)
	}
	says := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		method, values, _ := strings.Cut(strings.TrimSpace(line), " ")
		says[method] = strings.Split(strings.Trim(values, "[]{}"), ", ")
	}
	return says
}
