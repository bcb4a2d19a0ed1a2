//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tidemark/infra/local/mapping"
)

// TestKill kills the function's process at random moments, under a trigger that repeats and overlaps what it delivers. A
// killed owner's claim is taken over 25 s later, so kills come in volleys.
func TestKill(t *testing.T) {
	const partitions, volleys, kills, records = 8, 3, 5, 2500
	topic := source.topic(t, partitions)
	random := rand.New(rand.NewPCG(*seed, 1))
	f := newFlow(t, topic, settings{trigger: mapping.Options{
		BatchSize: 700, Pollers: 4, Faults: mapping.Faults{Redeliver: 3, Overlap: 2, Twice: 4},
	}})
	o := newOdd()
	for volley := range volleys {
		written := make(chan struct{})
		go func() {
			defer close(written)
			o.write(t, topic, partitions, records)
		}()
		var moments []string
		for range kills {
			time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
			killed, ok := f.function.Kill()
			for ; !ok; killed, ok = f.function.Kill() {
				time.Sleep(time.Millisecond)
			}
			moments = append(moments, killed.Ran.Round(time.Millisecond).String())
		}
		<-written
		f.caughtUp(t, partitions, time.Minute)
		t.Logf("volley %d: processes killed %s into an invocation", volley, strings.Join(moments, ", "))
	}
	if got, want := f.same(t, partitions), partitions*volleys*records; got != want {
		t.Errorf("compared %d records, want %d", got, want)
	}
	stats := f.trigger.Stats()
	t.Log(fmt.Sprintf("trigger %+v", stats))
	if stats.Failures < kills || stats.Repeated == 0 {
		t.Errorf("%d invocations failed, %d records were repeated: want at least %d and some", stats.Failures, stats.Repeated, kills)
	}
}
