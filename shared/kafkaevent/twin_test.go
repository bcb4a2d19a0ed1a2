package kafkaevent

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// twin is Decode by encoding/json, in the plainest way: the oracle of the property and fuzz tests. The text of its errors
// and faults means nothing.
func twin(payload []byte) ([]mirror.Delivery, error) {
	payload, _ = escapeControls(payload)
	if !json.Valid(payload) || kind(payload) != '{' {
		return nil, errors.New("no JSON object")
	}
	sources, maps := 0, 0
	var deliveries []mirror.Delivery
	for _, m := range members(payload) {
		switch {
		case m.name == "eventSource" && kind(m.value) == '"':
			sources++
			if s := text(m.value); s != "aws:kafka" && s != "SelfManagedKafka" && s != "aws:SelfManagedKafka" {
				return nil, errors.New("foreign event")
			}
		case m.name == "records" && kind(m.value) == '{':
			maps++
			partitions := make(map[string]bool)
			for _, p := range members(m.value) {
				tp, err := mm2.ParseTopicPartition(p.name)
				if err != nil || tp.String() != p.name || partitions[p.name] {
					return nil, errors.New("partition's name")
				}
				partitions[p.name] = true
				if d := twinDelivery(p, tp); len(d.Records) > 0 || d.Fault != nil {
					deliveries = append(deliveries, d)
				}
			}
		}
	}
	if sources != 1 || maps != 1 {
		return nil, errors.New("not exactly one source and one map")
	}
	return deliveries, nil
}

func twinDelivery(m member, tp mm2.TopicPartition) mirror.Delivery {
	d := mirror.Delivery{Key: m.name, Partition: tp}
	if kind(m.value) != '[' {
		d.Fault, d.Unread = errors.New("no array"), []int64{-1}
		return d
	}
	last := int64(-1)
	for _, raw := range elements(m.value) {
		r, offset, ok := twinRecord(raw, tp)
		if !ok || offset <= last {
			d.Fault = errors.New("malformed")
		}
		if d.Fault != nil {
			d.Unread = append(d.Unread, offset)
			continue
		}
		last = offset
		d.Offsets, d.Records = append(d.Offsets, offset), append(d.Records, r)
	}
	return d
}

func twinRecord(raw json.RawMessage, tp mm2.TopicPartition) (r *kgo.Record, offset int64, ok bool) {
	if kind(raw) != '{' {
		return nil, -1, false
	}
	ok = true
	fields := make(map[string]json.RawMessage)
	for _, m := range members(raw) {
		if _, twice := fields[m.name]; twice && strings.Contains(" topic partition offset timestamp key value headers keySchemaMetadata valueSchemaMetadata ", " "+m.name+" ") {
			ok = false
			if m.name == "offset" {
				fields["offset"] = nil
			}
			continue
		}
		fields[m.name] = m.value
	}
	offset, offsetOK := integer(fields["offset"])
	partition, partitionOK := integer(fields["partition"])
	if offset < 0 || !offsetOK {
		offset, ok = -1, false
	}
	if kind(fields["topic"]) != '"' || text(fields["topic"]) != tp.Topic || !partitionOK || partition != int64(tp.Partition) {
		offset, ok = -1, false
	}
	for _, schema := range []string{"keySchemaMetadata", "valueSchemaMetadata"} {
		if raw, told := fields[schema]; told && kind(raw) != 'n' {
			ok = false
		}
	}
	ms, msOK := integer(regexp.MustCompile(`^("?-?[0-9]+)\.0+("?)$`).ReplaceAll(fields["timestamp"], []byte("$1$2")))
	r = &kgo.Record{Timestamp: time.UnixMilli(ms)}
	var keyOK, valueOK, headersOK bool
	r.Key, keyOK = blob(fields["key"])
	r.Value, valueOK = blob(fields["value"])
	r.Headers, headersOK = twinHeaders(fields["headers"])
	return r, offset, ok && msOK && !r.Timestamp.IsZero() && keyOK && valueOK && headersOK
}

func twinHeaders(raw json.RawMessage) (headers []kgo.RecordHeader, ok bool) {
	if len(raw) == 0 || kind(raw) == 'n' {
		return nil, true
	}
	if kind(raw) != '[' {
		return nil, false
	}
	for _, e := range elements(raw) {
		if kind(e) != '{' || len(members(e)) != 1 {
			return nil, false
		}
		m := members(e)[0]
		h := kgo.RecordHeader{Key: m.name}
		switch kind(m.value) {
		case 'n':
		case '[':
			h.Value = []byte{}
			for _, b := range elements(m.value) {
				n, ok := integer(b)
				if !ok || n < -128 || n > 255 || kind(b) == '"' {
					return nil, false
				}
				h.Value = append(h.Value, byte(n))
			}
		default:
			return nil, false
		}
		headers = append(headers, h)
	}
	return headers, true
}

