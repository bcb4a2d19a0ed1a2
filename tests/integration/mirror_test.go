//go:build integration

package integration

import (
	"testing"
	"time"

	"tidemark/infra/local/mapping"
)

// TestMirror carries 100,000 odd records of 8 partitions.
func TestMirror(t *testing.T) {
	const partitions, records = 8, 100_000
	topic := source.topic(t, partitions)
	newOdd().write(t, topic, partitions, records/partitions)
	began := time.Now()
	f := newFlow(t, topic, settings{trigger: mapping.Options{BatchSize: 10_000, Pollers: 2}})
	f.caughtUp(t, partitions, 2*time.Minute)
	took := time.Since(began)
	f.same(t, records)
	stats := f.trigger.Stats()
	t.Logf("%d records in %v, %.0f records/s, trigger %+v", records, took.Round(time.Millisecond), records/took.Seconds(), stats)
	if stats.Failures != 0 {
		t.Errorf("%d invocations failed: %v", stats.Failures, f.failed)
	}
}
