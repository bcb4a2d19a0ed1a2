//go:build java

package java

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
)

// TestLaggingGroups: of a million records that were mirrored without a hole, MM2 has written an offset sync each hundred, as
// offset.lag.max has it. Java's own store translates three groups by them; ours goes by the run that the newest of our syncs
// has in its header.
func TestLaggingGroups(t *testing.T) {
	t.Parallel()
	const records, lag = 1_000_000, 100
	groups := []int64{999_950, 990_000, 500_000}
	var input strings.Builder
	input.WriteString("load history\nloaded\n")
	for upstream := int64(0); upstream <= records; upstream += lag {
		fmt.Fprintf(&input, "sync 0 %d %d\n", upstream, upstream)
	}
	for _, g := range groups {
		fmt.Fprintf(&input, "ask 0 %d\n", g)
	}
	java := strings.Fields(runJava(t, "Harness", strings.NewReader(input.String())))

	tp := mm2.TopicPartition{Topic: "orders"}
	var runs offsetsync.Runs
	runs.Extend(0, 0, records, true)
	value, err := (&offsetsync.Header{Epoch: 1, Runs: runs}).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	var header offsetsync.Header
	if err := header.UnmarshalBinary(value); err != nil {
		t.Fatal(err)
	}
	store := offsetsync.New()
	store.Load(offsetsync.History)
	store.Add(mm2.OffsetSync{TopicPartition: tp, Upstream: records - 1, Downstream: records - 1})
	store.Note(tp, header)
	store.Loaded()

	t.Logf("%10s %22s %22s", "group at", "MM2 reads again", "Tidemark reads again")
	want := []int64{49, 4_399, 90_399}
	for i, g := range groups {
		place, ok := store.Locate(tp, g)
		var by int64
		if _, err := fmt.Sscan(java[i], &by); err != nil || !ok {
			t.Fatalf("group at %d: Java says %q, ours knows it: %t", g, java[i], ok)
		}
		t.Logf("%10d %22d %22d", g, g-by, g-place.Downstream)
		if place.Downstream != g || place.Again != 0 {
			t.Errorf("group at %d is sent to %d, stated %d, want exactly there", g, place.Downstream, place.Again)
		}
		if g-by != want[i] {
			t.Errorf("group at %d: MM2 reads %d again, want %d", g, g-by, want[i])
		}
	}
}
