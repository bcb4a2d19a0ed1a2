package chaos

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

var (
	errKilled = errors.New("process is dead")
	errFault  = errors.New("injected fault")
)

// verdict is what the scheduler decides about one parked call.
type verdict uint8

const (
	pass       verdict = iota
	failBefore         // not applied, reported as failed
	failAfter          // applied, reported as failed
	killBefore
	killAfter
	freeze // the process stands still until its deadline is long over
	echo   // applied now, and its duplicate once more later: state writes only
	verdicts
)

func (v verdict) String() string {
	return [...]string{"pass", "fail", "apply, fail", "kill before", "kill after", "freeze", "echo"}[v]
}

// call is a parked port call.
type call struct {
	inv     *process
	part    int32
	name    string
	seq     int
	verdict chan verdict
}

// process is one invocation and the process that runs it.
type process struct {
	id       int
	dead     bool
	deadline time.Time
	seq      map[int32]int
}

// step parks the caller until the scheduler decides. An error means: do nothing, return it.
func (w *world) step(ctx context.Context, inv *process, part int32, name string) (verdict, error) {
	w.mu.Lock()
	if inv.dead {
		w.mu.Unlock()
		return killBefore, errKilled
	}
	inv.seq[part]++
	c := &call{inv: inv, part: part, name: name, seq: inv.seq[part], verdict: make(chan verdict)}
	w.parked = append(w.parked, c)
	w.mu.Unlock()
	select {
	case v := <-c.verdict:
		if v == freeze {
			v = <-c.verdict
		}
		return v, before(v)
	case <-ctx.Done():
		w.mu.Lock()
		w.parked = slices.DeleteFunc(w.parked, func(o *call) bool { return o == c })
		w.mu.Unlock()
		return pass, ctx.Err()
	}
}

// before turns the verdict of a call that is not applied into what its caller sees.
func before(v verdict) error {
	switch v {
	case killBefore:
		return errKilled
	case failBefore:
		return errFault
	default:
		return nil
	}
}

// after turns the verdict of an applied call into what its caller sees.
func after(v verdict) error {
	switch v {
	case killAfter:
		return errKilled
	case failAfter:
		return errFault
	default:
		return nil
	}
}

// cluster is what both clusters of one process share.
type cluster struct {
	w    *world
	inv  *process
	name string
}

func (c cluster) ClusterID(context.Context) (string, error) { return c.name, nil }

// read yields the records of log from from to to in random chunks, a call each.
func (c cluster) read(ctx context.Context, part int32, from, to int64, log func() []*kgo.Record) iter.Seq2[[]*kgo.Record, error] {
	return func(yield func([]*kgo.Record, error) bool) {
		for {
			v, err := c.w.step(ctx, c.inv, part, c.name+" read")
			if err = errors.Join(err, after(v)); err != nil {
				yield(nil, err)
				return
			}
			var chunk []*kgo.Record
			size := 1 + c.w.rng.IntN(8)
			for _, r := range log() {
				if r.Offset >= from && r.Offset < to && len(chunk) < size {
					chunk = append(chunk, r)
				}
			}
			if len(chunk) == 0 || !yield(chunk, nil) {
				return
			}
			from = chunk[len(chunk)-1].Offset + 1
		}
	}
}

type source struct{ cluster }

func (s source) Topics(ctx context.Context, _ []string) (map[string]mirror.Topic, error) {
	v, err := s.w.step(ctx, s.inv, -1, "topics")
	return map[string]mirror.Topic{topic: {ID: "id", Partitions: int32(len(s.w.parts))}}, errors.Join(err, after(v))
}

func (s source) Ends(ctx context.Context, tp mm2.TopicPartition) (mirror.Ends, error) {
	v, err := s.w.step(ctx, s.inv, tp.Partition, "source ends")
	end := s.w.parts[tp.Partition].sourceEnd
	return mirror.Ends{LastStable: end, HighWatermark: end, LogEnd: end}, errors.Join(err, after(v))
}

func (s source) Read(ctx context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	return s.read(ctx, tp.Partition, from, to, func() []*kgo.Record { return s.w.parts[tp.Partition].source })
}

type target struct{ cluster }

func (t target) Ends(ctx context.Context, tp mm2.TopicPartition) (mirror.Ends, error) {
	v, err := t.w.step(ctx, t.inv, tp.Partition, "target ends")
	p := t.w.parts[tp.Partition]
	if !p.created && err == nil {
		err = mirror.ErrMissing
	}
	return mirror.Ends{LastStable: p.hw, HighWatermark: p.hw, LogEnd: p.end()}, errors.Join(err, after(v))
}

func (t target) Read(ctx context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	p := t.w.parts[tp.Partition]
	return t.read(ctx, tp.Partition, from, to, func() []*kgo.Record { return p.visible() })
}

func (t target) Ensure(ctx context.Context, _ string, _ int32) error {
	v, err := t.w.step(ctx, t.inv, -1, "ensure")
	if err == nil {
		for _, p := range t.w.parts {
			p.created = true
		}
	}
	return errors.Join(err, after(v))
}

func (target) Limits(context.Context, string) (mirror.Limits, error) { return mirror.Limits{}, nil }

func (target) ForgetLimits(string) {}

func (t target) Producer(context.Context) (mirror.Producer, error) {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	t.w.producers++
	return &producer{target: t, id: t.w.producers}, nil
}

// store fails like DynamoDB behind its SDK: a call that was applied and whose answer was lost is repeated once.
type store struct {
	w   *world
	inv *process
}

func (s store) Claim(ctx context.Context, c watermark.Claim) (g watermark.Grant, err error) {
	err = s.write(ctx, c.Partition.Partition, "claim", func() error {
		g, err = s.w.state.Claim(ctx, c)
		return err
	})
	return g, err
}

func (s store) Begin(ctx context.Context, b watermark.Begin) error {
	return s.write(ctx, b.Partition.Partition, "begin", func() error { return s.w.state.Begin(ctx, b) })
}

func (s store) Commit(ctx context.Context, c watermark.Commit) error {
	return s.write(ctx, c.Partition.Partition, "commit", func() error { return s.w.state.Commit(ctx, c) })
}

func (s store) write(ctx context.Context, part int32, name string, apply func() error) error {
	var lost error
	for range 2 {
		v, err := s.w.step(ctx, s.inv, part, name)
		if err != nil {
			return errors.Join(err, lost)
		}
		err = apply()
		s.w.watch(part)
		if v == echo {
			s.w.echoes = append(s.w.echoes, late{part: part, apply: func() { _ = apply() }})
		}
		if v != failAfter {
			return errors.Join(err, after(v))
		}
		lost = errFault
	}
	return lost
}
