//go:build integration

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tidemark/infra/local/bed"
	"tidemark/infra/local/compare"
	"tidemark/infra/local/mapping"
	"tidemark/infra/local/runtimeapi"
	"tidemark/shared/dynamostate"
	"tidemark/shared/mm2"
)

// settings are what a test may want of a flow. The zero value is a function, its trigger and an embedded state table.
type settings struct {
	dynamoDB string        // the state table's URL; empty: an embedded one
	env      []string      // of the function; wins
	timeout  time.Duration // of the function; 0: a minute
	trigger  mapping.Options
	idle     bool // the trigger does not run: the test invokes the function
}

// flow mirrors a topic from the source to the target: trigger, built function and state table.
type flow struct {
	topic, remote string
	function      *runtimeapi.Function
	trigger       *mapping.Mapping
	store         *dynamostate.Store
	dynamoDB      string        // the state table's URL
	printed       string        // the file with what the function printed
	began         chan struct{} // says that an invocation began, to whoever waits for one
	stop          func()        // ends the trigger and waits for that; idempotent. Nil if it does not run

	mu     sync.Mutex
	failed []error // how invocations failed, in order
}

// newFlow starts to mirror a topic; it ends with the test.
func newFlow(t *testing.T, topic string, s settings) *flow {
	t.Helper()
	f := &flow{topic: topic, remote: "source." + topic, printed: filepath.Join(t.TempDir(), "function.log"), began: make(chan struct{}, 1)}
	table := "state-" + topic
	ground, err := bed.Start(t.Context(), bed.Options{Source: []string{source.addr}, Target: []string{target.addr}, DynamoDB: s.dynamoDB, Table: table})
	t.Cleanup(ground.Close)
	if err != nil {
		t.Fatal(err)
	}
	f.store, f.dynamoDB = ground.State, ground.DynamoDB
	output, err := os.Create(f.printed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { output.Close() })
	f.function = runtimeapi.New(os.Getenv("TIDEMARK_MIRROR"), runtimeapi.Options{
		Name: "mirror", Concurrency: max(s.trigger.Pollers, 1), Output: output, Timeout: s.timeout,
		Env: append([]string{
			"SOURCE_CLUSTER_ALIAS=source", "TARGET_CLUSTER_ALIAS=target", "STATE_TABLE=" + table,
			"SOURCE_BOOTSTRAP_SERVERS=" + source.addr, "TARGET_BOOTSTRAP_SERVERS=" + target.addr,
			"AWS_ENDPOINT_URL_DYNAMODB=" + ground.DynamoDB,
		}, s.env...),
	})
	t.Cleanup(f.function.Close)
	f.trigger = mapping.New([]string{source.addr}, topic, f.invoke, s.trigger)
	if s.idle {
		return f
	}
	f.run(t)
	return f
}

// run starts the trigger.
func (f *flow) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := f.trigger.Run(ctx); err != nil {
			t.Errorf("trigger of %s: %v", f.topic, err)
		}
	}()
	f.stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(f.stop)
}

// invoke is what the trigger calls; it keeps how invocations failed.
func (f *flow) invoke(ctx context.Context, payload []byte) ([]byte, error) {
	select {
	case f.began <- struct{}{}:
	default:
	}
	answer, err := f.function.Invoke(ctx, payload)
	if err != nil && ctx.Err() == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.failed = append(f.failed, err)
	}
	return answer, err
}

// failures is how many invocations failed so far.
func (f *flow) failures() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.failed)
}

// failure waits until more than n invocations have failed, and returns how the one after the first n did.
func (f *flow) failure(t *testing.T, n int, limit time.Duration) error {
	t.Helper()
	for deadline := time.Now().Add(limit); f.failures() <= n; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no failure within %v", limit)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed[n]
}

