//go:build integration

package integration

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tidemark/infra/local/mapping"
	"tidemark/shared/mirror"
)

// TestKill kills the function's process at random moments, under a trigger that repeats and overlaps what it delivers. A
// killed owner's claim is taken over 25 s later, so kills come in volleys.
func TestKill(t *testing.T) {
	t.Parallel()
	const partitions, volleys, kills, records = 8, 3, 5, 2500
	topic := source.topic(t, partitions)
	random := rand.New(rand.NewPCG(*seed, 1))
	f := newFlow(t, topic, settings{trigger: mapping.Options{
		BatchSize: 1500, Pollers: 4, Faults: mapping.Faults{Redeliver: 3, Overlap: 2, Twice: 4},
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
			if ran, ok := f.kill(random); ok {
				moments = append(moments, ran.Round(time.Millisecond).String())
			}
		}
		<-written
		f.caughtUp(t, partitions, time.Minute)
		t.Logf("volley %d: processes killed %s into an invocation", volley, strings.Join(moments, ", "))
	}
	f.same(t, partitions*volleys*records)
	stats := f.trigger.Stats()
	t.Logf("trigger %+v; %d takeovers, %d records found on the target", stats, f.metric(t, mirror.UnfencedTakeovers), f.metric(t, mirror.RecordsSettled))
	for _, name := range []string{mirror.DuplicatesPossible, mirror.RecordsForeign} {
		if n := f.metric(t, name); n != 0 {
			t.Errorf("%s = %d, want 0", name, n)
		}
	}
	if stats.Failures < kills || stats.Repeated == 0 {
		t.Errorf("%d invocations failed, %d records were repeated: want at least %d and some", stats.Failures, stats.Repeated, kills)
	}
}

// kill kills the process of an invocation at a random moment of it, and says how long it ran. It reports false when no
// invocation begins any more: all is mirrored.
func (f *flow) kill(random *rand.Rand) (ran time.Duration, ok bool) {
	const idle = time.Second
	for {
		select {
		case <-f.began:
		case <-time.After(idle):
			return 0, false
		}
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		if killed, ok := f.function.Kill(); ok {
			return killed.Ran, true
		}
	}
}
