package checkpoint_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/checkpoint"
	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
	"tidemark/shared/watermark"
)

// world is both clusters of a flow, the table and the metrics, in memory.
type world struct {
	states  []watermark.State
	lease   checkpoint.Lease
	starts  map[mm2.TopicPartition]int64 // of the source
	stable  map[mm2.TopicPartition]int64 // of the source, and the remote partitions' ends
	data    map[mm2.TopicPartition][]int64
	groups  kadm.FetchOffsetsResponses
	listed  kadm.ListedGroups
	topics  map[string][]*kgo.Record // internal
	policy  string                   // cleanup.policy of topics that exist already; empty: they do not
	broken  error                    // of reads of internal topics
	written func()                   // called before each write
	scanned func()                   // called before the items are read

	mu     sync.Mutex
	counts map[string]int64
}

func newWorld() *world {
	return &world{
		starts: map[mm2.TopicPartition]int64{}, stable: map[mm2.TopicPartition]int64{}, data: map[mm2.TopicPartition][]int64{},
		groups: kadm.FetchOffsetsResponses{}, listed: kadm.ListedGroups{}, topics: map[string][]*kgo.Record{}, counts: map[string]int64{},
	}
}

func (w *world) task(change func(*checkpoint.Flow)) *checkpoint.Task {
	f := checkpoint.Flow{
		Names: mm2.Names{Source: "us", Target: "eu"}, Policy: mm2.DefaultPolicy{}, Topics: func(name string) bool { return name != "other" },
		Groups: func(name string) bool { return name != "other" }, EmitCheckpoints: true, CheckpointInterval: time.Minute, StallAfter: 2 * time.Minute,
	}
	if change != nil {
		change(&f)
	}
	cluster := checkpoint.Cluster{Admin: w, Log: w, Writer: w}
	return checkpoint.NewTask(f, cluster, cluster, w, w, w, slog.New(slog.DiscardHandler))
}

// group puts a group at an offset of t-0; err is of the partition.
func (w *world) group(name string, at int64, err error) {
	w.listed[name] = kadm.ListedGroup{Group: name, ProtocolType: "consumer"}
	fetched := kadm.OffsetResponses{}
	fetched.Add(kadm.OffsetResponse{Offset: kadm.Offset{Topic: "t", At: at}, Err: err})
	w.groups[name] = kadm.FetchOffsetsResponse{Group: name, Fetched: fetched}
}

// mirrored sets the item of t-0.
func (w *world) mirrored(next, last int64) {
	s := watermark.New(tp("t", 0))
	s.Next, s.DownstreamNext, s.DownstreamLast = next, last+1, last
	w.states = []watermark.State{s}
	w.stable[tp("t", 0)], w.stable[tp("us.t", 0)] = next, last+1
}

// gauge forgets what was counted and returns it.
func (w *world) gauge() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := w.counts
	w.counts = map[string]int64{}
	return counts
}

func (w *world) Add(name string, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[name] += n
}

func (w *world) Max(name, _ string, v int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[name] = max(w.counts[name], v)
}

func (*world) Property(string, any) {}

