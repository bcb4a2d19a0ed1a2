package chaos

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/checkpoint"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

const passPart = -2 // what a parked call of the pass names in place of a partition

// internal are MM2's topics and the groups that they serve.
type internal struct {
	lease   checkpoint.Lease
	topics  map[string][]*kgo.Record
	groups  map[string][]int64 // next offset to read, by partition
	ticks   int
	running int
	warm    *checkpointer // the process of a pass that ended; nil: none, or it died
}

// checkpointer is one process of the checkpoint function.
type checkpointer struct {
	w    *world
	inv  *process
	task *checkpoint.Task
}

func newInternal() internal {
	return internal{topics: map[string][]*kgo.Record{}, groups: map[string][]int64{}}
}

// read lets the groups read on, or now and then go back, anywhere on the source.
func (w *world) read() {
	for _, group := range []string{"early", "late"} {
		if w.internal.groups[group] == nil {
			w.internal.groups[group] = make([]int64, len(w.parts))
		}
		for part, p := range w.parts {
			if part == len(w.internal.groups[group]) { // it was added
				w.internal.groups[group] = append(w.internal.groups[group], 0)
			}
			if w.rng.IntN(3) == 0 {
				w.internal.groups[group][part] = w.rng.Int64N(p.log.end() + 1)
			}
		}
	}
}

// tick starts a pass: in the process of the last one, or in a new one. A later tick may come while an earlier pass runs,
// and a tick may come twice.
func (w *world) tick() {
	if w.internal.ticks == 0 || w.rng.IntN(6) > 0 {
		w.internal.ticks++
	}
	inv := &process{id: w.started, deadline: time.Now().Add(timeout), seq: map[int32]int{}}
	w.started++
	p := w.internal.warm
	if w.internal.warm = nil; p == nil || w.rng.IntN(4) == 0 {
		p = &checkpointer{w: w}
		flow := checkpoint.Flow{
			Names: mm2.Names{Source: "source", Target: "target"}, Policy: mm2.DefaultPolicy{},
			Topics: func(string) bool { return true }, Groups: func(string) bool { return true },
			EmitCheckpoints: true, CheckpointInterval: time.Minute, StallAfter: time.Hour,
		}
		source := checkpoint.Cluster{Admin: sourceAdmin{p}, Log: passLog{p}}
		target := checkpoint.Cluster{Admin: targetAdmin{sourceAdmin{p}}, Log: passLog{p}, Writer: passWriter{p}}
		p.task = checkpoint.NewTask(flow, source, target, passStates{p}, passLease{p}, unmeasured{}, slog.New(slog.DiscardHandler))
	}
	p.inv = inv
	w.note("tick %d as %d", w.internal.ticks, inv.id)
	w.internal.running++
	at := time.UnixMilli(int64(w.internal.ticks) * 60_000)
	go func() {
		ctx, cancel := context.WithDeadline(context.Background(), inv.deadline)
		defer cancel()
		_ = p.task.Run(ctx, at) // a pass that failed is the next one's to make up for
		w.mu.Lock()
		defer w.mu.Unlock()
		w.internal.running--
		if !inv.dead {
			w.internal.warm = p
		}
	}()
}

// step parks a call.
func (p *checkpointer) step(ctx context.Context, name string) (verdict, error) {
	return p.w.step(ctx, p.inv, passPart, "pass "+name)
}

// promise checks a checkpoint as it is written: whatever its group has not read yet stands at its downstream offset or
// behind it, and that offset is on the target.
func (w *world) promise(r *kgo.Record) {
	c, err := mm2.DecodeCheckpoint(r.Key, r.Value)
	if err != nil {
		w.broken = errors.Join(w.broken, err)
		return
	}
	p := w.parts[c.Partition]
	if p.wiped {
		return // syncs of a remote topic that is no more: what they say of the new one is not checked
	}
	if c.Downstream > p.hw {
		w.breaks("partition %d: checkpoint %d is past the target's end %d", c.Partition, c.Downstream, p.hw)
		return
	}
	at := map[int64]int64{} // the last copy of each record
	for offset, e := range p.copies[p.base:] {
		if !e.record.Attrs.IsControl() { // one that was compacted away stands for a newer one with its key
			at[e.record.ProducerID] = p.base + int64(offset)
		}
	}
	// What lies past the watermark is sent once more, behind all of this, if its copies were not recognized.
	for offset := max(c.Upstream, p.log.start); offset < min(p.log.end(), w.item(c.Partition).Next); offset++ {
		copied, ok := at[p.log.tagOf(offset)]
		if ok && copied < c.Downstream && p.log.tagOf(offset) >= 0 && !p.holdsFrom(c.Downstream, c.Upstream, offset+1) {
			w.breaks("partition %d: group %s at %d is sent to %d and skips record %d at %d",
				c.Partition, c.Group, c.Upstream, c.Downstream, p.log.tagOf(offset), copied)
		}
	}
	w.hits.events["checkpoint checked"]++
}

