//go:build integration

package integration

import (
	"testing"
	"time"

	"tidemark/infra/local/bed"
	"tidemark/infra/local/mapping"
	"tidemark/shared/watermark/watermarktest"
)

// TestStateStore has a second emulator keep to the rules of the state item.
func TestStateStore(t *testing.T) {
	t.Parallel()
	ground, err := bed.Start(t.Context(), bed.Options{
		Source: []string{source.addr}, Target: []string{target.addr}, DynamoDB: aws.url, Table: "state-" + t.Name(),
	})
	t.Cleanup(ground.Close)
	if err != nil {
		t.Fatal(err)
	}
	watermarktest.Run(t, ground.State)
}

// TestMirrorWithSecondEmulator keeps the watermarks there.
func TestMirrorWithSecondEmulator(t *testing.T) {
	t.Parallel()
	const partitions, records = 4, 2500
	topic := source.topic(t, partitions)
	o := newOdd()
	o.write(t, topic, partitions, records)
	f := newFlow(t, topic, settings{dynamoDB: aws.url, trigger: mapping.Options{
		BatchSize: 1000, Pollers: 2, Faults: mapping.Faults{Redeliver: 3, Overlap: 2, Twice: 4},
	}})
	f.caughtUp(t, partitions, 2*time.Minute)
	f.same(t, partitions*records)
}
