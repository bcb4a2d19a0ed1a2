//go:build integration

package integration

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// odd makes records with everything a producer may do to a record, in proportions that keep the whole small.
type odd struct{ random *rand.Rand }

func newOdd() odd { return odd{rand.New(rand.NewPCG(*seed, 0))} }

func (o odd) one(in int) bool { return o.random.IntN(in) == 0 }

// bytes are null, empty or n bytes: half of the time any bytes, else one over and over, which compresses.
func (o odd) bytes(n int) []byte {
	switch o.random.IntN(10) {
	case 0:
		return nil
	case 1:
		return []byte{}
	}
	b := make([]byte, n)
	if o.one(2) {
		fill := byte(o.random.IntN(256))
		for i := range b {
			b[i] = fill
		}
		return b
	}
	for i := range b {
		b[i] = byte(o.random.IntN(256))
	}
	return b
}

// size is mostly a few hundred bytes, now and then up to 100 KB.
func (o odd) size() int {
	const now, small, large = 500, 400, 100 << 10
	if o.one(now) {
		return o.random.IntN(large)
	}
	return o.random.IntN(small)
}

// headers are none to five; names are empty, repeated, quoted, of several bytes a character, long, and look like JSON.
func (o odd) headers() []kgo.RecordHeader {
	names := []string{"", "a", "a", "trace-id", `"quoted" \ and {"json":[1]}`, "é✓𝄞", "line\nbreak\x00\x1f\u2028", "<&>", strings.Repeat("n", 300)}
	var headers []kgo.RecordHeader
	for range max(0, o.random.IntN(9)-3) {
		headers = append(headers, kgo.RecordHeader{Key: names[o.random.IntN(len(names))], Value: o.bytes(o.random.IntN(40))})
	}
	return headers
}

// timestamp is mostly near now, and at times unknown (-1), 0, of a time long before Kafka's, or a little ahead.
func (o odd) timestamp(now time.Time) time.Time {
	switch o.random.IntN(12) {
	case 0:
		return time.UnixMilli(0)
	case 1:
		return time.UnixMilli(-1)
	case 2:
		return time.UnixMilli(o.random.Int64N(1_000_000_000_000))
	case 3:
		return now.Add(time.Duration(o.random.IntN(60_000)) * time.Millisecond)
	}
	return now.Add(-time.Duration(o.random.IntN(60_000)) * time.Millisecond)
}

// records makes n records for a partition. Some are the same as the one before: only their position tells them apart.
func (o odd) records(topic string, partition int32, n int) []*kgo.Record {
	now := time.Now()
	records := make([]*kgo.Record, n)
	for i := range records {
		r := &kgo.Record{
			Topic: topic, Partition: partition, Timestamp: o.timestamp(now),
			Key: o.bytes(o.random.IntN(30)), Value: o.bytes(o.size()), Headers: o.headers(),
		}
		const same = 50
		if i > 0 && o.one(same) {
			last := records[i-1]
			r.Key, r.Value, r.Headers, r.Timestamp = last.Key, last.Value, last.Headers, last.Timestamp
		}
		records[i] = r
	}
	return records
}

// write writes n records to each partition of a source topic, with every codec in use.
func (o odd) write(t *testing.T, topic string, partitions int32, n int) {
	t.Helper()
	codecs := []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	}
	for p := range partitions {
		client := source.client(t, kgo.ProducerBatchCompression(codecs[int(p)%len(codecs)]))
		const chunk = 2000
		for left := n; left > 0; left -= chunk {
			write(t, client, o.records(topic, p, min(chunk, left))...)
		}
	}
}
