package offsetsync_test

import (
	"testing"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
)

var orders = mm2.TopicPartition{Topic: "orders", Partition: 3}

// pair is an upstream and a downstream offset.
type pair [2]int64

// every returns the syncs from, from+step, ... to, with equal offsets.
func every(from, step, to int64) []pair {
	var list []pair
	for o := from; o <= to; o += step {
		list = append(list, pair{o, o})
	}
	return list
}

func add(s *offsetsync.Store, syncs ...pair) {
	for _, p := range syncs {
		s.Add(mm2.OffsetSync{TopicPartition: orders, Upstream: p[0], Downstream: p[1]})
	}
}

// store loads a store and then feeds it.
func store(m offsetsync.Mode, loading, live []pair) *offsetsync.Store {
	s := offsetsync.New()
	s.Load(m)
	add(s, loading...)
	s.Loaded()
	add(s, live...)
	return s
}

// T5, T6 and T7.
func TestNothingToGoBy(t *testing.T) {
	t.Parallel()
	for _, m := range []offsetsync.Mode{offsetsync.History, offsetsync.LatestOnly} {
		s := offsetsync.New()
		s.Load(m)
		add(s, pair{100, 200})
		for _, upstream := range []int64{0, 100, 200} {
			if got, ok := s.Translate(orders, upstream); ok {
				t.Errorf("mode %d: Translate(%d) during the initial read = %d, true, want false", m, upstream, got)
			}
		}
		s.Loaded()
		for upstream, want := range map[int64]int64{0: -1, 100: 200, 200: 201} {
			if got, ok := s.Translate(orders, upstream); got != want || !ok {
				t.Errorf("mode %d: Translate(%d) = %d, %t, want %d, true", m, upstream, got, ok, want)
			}
		}
		for _, tp := range []mm2.TopicPartition{{Topic: "orders", Partition: 2}, {Topic: "order", Partition: 3}} {
			if got, ok := s.Translate(tp, 100); ok {
				t.Errorf("mode %d: Translate(%s, 100) = %d, true, want false", m, tp, got)
			}
		}
	}
}

func TestNewKeepsHistory(t *testing.T) {
	t.Parallel()
	s := offsetsync.New()
	add(s, pair{100, 200}, pair{150, 251})
	if got, ok := s.Translate(orders, 120); ok {
		t.Errorf("Translate(120) of a new store = %d, true, want false", got)
	}
	s.Loaded()
	if got, ok := s.Translate(orders, 120); got != 201 || !ok {
		t.Errorf("Translate(120) = %d, %t, want 201, true", got, ok)
	}
}

func TestLoadForgets(t *testing.T) {
	t.Parallel()
	s := store(offsetsync.History, nil, []pair{{100, 200}})
	s.Load(offsetsync.History)
	if got, ok := s.Newest(orders); ok {
		t.Errorf("Newest() after Load = %+v, true, want false", got)
	}
	add(s, pair{300, 400})
	if got, ok := s.Translate(orders, 300); ok {
		t.Errorf("Translate(300) after Load = %d, true, want false", got)
	}
	s.Loaded()
	if got, ok := s.Translate(orders, 100); got != -1 || !ok {
		t.Errorf("Translate(100) = %d, %t, want -1, true", got, ok)
	}
}

func TestNewest(t *testing.T) {
	t.Parallel()
	s := offsetsync.New()
	if got, ok := s.Newest(orders); ok {
		t.Errorf("Newest() of an empty store = %+v, true, want false", got)
	}
	for _, p := range []pair{{100, 200}, {150, 251}, {150, 252}, {20, 20}} {
		add(s, p)
		want := mm2.OffsetSync{TopicPartition: orders, Upstream: p[0], Downstream: p[1]}
		if got, ok := s.Newest(orders); got != want || !ok {
			t.Errorf("Newest() = %+v, %t, want %+v, true", got, ok, want)
		}
	}
}

func TestPartitionsAreApart(t *testing.T) {
	t.Parallel()
	s := store(offsetsync.History, nil, []pair{{100, 200}, {150, 251}})
	other := mm2.TopicPartition{Topic: "orders", Partition: 4}
	s.Add(mm2.OffsetSync{TopicPartition: other, Upstream: 7, Downstream: 70})
	if got, ok := s.Translate(orders, 149); got != 201 || !ok {
		t.Errorf("Translate(149) = %d, %t, want 201, true", got, ok)
	}
	if got, ok := s.Translate(other, 149); got != 71 || !ok {
		t.Errorf("Translate(%s, 149) = %d, %t, want 71, true", other, got, ok)
	}
}
