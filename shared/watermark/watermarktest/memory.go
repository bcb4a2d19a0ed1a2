// Package watermarktest holds the conformance suite of state stores ([Run]) and the in-memory store ([Memory]).
package watermarktest

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// Memory is a state store in memory: the pure rules under a lock. The zero value is empty; it is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	items map[mm2.TopicPartition]watermark.State
}

// Claim implements mirror.StateStore.
func (m *Memory) Claim(_ context.Context, c watermark.Claim) (watermark.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, err := m.get(c.Partition).Take(c)
	if err == nil {
		m.put(g.State)
	}
	return g, err
}

// Begin implements mirror.StateStore.
func (m *Memory) Begin(_ context.Context, b watermark.Begin) error {
	return m.change(b.Partition, func(s watermark.State) (watermark.State, error) { return s.Begin(b) })
}

// Commit implements mirror.StateStore.
func (m *Memory) Commit(_ context.Context, c watermark.Commit) error {
	return m.change(c.State.Partition, func(s watermark.State) (watermark.State, error) { return s.Commit(c) })
}

// Leave implements mirror.StateStore.
func (m *Memory) Leave(_ context.Context, l watermark.Leave) error {
	return m.change(l.Partition, func(s watermark.State) (watermark.State, error) { return s.Leave(l) })
}

// change applies a rule to a state.
func (m *Memory) change(tp mm2.TopicPartition, rule func(watermark.State) (watermark.State, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := rule(m.get(tp))
	if err == nil {
		m.put(s)
	}
	return err
}

// Get returns a state; a blank one if the partition was never claimed.
func (m *Memory) Get(_ context.Context, tp mm2.TopicPartition) (watermark.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(tp), nil
}

// All yields every state, in any order.
func (m *Memory) All(context.Context) iter.Seq2[watermark.State, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Collect(maps.Values(m.items))
	return func(yield func(watermark.State, error) bool) {
		for _, s := range all {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// get must be called with the lock held.
func (m *Memory) get(tp mm2.TopicPartition) watermark.State {
	s, ok := m.items[tp]
	if !ok {
		return watermark.New(tp)
	}
	s.Producers, s.NextDigest, s.Runs = slices.Clone(s.Producers), slices.Clone(s.NextDigest), slices.Clone(s.Runs)
	return s
}

// put must be called with the lock held.
func (m *Memory) put(s watermark.State) {
	if m.items == nil {
		m.items = make(map[mm2.TopicPartition]watermark.State)
	}
	m.items[s.Partition] = s
}