// blob reads base64 text, absent and null as nil.
func blob(raw json.RawMessage) (b []byte, ok bool) {
	switch kind(raw) {
	case 0, 'n':
		return nil, true
	case '"':
		b, err := base64.StdEncoding.DecodeString(text(raw))
		return b, err == nil
	}
	return nil, false
}

// integer reads a whole number, or a string that holds one.
func integer(raw json.RawMessage) (n int64, ok bool) {
	s := string(raw)
	if kind(raw) == '"' {
		s = text(raw)
	}
	if !regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`).MatchString(s) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

type member struct {
	name  string
	value json.RawMessage
}

// members lists an object's members in order, repetitions included. raw is valid JSON.
func members(raw json.RawMessage) (list []member) {
	d := json.NewDecoder(bytes.NewReader(raw))
	_, _ = d.Token() // the bracket
	for d.More() {
		name, _ := d.Token()
		m := member{name: name.(string)}
		_ = d.Decode(&m.value) // valid, as all of raw
		list = append(list, m)
	}
	return list
}

func elements(raw json.RawMessage) (list []json.RawMessage) {
	_ = json.Unmarshal(raw, &list) // raw is a valid array
	return list
}

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // raw is a valid string
	return s
}

// kind is the first byte of a value, 0 if there is none.
func kind(raw json.RawMessage) byte {
	if raw = bytes.TrimLeft(raw, " \t\r\n"); len(raw) == 0 {
		return 0
	}
	return raw[0]
}

// escapeControls escapes the control characters inside strings, which encoding/json refuses and Decode takes as they
// are. It returns the depth of nesting as well.
func escapeControls(payload []byte) (escaped []byte, depth int) {
	inString, level := false, 0
	for i := 0; i < len(payload); i++ {
		c := payload[i]
		switch {
		case inString && c < ' ':
			escaped = fmt.Appendf(escaped, `\u%04x`, c)
			continue
		case inString && c == '\\' && i+1 < len(payload):
			escaped = append(escaped, c)
			i++
			c = payload[i]
		case c == '"':
			inString = !inString
		case !inString && (c == '[' || c == '{'):
			level++
			depth = max(depth, level)
		case !inString && (c == ']' || c == '}'):
			level--
		}
		escaped = append(escaped, c)
	}
	return escaped, depth
}

// mustAgree tells whether Decode and its twin must agree on the payload: encoding/json replaces what is not text, which
// Decode reports, and nests deeper.
func mustAgree(payload []byte) bool {
	_, depth := escapeControls(payload)
	return utf8.Valid(payload) && !bytes.Contains(bytes.ToLower(payload), []byte(`\ud`)) && depth < maxDepth
}

// decodeGuarded is Decode of a copy of the payload that lies between two guards. It fails the test when a guard changes.
func decodeGuarded(tb testing.TB, payload []byte) ([]mirror.Delivery, error) {
	tb.Helper()
	guard := bytes.Repeat([]byte{0xa5}, 64)
	memory := bytes.Join([][]byte{guard, payload, guard}, nil)
	deliveries, err := Decode(memory[len(guard) : len(guard)+len(payload)])
	if !bytes.HasPrefix(memory, guard) || !bytes.HasSuffix(memory, guard) {
		tb.Fatalf("Decode(%q) wrote outside of the payload", payload)
	}
	return deliveries, err
}

// checkAgainstTwin fails the test unless Decode and its twin agree on the payload.
func checkAgainstTwin(tb testing.TB, payload []byte) {
	tb.Helper()
	got, err := decodeGuarded(tb, payload)
	if !mustAgree(payload) {
		return
	}
	want, twinErr := twin(payload)
	if (err == nil) != (twinErr == nil) {
		tb.Fatalf("Decode(%q) = error %v, twin: %v", payload, err, twinErr)
	}
	if got, want := dump(got), dump(want); got != want {
		tb.Fatalf("Decode(%q) =\n%swant\n%s", payload, got, want)
	}
}

// dump writes deliveries in a form that tells nil from empty. Of a fault it shows that there is one.
func dump(deliveries []mirror.Delivery) string {
	var b strings.Builder
	for _, d := range deliveries {
		fmt.Fprintf(&b, "%s = %s %d\n", d.Key, d.Partition.Topic, d.Partition.Partition)
		for i, r := range d.Records {
			fmt.Fprintf(&b, "  %d: %s -> %s @%d", d.Offsets[i], dumpBytes(r.Key), dumpBytes(r.Value), r.Timestamp.UnixMilli())
			for _, h := range r.Headers {
				fmt.Fprintf(&b, " %q=%s", h.Key, dumpBytes(h.Value))
			}
			b.WriteString("\n")
		}
		if d.Fault != nil || d.Unread != nil {
			fmt.Fprintf(&b, "  unread %v\n", d.Unread)
		}
	}
	return b.String()
}

func dumpBytes(b []byte) string {
	if b == nil {
		return "nil"
	}
	return strconv.Quote(string(b))
}
