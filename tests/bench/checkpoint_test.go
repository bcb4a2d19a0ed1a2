package bench

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/checkpoint"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

const (
	groups     = 1_000
	partitions = 100
	syncs      = 10_000
)

// BenchmarkCheckpointPass runs the pass of 1,000 groups on 100 partitions each, with 10,000 syncs, against clusters that
// answer at once. Cold reads all syncs and writes 100,000 checkpoints; warm finds nothing new.
func BenchmarkCheckpointPass(b *testing.B) {
	for _, start := range []string{"cold", "warm"} {
		b.Run(start, func(b *testing.B) {
			f := newFlow()
			task, tick := f.task(), int64(0)
			run := func() {
				tick++
				if err := task.Run(b.Context(), time.UnixMilli(tick*60_000)); err != nil {
					b.Fatal(err)
				}
			}
			if start == "warm" {
				run()
			}
			b.ReportAllocs()
			for b.Loop() {
				if start == "cold" {
					f.checkpoints = nil
					task = f.task()
				}
				run()
			}
			if len(f.checkpoints) != groups*partitions {
				b.Fatalf("%d checkpoints written, want %d", len(f.checkpoints), groups*partitions)
			}
		})
	}
}

// flow is both clusters in memory.
type flow struct {
	syncs, checkpoints []*kgo.Record
	offsets            kadm.FetchOffsetsResponses
	listed             kadm.ListedGroups
	ends               kadm.ListedOffsets
	epoch              int64
}

func newFlow() *flow {
	f := &flow{offsets: kadm.FetchOffsetsResponses{}, listed: kadm.ListedGroups{}, ends: kadm.ListedOffsets{"us." + topic: {}, topic: {}}}
	for i := range int64(syncs) {
		s := mm2.OffsetSync{TopicPartition: mm2.TopicPartition{Topic: topic, Partition: int32(i % partitions)}, Upstream: i, Downstream: i}
		key, _ := s.Key() // the topic's name is short
		f.syncs = append(f.syncs, &kgo.Record{Offset: i, Key: key, Value: s.Value()})
	}
	fetched := kadm.OffsetResponses{}
	for p := range int32(partitions) {
		fetched.Add(kadm.OffsetResponse{Offset: kadm.Offset{Topic: topic, Partition: p, At: syncs - 50}})
		for name := range f.ends {
			f.ends[name][p] = kadm.ListedOffset{Topic: name, Partition: p, Offset: syncs + 1}
		}
	}
	for g := range groups {
		name := fmt.Sprintf("group-%04d", g)
		f.listed[name] = kadm.ListedGroup{Group: name, ProtocolType: "consumer"}
		f.offsets[name] = kadm.FetchOffsetsResponse{Group: name, Fetched: fetched}
	}
	return f
}

func (f *flow) task() *checkpoint.Task {
	cluster := checkpoint.Cluster{Admin: f, Log: f, Writer: f}
	return checkpoint.NewTask(checkpoint.Flow{
		Names: mm2.Names{Source: "us", Target: "eu"}, Policy: mm2.DefaultPolicy{}, Topics: func(string) bool { return true }, Groups: func(string) bool { return true },
		EmitCheckpoints: true, CheckpointInterval: time.Minute, StallAfter: time.Hour,
	}, cluster, cluster, f, f, f, slog.New(slog.DiscardHandler))
}

func (f *flow) topic(name string) []*kgo.Record {
	if name == "us.checkpoints.internal" {
		return f.checkpoints
	}
	return f.syncs
}

func (f *flow) Extent(_ context.Context, tp mm2.TopicPartition) (string, int64, int64, error) {
	return "id", 0, int64(len(f.topic(tp.Topic))), nil
}

func (f *flow) Read(_ context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	return func(yield func([]*kgo.Record, error) bool) {
		if from < to {
			yield(f.topic(tp.Topic)[from:to], nil)
		}
	}
}

func (f *flow) ProduceSync(_ context.Context, records ...*kgo.Record) kgo.ProduceResults {
	f.checkpoints = append(f.checkpoints, records...)
	results := make(kgo.ProduceResults, len(records))
	for i, r := range records {
		results[i].Record = r
	}
	return results
}

func (*flow) All(context.Context) iter.Seq2[watermark.State, error] {
	return func(func(watermark.State, error) bool) {}
}

func (f *flow) TakeLease(context.Context, string, time.Time) (int64, error) {
	f.epoch++
	return f.epoch, nil
}
func (*flow) RenewLease(context.Context, string, int64) error { return nil }

func (*flow) Add(string, int64)         {}
func (*flow) Max(string, string, int64) {}
func (*flow) Property(string, any)      {}

func (*flow) ListTopics(context.Context, ...string) (kadm.TopicDetails, error) { return nil, nil }

func (*flow) ListStartOffsets(_ context.Context, topics ...string) (kadm.ListedOffsets, error) {
	listed := kadm.ListedOffsets{}
	for _, name := range topics {
		listed[name] = map[int32]kadm.ListedOffset{}
		for p := range int32(partitions) {
			listed[name][p] = kadm.ListedOffset{Topic: name, Partition: p}
		}
	}
	return listed, nil
}

func (f *flow) ListEndOffsets(context.Context, ...string) (kadm.ListedOffsets, error) {
	return f.ends, nil
}

func (f *flow) ListCommittedOffsets(context.Context, ...string) (kadm.ListedOffsets, error) {
	return f.ends, nil
}

func (f *flow) ListGroups(context.Context, ...string) (kadm.ListedGroups, error) {
	return f.listed, nil
}

func (f *flow) FetchManyOffsets(context.Context, ...string) kadm.FetchOffsetsResponses {
	return f.offsets
}

func (*flow) CommitOffsets(context.Context, string, kadm.Offsets) (kadm.OffsetResponses, error) {
	return nil, nil
}

func (*flow) CreateTopic(context.Context, int32, int16, map[string]*string, string) (kadm.CreateTopicResponse, error) {
	return kadm.CreateTopicResponse{}, nil
}

func (*flow) DescribeTopicConfigs(context.Context, ...string) (kadm.ResourceConfigs, error) {
	return nil, nil
}
