package chaos

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mirror/mirrortest"
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
	pool     []int64       // ids of the producers that it keeps
	mute     bool          // whether it gets none
	skew     time.Duration // of its clock
}

// step parks the caller until the scheduler decides. An error means: do nothing, return it.
func (w *world) step(ctx context.Context, inv *process, part int32, name string) (verdict, error) {
	w.mu.Lock()
	if inv.dead {
		w.mu.Unlock()
		return killBefore, errKilled
	}
	inv.seq[part]++
	c := &call{inv: inv, part: part, name: name, seq: inv.seq[part], verdict: make(chan verdict, 1)}
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

func (s source) Topics(ctx context.Context, topics []string) (map[string]mirror.Topic, error) {
	v, err := s.w.step(ctx, s.inv, -1, "topics")
	described := map[string]mirror.Topic{}
	for _, name := range topics {
		described[name] = mirror.Topic{ID: s.w.parts[partOf(name)].log.id, Partitions: partOf(name) + 1}
	}
	return described, errors.Join(err, after(v))
}

func (s source) Ends(ctx context.Context, tp mm2.TopicPartition) (mirror.Ends, error) {
	v, err := s.w.step(ctx, s.inv, tp.Partition, "source ends")
	l := &s.w.parts[tp.Partition].log
	return mirror.Ends{Start: l.start, LastStable: l.shown(), HighWatermark: max(l.end()-l.lag, l.start), LogEnd: l.end()}, errors.Join(err, after(v))
}

// Peek explains some of the holes. It is under way beside the partition's other calls.
func (s source) Peek(ctx context.Context, tp mm2.TopicPartition, id string, holes []mirror.Hole) map[int64]mirror.Span {
	const beside = 1_000 // a number for its calls that no partition has
	v, err := s.w.step(ctx, s.inv, beside+tp.Partition, "peek")
	l := &s.w.parts[tp.Partition].log
	if errors.Join(err, after(v)) != nil || id != l.id {
		return nil
	}
	peeked := map[int64]mirror.Span{}
	for _, h := range holes {
		if span, err := l.walk(h.From, h.To); err == nil && span.To == h.To && s.w.rng.IntN(4) > 0 {
			peeked[h.From] = span
		}
	}
	return peeked
}

func (source) OffsetAt(context.Context, mm2.TopicPartition, time.Time) (int64, error) {
	return 0, errFault
}

// Walk yields spans of random lengths, a call each.
func (s source) Walk(ctx context.Context, tp mm2.TopicPartition, id string, from, to int64) iter.Seq2[mirror.Span, error] {
	return func(yield func(mirror.Span, error) bool) {
		lives := -1
		for from < to {
			v, err := s.w.step(ctx, s.inv, tp.Partition, "walk")
			if err = errors.Join(err, after(v)); err != nil {
				yield(mirror.Span{}, err)
				return
			}
			l := &s.w.parts[tp.Partition].log
			if id != l.id {
				yield(mirror.Span{}, mirror.ErrMissing)
				return
			}
			now := s.w.parts[tp.Partition].lives + l.moves
			if lives >= 0 && lives != now {
				yield(mirror.Span{}, errors.New("leadership moved"))
				return
			}
			lives = now
			span, err := l.walk(from, min(to, from+1+s.w.rng.Int64N(8)))
			if !yield(span, err) || err != nil {
				return
			}
			from = span.To
		}
	}
}

type target struct{ cluster }

func (t target) Ends(ctx context.Context, tp mm2.TopicPartition) (mirror.Ends, error) {
	v, err := t.w.step(ctx, t.inv, tp.Partition, "target ends")
	p := t.w.parts[tp.Partition]
	if !p.created && err == nil {
		err = mirror.ErrMissing
	}
	return mirror.Ends{Start: min(p.base, p.shown()), LastStable: p.shown(), HighWatermark: p.shown(), LogEnd: p.end()}, errors.Join(err, after(v))
}

func (t target) Read(ctx context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	p := t.w.parts[tp.Partition]
	return func(yield func([]*kgo.Record, error) bool) {
		for records, err := range t.read(ctx, tp.Partition, from, to, func() []*kgo.Record { return p.visible() }) {
			if from < min(p.base, p.shown()) {
				break
			}
			if !yield(records, err) || err != nil {
				return
			}
		}
		switch {
		case from < min(p.base, p.shown()):
			yield(nil, errors.New("offset out of range"))
		case p.shown() < min(to, p.hw):
			yield(nil, errors.New("a new leader does not show it yet"))
		}
	}
}

func (t target) Ensure(ctx context.Context, name string, _ int32) error {
	if name == deadTo {
		return nil
	}
	v, err := t.w.step(ctx, t.inv, partOf(name), "ensure")
	if err == nil {
		t.w.parts[partOf(name)].created = true
	}
	return errors.Join(err, after(v))
}

// Fence appends a marker for each producer and refuses it from then on.
func (t target) Fence(ctx context.Context, tp mm2.TopicPartition, producers []int64) error {
	v, err := t.w.step(ctx, t.inv, tp.Partition, "fence")
	if err != nil {
		return err
	}
	if !t.w.fences {
		return mirror.ErrFenceRefused
	}
	p := t.w.parts[tp.Partition]
	if !p.created {
		return mirror.ErrMissing
	}
	if p.scarce() {
		return errors.New("not enough replicas")
	}
	t.w.refused += int64(len(producers))
	for _, id := range producers {
		p.fenced[id] = !t.w.plan.lie
		p.put(t.w, mirrortest.Control())
	}
	if p.stalled() { // answered once it is replicated
		if err := t.w.wait(ctx, p.stalled); err != nil {
			return err
		}
		if v, err = t.w.step(ctx, t.inv, tp.Partition, "acknowledge"); err != nil {
			return err
		}
	}
	if v == pass {
		p.hw = p.end()
	}
	return after(v)
}

func (t target) Limits(ctx context.Context, name string) (mirror.Limits, error) {
	v, err := t.w.step(ctx, t.inv, partOf(name), "limits")
	var l mirror.Limits
	if t.w.lowered && (!t.w.generous || t.w.letters) {
		l.MaxMessageBytes = limit
	}
	return l, errors.Join(err, after(v))
}

func (target) ForgetLimits(string) {}

// Producer is called without a word about whom it is for, so that no call of it can be told from another: a process has
// producers or it has none.
func (t target) Producer(context.Context) (mirror.Producer, error) {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	if t.inv.mute {
		return nil, errFault
	}
	if n := len(t.inv.pool); n > 0 {
		id := t.inv.pool[n-1]
		t.inv.pool = t.inv.pool[:n-1]
		return &producer{target: t, id: id}, nil
	}
	t.w.producers++
	return &producer{target: t, id: t.w.producers}, nil
}

// store fails like DynamoDB behind its SDK: a call that was applied and whose answer was lost is repeated once. It is seen by a
// clock of the process's own: what that writes as its now is off by the process's skew.
type store struct {
	w   *world
	inv *process
}

func (s store) Claim(ctx context.Context, c watermark.Claim) (g watermark.Grant, err error) {
	c.Now, c.Deadline = c.Now.Add(s.inv.skew), c.Deadline.Add(s.inv.skew)
	err = s.write(ctx, c.Partition.Partition, "claim", func() error {
		g, err = s.w.state.Claim(ctx, c)
		return err
	})
	g.Until = s.own(g.Until)
	g.State.OwnerDeadline = s.own(g.State.OwnerDeadline)
	var held *watermark.HeldError
	if errors.As(err, &held) {
		h := *held
		h.Until = s.own(h.Until)
		return g, &h
	}
	return g, err
}

// own is a time of the table as the process's clock tells it.
func (s store) own(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-s.inv.skew)
}