func (w *world) All(context.Context) iter.Seq2[watermark.State, error] {
	return func(yield func(watermark.State, error) bool) {
		if w.scanned != nil {
			w.scanned()
		}
		for _, s := range w.states {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (w *world) TakeLease(_ context.Context, owner string, tick time.Time) (int64, error) {
	taken, err := w.lease.Take(owner, tick)
	w.lease = taken
	return taken.Epoch, err
}

func (w *world) RenewLease(_ context.Context, owner string, epoch int64) error {
	return w.lease.Holds(owner, epoch)
}

func (w *world) Extent(_ context.Context, p mm2.TopicPartition) (string, int64, int64, error) {
	return "id", 0, int64(len(w.topics[p.Topic])), nil
}

func (w *world) Read(_ context.Context, p mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	return func(yield func([]*kgo.Record, error) bool) {
		for _, offset := range w.data[p] {
			if offset >= from && offset < to && !yield([]*kgo.Record{{Offset: offset}}, nil) {
				return
			}
		}
		if internal, ok := w.topics[p.Topic]; ok && from < to {
			if w.broken != nil {
				yield(nil, w.broken)
				return
			}
			yield(internal[from:to], nil)
		}
	}
}

func (w *world) ProduceSync(_ context.Context, records ...*kgo.Record) kgo.ProduceResults {
	if w.written != nil {
		w.written()
	}
	var results kgo.ProduceResults
	for _, r := range records {
		r.Offset = int64(len(w.topics[r.Topic]))
		w.topics[r.Topic] = append(w.topics[r.Topic], r)
		results = append(results, kgo.ProduceResult{Record: r})
	}
	return results
}

func (w *world) ListTopics(context.Context, ...string) (kadm.TopicDetails, error) {
	details := kadm.TopicDetails{"other": {Topic: "other"}, "__consumer_offsets": {Topic: "__consumer_offsets"}}
	for p := range w.stable {
		if p.Topic == "t" {
			details[p.Topic] = kadm.TopicDetail{Topic: p.Topic}
		}
	}
	return details, nil
}

func (*world) offsets(of map[mm2.TopicPartition]int64, known map[mm2.TopicPartition]int64, topics []string) kadm.ListedOffsets {
	listed := kadm.ListedOffsets{}
	for _, name := range topics {
		listed[name] = map[int32]kadm.ListedOffset{}
		for p := range known {
			if p.Topic == name {
				listed[name][p.Partition] = kadm.ListedOffset{Topic: name, Partition: p.Partition, Offset: of[p]}
			}
		}
	}
	return listed
}

func (w *world) ListStartOffsets(_ context.Context, topics ...string) (kadm.ListedOffsets, error) {
	return w.offsets(w.starts, w.stable, topics), nil
}

func (w *world) ListEndOffsets(_ context.Context, topics ...string) (kadm.ListedOffsets, error) {
	return w.offsets(w.stable, w.stable, topics), nil
}

func (w *world) ListCommittedOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	return w.ListEndOffsets(ctx, topics...)
}

func (w *world) ListGroups(context.Context, ...string) (kadm.ListedGroups, error) {
	return w.listed, nil
}

func (w *world) FetchManyOffsets(_ context.Context, groups ...string) kadm.FetchOffsetsResponses {
	some := kadm.FetchOffsetsResponses{}
	for _, g := range groups {
		some[g] = w.groups[g]
	}
	return some
}

func (*world) CommitOffsets(context.Context, string, kadm.Offsets) (kadm.OffsetResponses, error) {
	return nil, nil
}

func (w *world) CreateTopic(context.Context, int32, int16, map[string]*string, string) (kadm.CreateTopicResponse, error) {
	if w.policy != "" {
		return kadm.CreateTopicResponse{Err: kerr.TopicAlreadyExists}, nil
	}
	return kadm.CreateTopicResponse{}, nil
}

func (w *world) DescribeTopicConfigs(_ context.Context, topics ...string) (kadm.ResourceConfigs, error) {
	return kadm.ResourceConfigs{{Name: topics[0], Configs: []kadm.Config{{Key: "cleanup.policy", Value: &w.policy}}}}, nil
}

// pass runs one tick, numbered by the minute.
func pass(t *testing.T, task *checkpoint.Task, minute int64) error {
	t.Helper()
	return task.Run(t.Context(), time.UnixMilli(minute*60_000))
}

func TestGroupErrorsDoNotStopTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.mirrored(5, 4)
	w.group("app", 5, nil)
	w.group("other", 5, nil)
	w.group("tidemark.us+eu.t", 5, nil)
	w.group("denied-partition", 5, kerr.TopicAuthorizationFailed)
	w.listed["denied"] = kadm.ListedGroup{Group: "denied", ProtocolType: "consumer"}
	w.groups["denied"] = kadm.FetchOffsetsResponse{Group: "denied", Err: kerr.GroupAuthorizationFailed}
	w.listed["connect"] = kadm.ListedGroup{Group: "connect", ProtocolType: "connect"}
	if err := pass(t, w.task(nil), 1); err != nil {
		t.Fatal(err)
	}
	counts := w.gauge()
	if len(w.topics["us.checkpoints.internal"]) != 1 || counts[checkpoint.GroupErrors] != 2 || counts[checkpoint.PassSucceeded] != 1 {
		t.Errorf("%d checkpoints, counts %v, want one checkpoint and 2 group errors", len(w.topics["us.checkpoints.internal"]), counts)
	}
}

func TestIncompleteReadPlansNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.mirrored(5, 4)
	w.group("app", 5, nil)
	task := w.task(nil)
	if err := pass(t, task, 1); err != nil {
		t.Fatal(err)
	}
	w.mirrored(9, 8)
	w.group("app", 9, nil)
	w.topics["mm2-offset-syncs.us.internal"] = append(w.topics["mm2-offset-syncs.us.internal"], &kgo.Record{Offset: 1}) // somebody's tombstone
	w.broken = errors.New("connection reset")
	if err := pass(t, task, 2); !errors.Is(err, w.broken) || len(w.topics["us.checkpoints.internal"]) != 1 {
		t.Errorf("pass = %v with %d checkpoints, want the broken read and the one from before", err, len(w.topics["us.checkpoints.internal"]))
	}
	if counts := w.gauge(); counts[checkpoint.PassSucceeded] != 1 {
		t.Errorf("counts %v, want one pass that succeeded", counts)
	}
	w.broken = nil
	if err := pass(t, task, 3); err != nil || len(w.topics["us.checkpoints.internal"]) != 2 {
		t.Errorf("pass after it = %v with %d checkpoints, want 2", err, len(w.topics["us.checkpoints.internal"]))
	}
}