// holdsFrom says whether the target holds, from an offset on, in order, what the source holds from from to to (exclusive), if
// records that are equal in everything count as one another: nobody could tell which one was mirrored.
func (p *partition) holdsFrom(downstream, from, to int64) bool {
	for ; from < to; from++ {
		if p.log.tagOf(from) < 0 {
			continue
		}
		for downstream < p.end() && !bytes.Equal(p.copies[downstream].record.Value, p.log.entries[from].record.Value) {
			downstream++
		}
		if downstream == p.end() {
			return false
		}
		downstream++
	}
	return true
}

// pair checks an offset sync as it is written: the record that it names stands where it says, wherever the world can tell.
func (w *world) pair(r *kgo.Record) {
	s, err := mm2.DecodeOffsetSync(r.Key, r.Value)
	if err != nil {
		w.broken = errors.Join(w.broken, err)
		return
	}
	p := w.parts[s.Partition]
	if p.wiped || p.reborn || p.cuts > 0 || s.Upstream >= p.log.end() {
		return // it may be of a log that is no more, on either side
	}
	tag := p.log.tagOf(s.Upstream)
	if tag < 0 || p.letters[tag] > 0 {
		return
	}
	// One that is equal in everything counts as it: nobody could tell which one was mirrored.
	if s.Downstream >= p.end() || !bytes.Equal(p.copies[s.Downstream].record.Value, p.log.entries[s.Upstream].record.Value) {
		w.breaks("partition %d: a sync says that record %d at %d stands at %d", s.Partition, tag, s.Upstream, s.Downstream)
	}
	w.hits.events["offset sync checked"]++
}

type passLease struct{ *checkpointer }

func (l passLease) TakeLease(ctx context.Context, owner string, tick time.Time) (int64, error) {
	v, err := l.step(ctx, "take")
	if err != nil {
		return 0, err
	}
	taken, err := l.w.internal.lease.Take(owner, tick)
	if err == nil {
		l.w.internal.lease = taken
	}
	return taken.Epoch, errors.Join(err, after(v))
}

func (l passLease) RenewLease(ctx context.Context, owner string, epoch int64) error {
	v, err := l.step(ctx, "renew")
	if err != nil {
		return err
	}
	return errors.Join(l.w.internal.lease.Holds(owner, epoch), after(v))
}

type passStates struct{ *checkpointer }

// All reads each item at a moment of its own, as a scan does.
func (s passStates) All(ctx context.Context) iter.Seq2[watermark.State, error] {
	return func(yield func(watermark.State, error) bool) {
		for part := range s.w.parts {
			v, err := s.step(ctx, "scan")
			if !yield(s.w.item(int32(part)), errors.Join(err, after(v))) || err != nil {
				return
			}
		}
	}
}

type passLog struct{ *checkpointer }

func (l passLog) Extent(ctx context.Context, tp mm2.TopicPartition) (string, int64, int64, error) {
	v, err := l.step(ctx, "extent")
	return "id", 0, int64(len(l.w.internal.topics[tp.Topic])), errors.Join(err, after(v))
}

func (l passLog) Read(ctx context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	return func(yield func([]*kgo.Record, error) bool) {
		for from < to {
			v, err := l.step(ctx, "read")
			if err = errors.Join(err, after(v)); err != nil {
				yield(nil, err)
				return
			}
			next := from + 1 + l.w.rng.Int64N(to-from)
			if !yield(l.w.internal.topics[tp.Topic][from:next], nil) {
				return
			}
			from = next
		}
	}
}

type passWriter struct{ *checkpointer }

