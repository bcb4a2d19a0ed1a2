// Package checkpoint is the scheduled pass: the only writer of MirrorMaker 2's internal topics. It writes an offset sync
// for each partition whose watermark moved, translates the source's consumer groups by them, writes checkpoints that fail
// a group over without skipping a record, and measures which watermarks stand still.
//
// Read [Task.Run] and then Task.pass from the top. The invariant: a checkpoint is never ahead of what is on the target
// and never past what its group has read. Planning is pure ([DueSyncs], [Make]); whatever was not read completely plans
// nothing.
package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// Admin is the part of *kadm.Client in use.
type Admin interface {
	ListTopics(ctx context.Context, topics ...string) (kadm.TopicDetails, error)
	ListStartOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)
	ListEndOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)
	ListCommittedOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)
	ListGroups(ctx context.Context, filterStates ...string) (kadm.ListedGroups, error)
	FetchManyOffsets(ctx context.Context, groups ...string) kadm.FetchOffsetsResponses
	CommitOffsets(ctx context.Context, group string, os kadm.Offsets) (kadm.OffsetResponses, error)
	CreateTopic(ctx context.Context, partitions int32, replicationFactor int16, configs map[string]*string, topic string) (kadm.CreateTopicResponse, error)
	DescribeTopicConfigs(ctx context.Context, topics ...string) (kadm.ResourceConfigs, error)
}

// Writer writes records and waits until they are durable; *kgo.Client is one.
type Writer interface {
	ProduceSync(ctx context.Context, records ...*kgo.Record) kgo.ProduceResults
}

// Cluster is one cluster of the flow. The source's Log reads committed records only.
type Cluster struct {
	Admin  Admin
	Log    Log
	Writer Writer
}

// States reads the state items.
type States interface {
	// All yields every state of the table, strongly consistent, in any order. After an error nothing follows.
	All(ctx context.Context) iter.Seq2[watermark.State, error]
}

// Metrics gathers counts and gauges. It must be safe for concurrent use.
type Metrics interface {
	Add(name string, n int64)
	Max(name, unit string, v int64)
	Property(key string, v any)
}

// Flow is what the pass has to know of its flow.
type Flow struct {
	Names  mm2.Names
	Policy mm2.Policy
	Topics func(topic string) bool // selected by topics and topics.exclude
	Groups func(group string) bool // selected by groups and groups.exclude

	EmitCheckpoints, EmitHeartbeats                  bool
	CheckpointInterval, HeartbeatInterval            time.Duration // below a minute the pass loops inside its invocation
	SyncGroups                                       bool          // write the groups' offsets on the target too
	GroupSyncInterval                                time.Duration // of these; a pass that writes checkpoints goes before
	StallAfter                                       time.Duration // how long a watermark may stand behind what was stable
	SyncsFactor, CheckpointsFactor, HeartbeatsFactor int16         // replication factors; -1 is the broker's default

	// CatchUp has a partition mirrored from its watermark on, by somebody else and later. Nil: what is due is reported only.
	CatchUp func(ctx context.Context, tp mm2.TopicPartition) error
	// Seeds has every partition that there is at first begin at its end. Nil: none is seeded.
	Seeds Seeds
}

// Task is the pass. Its memory makes warm passes cheap; it serves one invocation at a time.
type Task struct {
	flow           Flow
	source, target Cluster
	states         States
	lease          LeaseStore
	metrics        Metrics
	log            *slog.Logger

	syncs       *syncs
	checkpoints *checkpoints
	groups      *groups
	marks       map[mm2.TopicPartition]mark
	asked       map[mm2.TopicPartition]bool // catch-ups asked for by the last pass
	ensured     bool
	seeded      bool      // nothing is left to seed
	beat        time.Time // slot of the last heartbeat
	emitted     time.Time // slot of the last checkpoints
	synced      time.Time // slot of the last group offsets
}

// NewTask returns the pass of a flow.
func NewTask(flow Flow, source, target Cluster, states States, lease LeaseStore, metrics Metrics, log *slog.Logger) *Task {
	holder := target
	if flow.Names.Location == mm2.OnSource {
		holder = source
	}
	return &Task{
		flow: flow, source: source, target: target, states: states, lease: lease, metrics: metrics, log: log,
		syncs:       newSyncs(holder, flow.Names.OffsetSyncs()),
		checkpoints: newCheckpoints(target.Log, flow.Names.Checkpoints()),
		groups:      newGroups(),
		marks:       make(map[mm2.TopicPartition]mark),
	}
}

// Tick is the scheduler's event.
type Tick struct {
	Time time.Time `json:"time"` // the scheduled time, RFC 3339; absent: now
}

// At returns the tick's time, or now where it tells none.
func (t Tick) At(now time.Time) time.Time {
	if t.Time.IsZero() {
		return now
	}
	return t.Time
}

// minute is how often the scheduler ticks.
const minute = time.Minute

// Run serves one tick: a pass, or several when an interval is below a minute. It stops while there is time to answer. A
// tick that was served already is a success and does nothing.
func (t *Task) Run(ctx context.Context, tick time.Time) error {
	owner := rand.Text()
	epoch, err := t.lease.TakeLease(ctx, owner, tick)
	if errors.Is(err, ErrServed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take lease: %w", err)
	}
	held := func(ctx context.Context) error { return t.lease.RenewLease(ctx, owner, epoch) }
	for slot := tick; ; {
		started := time.Now()
		err := t.pass(ctx, slot, held)
		if err != nil {
			t.metrics.Add(PassSucceeded, 0)
			return fmt.Errorf("pass of %s: %w", slot.UTC().Format(time.RFC3339), err)
		}
		t.metrics.Add(PassSucceeded, 1)
		slot = slot.Add(t.interval())
		if !slot.Before(tick.Add(minute)) || !t.wait(ctx, started) {
			return nil
		}
	}
}

// interval is the shorter of those that are in use.
func (t *Task) interval() time.Duration {
	shortest := minute
	if t.flow.EmitCheckpoints {
		shortest = min(shortest, t.flow.CheckpointInterval)
	}
	if t.flow.EmitHeartbeats {
		shortest = min(shortest, t.flow.HeartbeatInterval)
	}
	return shortest
}

// wait waits for the next pass of the same tick. It says no when the invocation would not have time for it: as much as
// the last one took, twice over, and a second.
func (t *Task) wait(ctx context.Context, started time.Time) bool {
	took := time.Since(started)
	pause := max(t.interval()-took, 0)
	if end, ok := ctx.Deadline(); ok && time.Until(end) < pause+2*took+time.Second {
		return false
	}
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}

// pass is one round, the one scheduled for slot: syncs, checkpoints, a heartbeat, the gauges.
func (t *Task) pass(ctx context.Context, slot time.Time, held func(context.Context) error) error {
	if err := t.ensure(ctx); err != nil {
		return err
	}
	if err := t.seed(ctx); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	states, err := t.items(ctx)
	if err != nil {
		return fmt.Errorf("read state items: %w", err)
	}
	if err := t.sync(ctx, held, states); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if t.flow.EmitCheckpoints && due(slot, t.emitted, t.flow.CheckpointInterval) {
		if err := t.checkpoint(ctx, slot, held); err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
		t.emitted = slot
	}
	if err := t.heartbeat(ctx, slot); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	if err := t.measure(ctx, states); err != nil {
		return fmt.Errorf("measure watermarks: %w", err)
	}
	return nil
}

// items reads the states of the flow's partitions.
func (t *Task) items(ctx context.Context) ([]watermark.State, error) {
	var all []watermark.State
	for s, err := range t.states.All(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