func TestUndecodableRecordsAreSkipped(t *testing.T) {
	t.Parallel()
	w := newWorld()
	bare := syncOf("t", 0, 4, 4)
	key, err := bare.Key()
	if err != nil {
		t.Fatal(err)
	}
	w.topics["mm2-offset-syncs.us.internal"] = []*kgo.Record{
		{Offset: 0, Key: []byte{255}, Value: []byte{1}},
		{Offset: 1},
		{Offset: 2, Key: key, Value: bare.Value(), Headers: []kgo.RecordHeader{{Key: offsetsync.HeaderKey, Value: []byte("of a later version")}}},
	}
	w.topics["us.checkpoints.internal"] = []*kgo.Record{{Offset: 0, Key: []byte{0, 9}, Value: []byte{1}}, {Offset: 1}}
	w.mirrored(5, 4)
	w.group("app", 5, nil)
	if err := pass(t, w.task(nil), 1); err != nil {
		t.Fatal(err)
	}
	if counts := w.gauge(); counts[checkpoint.UndecodableRecords] != 3 || counts[checkpoint.CheckpointsWritten] != 1 || counts[checkpoint.SyncsWritten] != 0 {
		t.Errorf("counts %v, want 2 records and a header skipped, and a checkpoint written by the bare sync", counts)
	}
}

func TestSupersededPassWritesNothingMore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		when  func(w *world, later func())
		syncs int
	}{
		{"before the syncs", func(w *world, later func()) { w.scanned = later }, 0},
		{"before the checkpoints", func(w *world, later func()) { w.written = later }, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.mirrored(5, 4)
			w.group("app", 5, nil)
			test.when(w, func() {
				w.lease = checkpoint.Lease{Epoch: w.lease.Epoch + 1, Owner: "later", Served: w.lease.Served.Add(time.Minute)}
			})
			err := pass(t, w.task(nil), 1)
			syncs, checkpoints := len(w.topics["mm2-offset-syncs.us.internal"]), len(w.topics["us.checkpoints.internal"])
			if !errors.Is(err, checkpoint.ErrSuperseded) || syncs != test.syncs || checkpoints != 0 {
				t.Errorf("pass = %v with %d syncs and %d checkpoints, want ErrSuperseded, %d and none", err, syncs, checkpoints, test.syncs)
			}
		})
	}
}

func TestShortIntervalsLoopInsideTheInvocation(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		timeout time.Duration
		want    int
	}{{"a minute's worth", time.Hour, 6}, {"as many as fit before the deadline", 35 * time.Second, 4}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				task := w.task(func(f *checkpoint.Flow) { f.EmitHeartbeats, f.HeartbeatInterval = true, 10*time.Second })
				ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
				defer cancel()
				start := time.Now()
				if err := task.Run(ctx, start); err != nil {
					t.Fatal(err)
				}
				if beats := len(w.topics["heartbeats"]); beats != test.want || time.Since(start) > test.timeout {
					t.Errorf("%d heartbeats in %v, want %d", beats, time.Since(start), test.want)
				}
			})
		})
	}
}

