package mapping

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// sourceARN stands for the cluster: nothing behind it is asked.
const sourceARN = "arn:aws:kafka:us-east-1:000000000000:cluster/local/00000000-0000-0000-0000-000000000000-1"

// entry is a record of a batch and its JSON.
type entry struct {
	record    *kgo.Record
	partition string // "<topic>-<partition>", the event's map key
	text      []byte
}

// eventRecord is a record as the service writes it: a null key or value is left out, header bytes are Java's, -128 to 127.
type eventRecord struct {
	Topic         string              `json:"topic"`
	Partition     int32               `json:"partition"`
	Offset        int64               `json:"offset"`
	Timestamp     int64               `json:"timestamp"`
	TimestampType string              `json:"timestampType"`
	Key           *string             `json:"key,omitempty"`
	Value         *string             `json:"value,omitempty"`
	Headers       []map[string][]int8 `json:"headers"`
}

func newEntry(r *kgo.Record) (entry, error) {
	v := eventRecord{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset,
		Timestamp: r.Timestamp.UnixMilli(), TimestampType: "CREATE_TIME",
		Key: base64Text(r.Key), Value: base64Text(r.Value),
		Headers: make([]map[string][]int8, len(r.Headers)),
	}
	if r.Attrs.TimestampType() == 1 {
		v.TimestampType = "LOG_APPEND_TIME"
	}
	for i, h := range r.Headers {
		v.Headers[i] = map[string][]int8{h.Key: signed(h.Value)}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // Java's encoders do not
	if err := enc.Encode(v); err != nil {
		return entry{}, fmt.Errorf("encode %s-%d offset %d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	name := r.Topic + "-" + strconv.Itoa(int(r.Partition))
	return entry{record: r, partition: name, text: bytes.TrimSuffix(text.Bytes(), []byte("\n"))}, nil
}

// base64Text keeps nil apart from empty.
func base64Text(b []byte) *string {
	if b == nil {
		return nil
	}
	s := base64.StdEncoding.EncodeToString(b)
	return &s
}

// signed keeps nil apart from empty.
func signed(b []byte) []int8 {
	if b == nil {
		return nil
	}
	out := make([]int8, len(b))
	for i, c := range b {
		out[i] = int8(c)
	}
	return out
}

// envelope is what an event holds before its records.
type envelope string

func newEnvelope(brokers []string) envelope {
	return envelope(fmt.Sprintf(`{"eventSource":"aws:kafka","eventSourceArn":%q,"bootstrapServers":%q,"records":{`,
		sourceARN, strings.Join(brokers, ",")))
}

// payload is the event of a batch, in memory of its own.
func (v envelope) payload(batch []entry) []byte {
	lists := make(map[string][]byte)
	var partitions []string // in order of appearance
	size := len(v) + len("}}")
	for _, e := range batch {
		list, known := lists[e.partition]
		if known {
			list = append(list, ',')
		} else {
			partitions = append(partitions, e.partition)
		}
		lists[e.partition] = append(list, e.text...)
		size += added(e, !known)
	}
	out := append(make([]byte, 0, size), v...)
	for i, p := range partitions {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendQuote(out, p) // a topic name holds nothing that JSON quotes otherwise
		out = append(out, ":["...)
		out = append(out, lists[p]...)
		out = append(out, ']')
	}
	return append(out, "}}"...)
}

// added is how many bytes an entry adds to an event at most.
func added(e entry, first bool) int {
	n := len(e.text) + len(",")
	if first {
		n += len(e.partition) + len(`"":[],`)
	}
	return n
}

// gauge measures an event while its batch is collected.
type gauge struct {
	size, limit int // bytes
	partitions  map[string]bool
}

func (v envelope) gauge(limit int) *gauge {
	return &gauge{size: len(v) + len("}}"), limit: limit, partitions: make(map[string]bool)}
}

// take counts an entry in and reports true, or reports false when the event would exceed the limit with it.
func (g *gauge) take(e entry) bool {
	n := added(e, !g.partitions[e.partition])
	if g.size+n > g.limit {
		return false
	}
	g.size += n
	g.partitions[e.partition] = true
	return true
}
