package mm2_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/shared/mm2"
)

// A record is one kind's codec, bound to a value.
type record struct {
	want   any
	key    func() ([]byte, error)
	value  func() ([]byte, error)
	decode func(key, value []byte) (any, error)
}

func offsetSync(s mm2.OffsetSync) record {
	return record{
		want: s, key: s.Key, value: func() ([]byte, error) { return s.Value(), nil },
		decode: func(k, v []byte) (any, error) { return mm2.DecodeOffsetSync(k, v) },
	}
}

func checkpoint(c mm2.Checkpoint) record {
	return record{
		want: c, key: c.Key, value: c.Value,
		decode: func(k, v []byte) (any, error) { return mm2.DecodeCheckpoint(k, v) },
	}
}

func heartbeat(h mm2.Heartbeat) record {
	return record{
		want: h, key: h.Key, value: func() ([]byte, error) { return h.Value(), nil },
		decode: func(k, v []byte) (any, error) { return mm2.DecodeHeartbeat(k, v) },
	}
}

func partition(topic string, n int32) mm2.TopicPartition {
	return mm2.TopicPartition{Topic: topic, Partition: n}
}

// vectors are the values behind testdata/records.txt.
func vectors() map[string]record {
	group := mm2.Checkpoint{TopicPartition: partition("topic-2", 3), Group: "group-1", Upstream: 4, Downstream: 5}
	withMetadata := group
	withMetadata.Metadata = "metadata-6"
	return map[string]record{
		"jvm-offset-sync":      offsetSync(mm2.OffsetSync{TopicPartition: partition("orders", 7), Upstream: 1000, Downstream: 742}),
		"jvm-checkpoint":       checkpoint(mm2.Checkpoint{TopicPartition: partition("orders", 7), Group: "analytics", Upstream: 1000, Downstream: 742}),
		"jvm-heartbeat":        heartbeat(mm2.Heartbeat{Source: "us-east", Target: "eu-west", At: time.UnixMilli(100).UTC()}),
		"unit-offset-sync":     offsetSync(mm2.OffsetSync{TopicPartition: partition("topic-1", 2), Upstream: 3, Downstream: 4}),
		"unit-checkpoint":      checkpoint(withMetadata),
		"unit-checkpoint-bare": checkpoint(group),
		"unit-heartbeat":       heartbeat(mm2.Heartbeat{Source: "source-1", Target: "target-2", At: time.UnixMilli(1234567890).UTC()}),
		"live-offset-sync":     offsetSync(mm2.OffsetSync{TopicPartition: partition("heartbeats", 0), Upstream: 59, Downstream: 59}),
		"live-checkpoint": checkpoint(mm2.Checkpoint{
			TopicPartition: partition("us-east.orders", 0), Group: "billing", Upstream: 120, Downstream: 102, Metadata: "m-1",
		}),
		"live-heartbeat": heartbeat(mm2.Heartbeat{Source: "us-east", Target: "eu-west", At: time.UnixMilli(1796095987226).UTC()}),
	}
}

type goldenBytes struct{ key, value []byte }

func readGolden(tb testing.TB) map[string]goldenBytes {
	tb.Helper()
	text, err := os.ReadFile("testdata/records.txt")
	if err != nil {
		tb.Fatal(err)
	}
	golden := map[string]goldenBytes{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			tb.Fatalf("golden line %q: want name, key, value", line)
		}
		golden[fields[0]] = goldenBytes{unhex(tb, fields[1]), unhex(tb, fields[2])}
	}
	return golden
}

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil {
		tb.Fatalf("golden bytes %q: %v", s, err)
	}
	return b
}

func TestGoldenRecords(t *testing.T) {
	t.Parallel()
	golden, records := readGolden(t), vectors()
	if len(golden) != len(records) {
		t.Errorf("%d golden records for %d values", len(golden), len(records))
	}
	for name, r := range records {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := golden[name]
			key, errKey := r.key()
			value, errValue := r.value()
			if errKey != nil || errValue != nil {
				t.Fatalf("encode: %v, %v", errKey, errValue)
			}
			if !bytes.Equal(key, want.key) {
				t.Errorf("Key() = %x, want %x", key, want.key)
			}
			if !bytes.Equal(value, want.value) {
				t.Errorf("Value() = %x, want %x", value, want.value)
			}
			got, err := r.decode(want.key, want.value)
			if err != nil {
				t.Fatalf("decode: %v", err)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("decode (-want +got):\n%s", diff)
			}
		})
	}
}

// Every byte of a vector carries meaning: changed in any way, the record decodes to something else or not at all.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	golden := readGolden(t)
	for name, r := range vectors() {
		key, value := golden[name].key, golden[name].value
		for part, b := range map[string][]byte{"key": key, "value": value} {
			for i := range b {
				for mask := 1; mask < 256; mask++ {
					b[i] ^= byte(mask)
					got, err := r.decode(key, value)
					b[i] ^= byte(mask)
					if err == nil && cmp.Equal(got, r.want) {
						t.Errorf("%s: %s with byte %d changed by %#x decodes to the same record", name, part, i, mask)
					}
				}
			}
		}
	}
}