func TestTopicThatIsNotCompactedIsWarnedOf(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]int64{"": 0, "compact": 0, "delete": 2} {
		w := newWorld()
		w.policy = policy
		if err := pass(t, w.task(nil), 1); err != nil {
			t.Fatal(err)
		}
		if got := w.gauge()[checkpoint.InternalTopicsNotCompacted]; got != want {
			t.Errorf("policy %q: %d warnings, want %d", policy, got, want)
		}
	}
}

// TestGauges moves time past StallAfter, two minutes, a pass a minute.
func TestGauges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*world)
		want   map[string]int64 // of the last pass
	}{
		{"all mirrored", func(w *world) { w.mirrored(10, 9) }, map[string]int64{}},
		{
			"a trigger that died", func(w *world) {
				w.mirrored(4, 3)
				w.stable[tp("t", 0)], w.data[tp("t", 0)] = 10, []int64{4, 5}
			},
			map[string]int64{checkpoint.DuePartitions: 1, checkpoint.StalledPartitions: 1, checkpoint.WatermarkAgeSeconds: 180},
		},
		{
			"a trigger that never started", func(w *world) { w.stable[tp("t", 0)], w.data[tp("t", 0)] = 10, []int64{0} },
			map[string]int64{checkpoint.DuePartitions: 1, checkpoint.StalledPartitions: 1, checkpoint.WatermarkAgeSeconds: 180},
		},
		{
			"trailing transaction markers", func(w *world) {
				w.mirrored(9, 8)
				w.stable[tp("t", 0)] = 10
			},
			map[string]int64{checkpoint.DuePartitions: 1},
		},
		{"an empty partition without an item", func(w *world) { w.stable[tp("t", 0)] = 0 }, map[string]int64{}},
		{
			"retention was faster", func(w *world) {
				w.mirrored(4, 3)
				w.starts[tp("t", 0)], w.stable[tp("t", 0)] = 7, 7
			},
			map[string]int64{checkpoint.RecordsExpired: 3},
		},
		{"an old item of a topic that is gone", func(w *world) {
			w.mirrored(4, 3)
			delete(w.stable, tp("t", 0))
		}, map[string]int64{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				test.change(w)
				task := w.task(nil)
				var last map[string]int64
				for range 4 {
					if err := task.Run(t.Context(), time.Now()); err != nil {
						t.Fatal(err)
					}
					last = w.gauge()
					time.Sleep(time.Minute)
				}
				got := map[string]int64{}
				for _, name := range []string{checkpoint.DuePartitions, checkpoint.StalledPartitions, checkpoint.WatermarkAgeSeconds, checkpoint.RecordsExpired} {
					if last[name] != 0 {
						got[name] = last[name]
					}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("gauges of the fourth pass (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestOnlySelectedTopicsOfSelectedGroups is testFindConsumerGroupsCommonScenarios of MirrorCheckpointConnectorTest: a group
// counts for the topics that the flow selects.
func TestOnlySelectedTopicsOfSelectedGroups(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.mirrored(5, 4)
	for name, topics := range map[string][]string{"g1": {"other", "t"}, "g2": {"t", "none"}, "g3": {"other"}, "other": {"t"}} {
		w.listed[name] = kadm.ListedGroup{Group: name}
		fetched := kadm.OffsetResponses{}
		for _, topic := range topics {
			fetched.Add(kadm.OffsetResponse{Offset: kadm.Offset{Topic: topic, At: 5}})
		}
		w.groups[name] = kadm.FetchOffsetsResponse{Group: name, Fetched: fetched}
	}
	if err := pass(t, w.task(nil), 1); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range w.topics["us.checkpoints.internal"] {
		c, err := mm2.DecodeCheckpoint(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Group+" "+c.String())
	}
	if diff := cmp.Diff([]string{"g1 us.t-0", "g2 us.t-0"}, got); diff != "" {
		t.Errorf("checkpoints (-want +got):\n%s", diff)
	}
}
