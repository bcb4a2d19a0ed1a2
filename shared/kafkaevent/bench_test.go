package kafkaevent

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/twmb/franz-go/pkg/kgo"
)

// benchmarkSizes runs decode on 1000 records of each size. Decoding overwrites the payload, so both benchmarks copy it
// back before each round and count the copy.
func benchmarkSizes(b *testing.B, decode func(payload []byte) (records int, err error)) {
	b.Helper()
	for _, size := range []int{100, 1000} {
		b.Run(fmt.Sprintf("value=%dB", size), func(b *testing.B) {
			const records = 1000
			original := appendEvent(nil, corpus(records, size))
			payload := make([]byte, len(original))
			b.SetBytes(int64(len(original)))
			b.ReportAllocs()
			for b.Loop() {
				copy(payload, original)
				if n, err := decode(payload); n != records || err != nil {
					b.Fatalf("decode = %d records, %v, want %d", n, err, records)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	benchmarkSizes(b, func(payload []byte) (n int, err error) {
		deliveries, err := Decode(payload)
		for _, d := range deliveries {
			n += len(d.Records)
		}
		return n, err
	})
}

// BenchmarkDecodeEncodingJSON is the way without own code: encoding/json into aws-lambda-go's types, then base64 and
// records for the client.
func BenchmarkDecodeEncodingJSON(b *testing.B) {
	benchmarkSizes(b, func(payload []byte) (n int, err error) {
		var event events.KafkaEvent
		if err := json.Unmarshal(payload, &event); err != nil {
			return 0, err
		}
		for _, list := range event.Records {
			records := make([]*kgo.Record, 0, len(list))
			for _, r := range list {
				record, err := toRecord(r)
				if err != nil {
					return 0, err
				}
				records = append(records, record)
			}
			n += len(records)
		}
		return n, nil
	})
}

func toRecord(r events.KafkaRecord) (*kgo.Record, error) {
	key, err := base64.StdEncoding.DecodeString(r.Key)
	if err != nil {
		return nil, err
	}
	value, err := base64.StdEncoding.DecodeString(r.Value)
	if err != nil {
		return nil, err
	}
	record := &kgo.Record{Key: key, Value: value, Timestamp: r.Timestamp.Time}
	for _, header := range r.Headers {
		for name, value := range header {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: name, Value: value})
		}
	}
	return record, nil
}