func TestDecodeRefusesTruncation(t *testing.T) {
	t.Parallel()
	golden := readGolden(t)
	for name, r := range vectors() {
		key, value := golden[name].key, golden[name].value
		for n := range key {
			if got, err := r.decode(key[:n], value); err == nil {
				t.Errorf("%s: decode of %d key bytes = %v, want an error", name, n, got)
			}
		}
		for n := range value {
			if got, err := r.decode(key, value[:n]); err == nil {
				t.Errorf("%s: decode of %d value bytes = %v, want an error", name, n, got)
			}
		}
		if got, err := r.decode(key, nil); err == nil {
			t.Errorf("%s: decode of a tombstone = %v, want an error", name, got)
		}
	}
}

func TestDecodeIgnoresTrailingBytes(t *testing.T) {
	t.Parallel()
	golden := readGolden(t)
	for name, r := range vectors() {
		got, err := r.decode(append(golden[name].key, 1, 2), append(golden[name].value, 3))
		if err != nil || !cmp.Equal(got, r.want) {
			t.Errorf("%s: decode with trailing bytes = %v, %v, want %v", name, got, err, r.want)
		}
	}
}

func TestDecodeNamesTheFault(t *testing.T) {
	t.Parallel()
	offsetSyncOf := func(k, v []byte) error { _, err := mm2.DecodeOffsetSync(k, v); return err }
	checkpointOf := func(k, v []byte) error { _, err := mm2.DecodeCheckpoint(k, v); return err }
	heartbeatOf := func(k, v []byte) error { _, err := mm2.DecodeHeartbeat(k, v); return err }
	tests := []struct {
		name       string
		decode     func(k, v []byte) error
		key, value string
		want       string
	}{
		{"negative topic length", offsetSyncOf, "ffff00000007", "", "decode offset sync key: topic: negative string length"},
		{"most negative length", offsetSyncOf, "800000000007", "", "decode offset sync key: topic: negative string length"},
		{"no partition", offsetSyncOf, "000161", "", "decode offset sync key: partition: too few bytes"},
		{"half a value", offsetSyncOf, "00016100000000", "0000000000000001", "decode offset sync value: downstream offset: too few bytes"},
		{"version 1", checkpointOf, "0001610001620000000a", "0001", "decode checkpoint value: version 1: unknown version"},
		{"negative metadata length", checkpointOf, "00016100016200000000", "000000000000000000010000000000000002fffe", "decode checkpoint value: metadata: negative string length"},
		{"length beyond the end", checkpointOf, "7fff61", "", "decode checkpoint key: group: too few bytes"},
		{"version -1", heartbeatOf, "00016100017a", "ffff0000000000000001", "decode heartbeat value: version -1: unknown version"},
		{"empty", heartbeatOf, "", "", "decode heartbeat key: source alias: too few bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.decode(unhex(t, tt.key), unhex(t, tt.value))
			if err == nil || err.Error() != tt.want {
				t.Errorf("decode = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestEncodeRefusesLongStrings(t *testing.T) {
	t.Parallel()
	fits, long := strings.Repeat("x", 32767), strings.Repeat("x", 32768)
	tests := []struct {
		name string
		with func(s string) error
	}{
		{"offset sync topic", func(s string) error { _, err := mm2.OffsetSync{TopicPartition: partition(s, 0)}.Key(); return err }},
		{"checkpoint group", func(s string) error { _, err := mm2.Checkpoint{Group: s}.Key(); return err }},
		{"checkpoint topic", func(s string) error { _, err := mm2.Checkpoint{TopicPartition: partition(s, 0)}.Key(); return err }},
		{"checkpoint metadata", func(s string) error { _, err := mm2.Checkpoint{Metadata: s}.Value(); return err }},
		{"heartbeat source", func(s string) error { _, err := mm2.Heartbeat{Source: s}.Key(); return err }},
		{"heartbeat target", func(s string) error { _, err := mm2.Heartbeat{Target: s}.Key(); return err }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := tt.with(fits); err != nil {
				t.Errorf("32767 bytes: %v, want no error", err)
			}
			if err := tt.with(long); err == nil {
				t.Error("32768 bytes: no error, want one")
			}
		})
	}
}

// Any record survives encoding and decoding, whatever its strings hold.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, label)) }
		tp := partition(text("topic"), rapid.Int32().Draw(t, "partition"))
		up, down := rapid.Int64().Draw(t, "upstream"), rapid.Int64().Draw(t, "downstream")
		for _, r := range []record{
			offsetSync(mm2.OffsetSync{TopicPartition: tp, Upstream: up, Downstream: down}),
			checkpoint(mm2.Checkpoint{TopicPartition: tp, Group: text("group"), Upstream: up, Downstream: down, Metadata: text("metadata")}),
			heartbeat(mm2.Heartbeat{Source: text("source"), Target: text("target"), At: time.UnixMilli(up).UTC()}),
		} {
			key, errKey := r.key()
			value, errValue := r.value()
			got, err := r.decode(key, value)
			if errKey != nil || errValue != nil || err != nil || !cmp.Equal(got, r.want) {
				t.Fatalf("decode(%x, %x) = %v, %v, want %v", key, value, got, err, r.want)
			}
		}
	})
}
