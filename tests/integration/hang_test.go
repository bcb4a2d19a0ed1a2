//go:build integration

package integration

import (
	"syscall"
	"testing"
	"time"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

const batch = 100

// hang mirrors a batch and then has the target hang while a warm function produces a second one.
func hang(t *testing.T, s settings) *flow {
	t.Helper()
	tp := mm2.TopicPartition{Topic: source.topic(t, 1)}
	client := source.client(t)
	f := newFlow(t, tp.Topic, s)
	write(t, client, numbered(tp, batch)...)
	f.caughtUp(t, 1, time.Minute)
	target.signal(t, syscall.SIGSTOP)
	t.Cleanup(func() { target.signal(t, syscall.SIGCONT) })
	write(t, client, numbered(tp, batch)...)
	return f
}

// TestKilledWhileTheTargetHangs has a dead function's records land after its death: the broker reads them from its socket
// later. The invocation that takes over has to find all of them.
func TestKilledWhileTheTargetHangs(t *testing.T) {
	f := hang(t, settings{})
	time.Sleep(time.Second) // long enough for a warm function to send
	if _, ok := f.function.Kill(); !ok {
		t.Error("no invocation waits for the target")
	}
	target.signal(t, syscall.SIGCONT)
	_, downstream := f.partition(0)
	for deadline := time.Now().Add(10 * time.Second); target.end(t, downstream) < 2*batch; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the target ends at %d, want %d: a dead function's records", target.end(t, downstream), 2*batch)
		}
	}
	f.caughtUp(t, 1, time.Minute)
	f.same(t, 2*batch)
	if got := f.metric(t, mirror.RecordsSettled); got != batch {
		t.Errorf("%s = %d, want %d", mirror.RecordsSettled, got, batch)
	}
	if got := f.metric(t, mirror.RecordsMirrored); got != batch {
		t.Errorf("%s = %d, want %d: the first batch alone", mirror.RecordsMirrored, got, batch)
	}
}

// TestGivesUpWhileTheTargetHangs has the function come to the end of its time instead: what it sent may or may not land.
func TestGivesUpWhileTheTargetHangs(t *testing.T) {
	f := hang(t, settings{timeout: 5 * time.Second})
	err := f.failure(t, 0, time.Minute)
	wantText(t, err, f.topic+"-0 at 100", "outcome of produce is unknown", "broker out of reach")
	target.signal(t, syscall.SIGCONT)
	f.caughtUp(t, 1, time.Minute)
	f.same(t, 2*batch)
	t.Logf("%d records had landed", f.metric(t, mirror.RecordsSettled))
}

// signal stops or continues the broker's process.
func (b *broker) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := b.cmd.Process.Signal(signal); err != nil {
		t.Fatalf("signal %s: %v", b.name, err)
	}
}