// ProduceSync appends each record, or not, by a verdict of its own.
func (p passWriter) ProduceSync(ctx context.Context, records ...*kgo.Record) kgo.ProduceResults {
	var results kgo.ProduceResults
	for _, r := range records {
		v, err := p.step(ctx, "write")
		if err == nil {
			err = after(v)
			topic := p.w.internal.topics[r.Topic]
			c := *r
			c.Offset = int64(len(topic))
			p.w.internal.topics[r.Topic] = append(topic, &c)
			switch r.Topic {
			case "source.checkpoints.internal":
				p.w.promise(&c)
			case "mm2-offset-syncs.source.internal":
				p.w.pair(&c)
			}
		}
		results = append(results, kgo.ProduceResult{Record: r, Err: err})
	}
	return results
}

// unmeasured is no metrics.
type unmeasured struct{}

func (unmeasured) Add(string, int64)         {}
func (unmeasured) Max(string, string, int64) {}
func (unmeasured) Property(string, any)      {}

// sourceAdmin answers about the source.
type sourceAdmin struct{ *checkpointer }

func (a sourceAdmin) ListTopics(ctx context.Context, _ ...string) (kadm.TopicDetails, error) {
	v, err := a.step(ctx, "topics")
	details := kadm.TopicDetails{}
	for part := range a.w.parts {
		details[at(int32(part)).Topic] = kadm.TopicDetail{Topic: at(int32(part)).Topic}
	}
	return details, errors.Join(err, after(v))
}

func (a sourceAdmin) ListStartOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	return a.offsets(ctx, topics, func(p *partition) int64 { return p.log.start })
}

func (a sourceAdmin) ListEndOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	return a.offsets(ctx, topics, func(p *partition) int64 { return p.log.shown() })
}

func (a sourceAdmin) ListCommittedOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	return a.ListEndOffsets(ctx, topics...)
}

func (a sourceAdmin) offsets(ctx context.Context, topics []string, of func(*partition) int64) (kadm.ListedOffsets, error) {
	v, err := a.step(ctx, "offsets")
	listed := kadm.ListedOffsets{}
	for _, name := range topics {
		part := partOf(name)
		listed[name] = map[int32]kadm.ListedOffset{part: {Topic: name, Partition: part, Offset: of(a.w.parts[part])}}
	}
	return listed, errors.Join(err, after(v))
}

func (a sourceAdmin) ListGroups(ctx context.Context, _ ...string) (kadm.ListedGroups, error) {
	v, err := a.step(ctx, "groups")
	groups := kadm.ListedGroups{}
	for name := range a.w.internal.groups {
		groups[name] = kadm.ListedGroup{Group: name, ProtocolType: "consumer"}
	}
	return groups, errors.Join(err, after(v))
}

func (a sourceAdmin) FetchManyOffsets(ctx context.Context, groups ...string) kadm.FetchOffsetsResponses {
	v, err := a.step(ctx, "positions")
	err = errors.Join(err, after(v))
	all := kadm.FetchOffsetsResponses{}
	for _, name := range groups {
		fetched := kadm.OffsetResponses{}
		for part, next := range a.w.internal.groups[name] {
			fetched.Add(kadm.OffsetResponse{Offset: kadm.Offset{Topic: at(int32(part)).Topic, Partition: int32(part), At: next}})
		}
		all[name] = kadm.FetchOffsetsResponse{Group: name, Fetched: fetched, Err: err}
	}
	return all
}

func (sourceAdmin) CommitOffsets(context.Context, string, kadm.Offsets) (kadm.OffsetResponses, error) {
	return nil, nil
}

func (sourceAdmin) CreateTopic(context.Context, int32, int16, map[string]*string, string) (kadm.CreateTopicResponse, error) {
	return kadm.CreateTopicResponse{}, nil
}

func (sourceAdmin) DescribeTopicConfigs(context.Context, ...string) (kadm.ResourceConfigs, error) {
	return nil, nil
}

// targetAdmin answers about the target.
type targetAdmin struct{ sourceAdmin }

func (a targetAdmin) ListEndOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	return a.offsets(ctx, topics, func(p *partition) int64 { return p.shown() })
}

func (a targetAdmin) ListStartOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
	return a.offsets(ctx, topics, func(p *partition) int64 { return min(p.base, p.shown()) })
}