func (s store) Begin(ctx context.Context, b watermark.Begin) error {
	return s.write(ctx, b.Partition.Partition, "begin", func() error { return s.w.state.Begin(ctx, b) })
}

func (s store) Commit(ctx context.Context, c watermark.Commit) error {
	if d := &c.State.OwnerDeadline; !d.IsZero() {
		*d = d.Add(s.inv.skew)
	}
	return s.write(ctx, c.State.Partition.Partition, "commit", func() error { return s.w.state.Commit(ctx, c) })
}

func (s store) Leave(ctx context.Context, l watermark.Leave) error {
	return s.write(ctx, l.Partition.Partition, "leave", func() error { return s.w.state.Leave(ctx, l) })
}

func (s store) write(ctx context.Context, part int32, name string, apply func() error) error {
	var lost error
	for range 2 {
		v, err := s.w.step(ctx, s.inv, part, name)
		if err != nil {
			return errors.Join(err, lost)
		}
		was := s.w.item(part)
		err = apply()
		if is := s.w.item(part).TopicID; was.TopicID != "" && is != was.TopicID {
			s.w.parts[part].switcher, s.w.parts[part].switchedAt = s.inv.id+1, was.Next
			if was.Next < was.TrustFrom { // what was left to a later reader of the source went with the log
				s.w.parts[part].switcher = 0
			}
		}
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