// untouched checks that a partition's watermark and the target's end are both at an offset, as they are where nothing was
// ever doubled.
func (f *flow) untouched(t *testing.T, p int32, offset int64) {
	t.Helper()
	upstream, downstream := f.partition(p)
	state, err := f.store.Get(t.Context(), upstream)
	if err != nil {
		t.Fatal(err)
	}
	if end := target.end(t, downstream); state.Next != offset || state.DownstreamNext != offset || end != offset {
		t.Errorf("%s: next %d, downstream_next %d, the target ends at %d, want %d", upstream, state.Next, state.DownstreamNext, end, offset)
	}
}

// caughtUp waits until every partition's watermark stands at the source's end and its claim is released, and checks that
// the downstream position is the target's end. partitions are counted from 0.
func (f *flow) caughtUp(t *testing.T, partitions int32, limit time.Duration) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for p := range partitions {
		upstream, downstream := f.partition(p)
		end := source.end(t, upstream)
		for {
			state, err := f.store.Get(t.Context(), upstream)
			if err != nil {
				t.Fatal(err)
			}
			if state.Next == end && state.Owner == "" {
				if got := target.end(t, downstream); got != state.DownstreamNext {
					t.Errorf("downstream position of %s = %d, the target ends at %d", upstream, state.DownstreamNext, got)
				}
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is not caught up within %v: next %d, end %d, owner %q, stall %+v\ntrigger: %+v\n%s",
					upstream, limit, state.Next, end, state.Owner, state.Stall, f.trigger.Stats(), f.report())
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// same compares both logs, and wants them to have so many records.
func (f *flow) same(t *testing.T, records int) {
	t.Helper()
	if got := f.equal(t); got != records {
		t.Errorf("%s has %d records, want %d", f.remote, got, records)
	}
}

// equal compares both logs and wants the target's to be the source's, record by record. It returns how many records there are.
func (f *flow) equal(t *testing.T) (records int) {
	t.Helper()
	report, err := compare.Topics(t.Context(), compare.NewHasher(),
		compare.Side{Brokers: []string{source.addr}, Topic: f.topic}, compare.Side{Brokers: []string{target.addr}, Topic: f.remote})
	if err != nil {
		t.Fatal(err)
	}
	for p, found := range report {
		records += found.Target
		if !found.Equal() {
			t.Errorf("%s-%d has %d records, %s-%d has %d: %d lost, %d duplicated, %d reordered, %d foreign: %s", f.topic, p, found.Source,
				f.remote, p, found.Target, len(found.Lost), len(found.Duplicated), len(found.Reordered), len(found.Foreign), found.First)
		}
	}
	return records
}

// partition names a partition on both sides.
func (f *flow) partition(p int32) (upstream, downstream mm2.TopicPartition) {
	return mm2.TopicPartition{Topic: f.topic, Partition: p}, mm2.TopicPartition{Topic: f.remote, Partition: p}
}

// report says how the invocations failed last, and ends with what the function printed.
func (f *flow) report() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	const most = 3
	last := f.failed[max(0, len(f.failed)-most):]
	printed := process{logPath: f.printed}
	return fmt.Sprintf("%d failures, the last ones: %v\nfunction: %s", len(f.failed), errors.Join(last...), printed.tail())
}

// metric is the sum of a count that the function has printed.
func (f *flow) metric(t *testing.T, name string) int64 {
	t.Helper()
	return sum(t, f.printed, name)
}

// sum is how much of something a function has counted, in all that it has printed.
func sum(t *testing.T, printed, name string) (all int64) {
	t.Helper()
	each(t, printed, name, func(n int64) { all += n })
	return all
}

// each tells of each number of that name that a function has printed (embedded metric format).
func each(t *testing.T, printed, name string, tell func(int64)) {
	t.Helper()
	text, err := os.ReadFile(printed)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var counts map[string]any
		if json.Unmarshal(line, &counts) != nil || counts["_aws"] == nil {
			continue
		}
		if n, ok := counts[name].(float64); ok {
			tell(int64(n))
		}
	}
}
