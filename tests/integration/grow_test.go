//go:build integration

package integration

import (
	"testing"
	"time"

	"tidemark/infra/local/mapping"
)

// TestGrow adds partitions to the source topic while it is mirrored.
func TestGrow(t *testing.T) {
	t.Parallel()
	const before, after, records = 2, 5, 500
	topic := source.topic(t, before)
	f := newFlow(t, topic, settings{trigger: mapping.Options{BatchSize: 200, Pollers: 3, Refresh: 200 * time.Millisecond}})
	o := newOdd()
	o.write(t, topic, before, records)
	f.caughtUp(t, before, time.Minute)
	if got := target.partitions(t, f.remote); got != before {
		t.Errorf("remote topic has %d partitions, want %d", got, before)
	}
	grown, err := source.admin(t).UpdatePartitions(t.Context(), after, topic)
	if err != nil || grown[topic].Err != nil {
		t.Fatalf("add partitions: %v, %v", err, grown[topic].Err)
	}
	source.awaitPartitions(t, topic, after)
	o.write(t, topic, after, records)
	f.caughtUp(t, after, time.Minute)
	if got := target.partitions(t, f.remote); got != after {
		t.Errorf("remote topic has %d partitions, want %d", got, after)
	}
	f.same(t, records*(before+after))
	if len(f.failed) > 0 {
		t.Errorf("%d invocations failed: %v", len(f.failed), f.failed)
	}
}
