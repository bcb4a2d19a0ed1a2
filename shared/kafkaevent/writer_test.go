package kafkaevent

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// appendEvent writes an event as AWS does: compact, fields in the documented order, signed header bytes, and null keys
// and values left out.
func appendEvent(dst []byte, deliveries []mirror.Delivery) []byte {
	dst = append(dst, `{"eventSource":"aws:kafka","eventSourceArn":"arn:aws:kafka:eu-west-1:123456789012:cluster/c/1",`...)
	dst = append(dst, `"bootstrapServers":"b-1.c.kafka.eu-west-1.amazonaws.com:9094","records":{`...)
	for i, d := range deliveries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(strconv.AppendQuote(dst, d.Key), `:[`...)
		for j, r := range d.Records {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = appendRecord(dst, d.Partition, d.Offsets[j], r)
		}
		dst = append(dst, ']')
	}
	return append(dst, `}}`...)
}

func appendRecord(dst []byte, tp mm2.TopicPartition, offset int64, r *kgo.Record) []byte {
	dst = fmt.Appendf(dst, `{"topic":%q,"partition":%d,"offset":%d,"timestamp":%d,"timestampType":"CREATE_TIME"`,
		tp.Topic, tp.Partition, offset, r.Timestamp.UnixMilli())
	for _, f := range []struct {
		name  string
		value []byte
	}{{"key", r.Key}, {"value", r.Value}} {
		if f.value != nil {
			dst = fmt.Appendf(dst, `,"%s":"%s"`, f.name, base64.StdEncoding.EncodeToString(f.value))
		}
	}
	dst = append(dst, `,"headers":[`...)
	for i, h := range r.Headers {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, _ := json.Marshal(h.Key) // a string can always be marshalled
		dst = append(append(append(dst, '{'), name...), ':')
		dst = append(appendBytes(dst, h.Value), '}')
	}
	return append(dst, `]}`...)
}

// appendBytes writes a header value.
func appendBytes(dst, value []byte) []byte {
	if value == nil {
		return append(dst, `null`...)
	}
	dst = append(dst, '[')
	for i, b := range value {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(int8(b)), 10)
	}
	return append(dst, ']')
}

// corpus is a fixed set of deliveries over four partitions: values of the given size, one in 16 a tombstone, one key in
// eight null, and two headers on every second record.
func corpus(records, valueSize int) []mirror.Delivery {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	deliveries := make([]mirror.Delivery, 4)
	for i := range deliveries {
		tp := mm2.TopicPartition{Topic: "orders.eu-west", Partition: int32(i)}
		deliveries[i] = mirror.Delivery{Key: tp.String(), Partition: tp}
	}
	for i := range records {
		r := &kgo.Record{Timestamp: time.UnixMilli(1_545_084_650_987 + int64(i)), Key: noise(16), Value: noise(valueSize)}
		if i%16 == 5 {
			r.Value = nil
		}
		if i%8 == 3 {
			r.Key = nil
		}
		if i%2 == 0 {
			r.Headers = []kgo.RecordHeader{{Key: "traceparent", Value: noise(16)}, {Key: "schema", Value: []byte("v1")}}
		}
		d := &deliveries[i*len(deliveries)/records]
		d.Offsets = append(d.Offsets, 4_000_000+int64(i))
		d.Records = append(d.Records, r)
	}
	return deliveries
}
