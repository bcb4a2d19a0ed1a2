package compare_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"tidemark/infra/local/compare"
)

// log is one record a letter, its value, with offsets from an offset on.
func log(h compare.Hasher, from int64, letters string) []compare.Record {
	var records []compare.Record
	for i, letter := range letters {
		records = append(records, h.Record(&kgo.Record{Offset: from + int64(i), Value: []byte(string(letter))}))
	}
	return records
}

func TestLogs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, source, target string // offsets from 0 and from 100 on
		want                 compare.Partition
	}{
		{"both empty", "", "", compare.Partition{}},
		{"equal", "abba", "abba", compare.Partition{Source: 4, Target: 4}},
		{"lost last", "abc", "ab", compare.Partition{
			Source: 3, Target: 2, Lost: []int64{2},
			First: "the target ends before record 2 (source offset 2)",
		}},
		{"lost amid others", "abcb", "acb", compare.Partition{
			Source: 4, Target: 3, Lost: []int64{3}, Reordered: []int64{102}, // which b is lost cannot be told
			First: "record 1 (source offset 1, target offset 101): value differ",
		}},
		{"duplicated", "abc", "ababc", compare.Partition{
			Source: 3, Target: 5, Duplicated: []int64{102, 103},
			First: "record 2 (source offset 2, target offset 102): value differ",
		}},
		{"reordered", "abc", "acb", compare.Partition{
			Source: 3, Target: 3, Reordered: []int64{102},
			First: "record 1 (source offset 1, target offset 101): value differ",
		}},
		{"foreign", "ab", "xab", compare.Partition{
			Source: 2, Target: 3, Foreign: []int64{100},
			First: "record 0 (source offset 0, target offset 100): value differ",
		}},
		{"more than the source has", "", "a", compare.Partition{
			Target: 1, Foreign: []int64{100},
			First: "the source ends before record 0 (target offset 100)",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := compare.NewHasher()
			got := compare.Logs(log(h, 0, tt.source), log(h, 100, tt.target))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Logs(%q, %q) (-want +got):\n%s", tt.source, tt.target, diff)
			}
			if got.Equal() != (tt.source == tt.target) {
				t.Errorf("Logs(%q, %q).Equal() = %t", tt.source, tt.target, got.Equal())
			}
		})
	}
}

// Every record of either log is accounted for, and nothing is reported iff the logs are equal.
func TestLogsAccountForEveryRecord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 8, -1)
		source, target := letters.Draw(t, "source"), letters.Draw(t, "target")
		h := compare.NewHasher()
		p := compare.Logs(log(h, 0, source), log(h, 100, target))
		if arrived, kept := len(source)-len(p.Lost), len(target)-len(p.Duplicated)-len(p.Foreign); arrived != kept {
			t.Errorf("Logs(%q, %q) = %+v: %d arrived, %d kept", source, target, p, arrived, kept)
		}
		if same := source == target; same != p.Equal() || same != (len(p.Lost)+len(p.Duplicated)+len(p.Foreign)+len(p.Reordered) == 0) {
			t.Errorf("Logs(%q, %q) = %+v, equal: %t", source, target, p, same)
		}
	})
}

func TestRecordsDifferInEachPart(t *testing.T) {
	t.Parallel()
	full := func() *kgo.Record {
		return &kgo.Record{
			Key: []byte("k"), Value: []byte("v"), Timestamp: time.UnixMilli(5),
			Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "a", Value: nil}},
		}
	}
	tests := []struct {
		name   string
		change func(*kgo.Record)
		want   string
	}{
		{"key null", func(r *kgo.Record) { r.Key = nil }, "key"},
		{"key empty", func(r *kgo.Record) { r.Key = []byte{} }, "key"},
		{"value null", func(r *kgo.Record) { r.Value = nil }, "value"},
		{"value empty", func(r *kgo.Record) { r.Value = []byte{} }, "value"},
		{"header order", func(r *kgo.Record) { r.Headers[0], r.Headers[1] = r.Headers[1], r.Headers[0] }, "headers"},
		{"header name", func(r *kgo.Record) { r.Headers[0].Key = "" }, "headers"},
		{"header empty", func(r *kgo.Record) { r.Headers[1].Value = []byte{} }, "headers"},
		{"header lost", func(r *kgo.Record) { r.Headers = r.Headers[:1] }, "headers"},
		{"timestamp", func(r *kgo.Record) { r.Timestamp = time.UnixMilli(6) }, "timestamp"},
		{"all", func(r *kgo.Record) { *r = kgo.Record{} }, "key, value, headers, timestamp"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := compare.NewHasher()
			changed := full()
			tt.change(changed)
			got := compare.Logs([]compare.Record{h.Record(full())}, []compare.Record{h.Record(changed)})
			if want := "record 0 (source offset 0, target offset 0): " + tt.want + " differ"; got.First != want {
				t.Errorf("first difference = %q, want %q", got.First, want)
			}
			h.SkipTimestamps = true
			got = compare.Logs([]compare.Record{h.Record(full())}, []compare.Record{h.Record(changed)})
			if got.Equal() != (tt.name == "timestamp") {
				t.Errorf("without timestamps: equal = %t", got.Equal())
			}
		})
	}
}
