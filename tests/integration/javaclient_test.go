//go:build integration

package integration

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/infra/local/mapping"
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
			p.commit(t, "group", partitions, half)
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
			has("checkpointTopics", c.alias+c.separator+"checkpoints"+c.separator+"internal")
			has("remoteTopics", remote)
			has("translateOffsets", remote+"-0=300/group", remote+"-1=300/group")
			if n := len(says["translateOffsets"]); n != partitions {
				t.Errorf("translateOffsets = %q, want %d partitions", says["translateOffsets"], partitions)
			}
		})
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
