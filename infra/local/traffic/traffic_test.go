package traffic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/traffic"
)

func TestRecordsHoldEverythingOdd(t *testing.T) {
	t.Parallel()
	odd := map[string]func(*kgo.Record) bool{
		"null key":            func(r *kgo.Record) bool { return r.Key == nil },
		"empty key":           func(r *kgo.Record) bool { return r.Key != nil && len(r.Key) == 0 },
		"null value":          func(r *kgo.Record) bool { return r.Value == nil },
		"empty value":         func(r *kgo.Record) bool { return r.Value != nil && len(r.Value) == 0 },
		"large value":         func(r *kgo.Record) bool { return len(r.Value) > 30_000 },
		"timestamp 0":         func(r *kgo.Record) bool { return r.Timestamp.UnixMilli() == 0 },
		"timestamp -1":        func(r *kgo.Record) bool { return r.Timestamp.UnixMilli() == -1 },
		"no headers":          func(r *kgo.Record) bool { return len(r.Headers) == 0 },
		"repeated header":     func(r *kgo.Record) bool { return len(r.Headers) > 1 && r.Headers[0].Key == r.Headers[1].Key },
		"header without name": func(r *kgo.Record) bool { return len(r.Headers) > 0 && r.Headers[0].Key == "" },
		"null header":         func(r *kgo.Record) bool { return len(r.Headers) > 0 && r.Headers[0].Value == nil },
		"empty header": func(r *kgo.Record) bool {
			return len(r.Headers) > 0 && r.Headers[0].Value != nil && len(r.Headers[0].Value) == 0
		},
		"bytes above 127": func(r *kgo.Record) bool {
			return len(r.Headers) > 0 && len(r.Headers[0].Value) > 3 && r.Headers[0].Value[3] == 0xff
		},
	}
	const n = 2000
	counts := make(map[string]int)
	for i := range uint64(n) {
		r := traffic.Record(1, i)
		for name, is := range odd {
			if is(r) {
				counts[name]++
			}
		}
	}
	for name := range odd {
		if counts[name] == 0 || counts[name] > n/2 {
			t.Errorf("%d of %d records with %s, want some", counts[name], n, name)
		}
	}
}

func TestRecordIsDecidedBySeedAndNumber(t *testing.T) {
	t.Parallel()
	a, b, other := traffic.Record(1, 7), traffic.Record(1, 7), traffic.Record(2, 7)
	other.Timestamp, b.Timestamp = a.Timestamp, a.Timestamp
	same := func(x, y *kgo.Record) string {
		return cmp.Diff([]any{x.Key, x.Value, x.Headers}, []any{y.Key, y.Value, y.Headers})
	}
	if diff := same(a, b); diff != "" {
		t.Errorf("Record(1, 7) twice (-first +second):\n%s", diff)
	}
	if same(a, other) == "" {
		t.Error("Record(1, 7) = Record(2, 7), want another")
	}
}
