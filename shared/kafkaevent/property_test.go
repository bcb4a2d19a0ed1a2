package kafkaevent

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

func TestDecodeWrittenEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, checkWritten)
}

// checkWritten writes an event in a random notation. Decode and its twin must give what was meant.
func checkWritten(t *rapid.T) {
	w := writer{t: t}
	payload, meant := w.event()
	want := dump(meant)
	got, err := decodeGuarded(w, payload)
	if err != nil || dump(got) != want {
		t.Fatalf("Decode(%q) = error %v\n%swant\n%s", payload, err, dump(got), want)
	}
	if got, err := twin(payload); err != nil || dump(got) != want {
		t.Fatalf("twin(%q) = error %v\n%swant\n%s", payload, err, dump(got), want)
	}
}

// TestDecodeMutatedEvents damages written events, which keeps them closer to valid than random bytes are.
func TestDecodeMutatedEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := writer{t: t}
		payload, _ := w.event()
		for range rapid.IntRange(1, 3).Draw(t, "damages") {
			i := rapid.IntRange(0, len(payload)).Draw(t, "at")
			j := min(len(payload), i+rapid.IntRange(0, 4).Draw(t, "length"))
			patch := rapid.SampledFrom([]string{"", `"`, "{", "}", "[", "]", ",", ":", "0", "-", ".0", "null", `\`, `\u00e9`, "\n", "e5", "9999999999999999999"})
			payload = slices.Replace(payload, i, j, []byte(patch.Draw(t, "patch"))...)
		}
		checkAgainstTwin(w, payload)
	})
}

// writer writes events in all notations that JSON and the event's form allow.
type writer struct {
	testing.TB // never called: the helpers fail through t
	t          *rapid.T
}

func (writer) Helper() {}

func (w writer) Fatalf(format string, args ...any) { w.t.Fatalf(format, args...) }

func (w writer) yes(label string) bool { return rapid.Bool().Draw(w.t, label) }

func (w writer) pick(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(w.t, label)
}

// event returns a payload and what it means.
func (w writer) event() (payload []byte, meant []mirror.Delivery) {
	var entries []string
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"t-0", "t-1", "a-b-1-7", "orders.eu-2147483647", "x_y-0"}), 0, 4, rapid.ID).Draw(w.t, "keys") {
		tp, err := mm2.ParseTopicPartition(key)
		if err != nil {
			w.t.Fatal(err)
		}
		list, d := w.delivery(tp)
		entries = append(entries, w.string(key)+w.space()+":"+list)
		if d.Records != nil || d.Fault != nil {
			meant = append(meant, d)
		}
	}
	fields := []string{
		w.member("eventSource", w.string(w.pick("source", "aws:kafka", "SelfManagedKafka", "aws:SelfManagedKafka"))),
		w.member("records", w.list("{", entries, "}")),
		w.member("bootstrapServers", w.string("b-1:9092,b-2:9092")),
		w.member("future", w.pick("future", `null`, `true`, `[false,{"records":[]}]`, `-0.5e+3`, `{"a":{"a":1}}`, `"\ud83d\ude00"`)),
	}
	return []byte(w.space() + w.list("{", w.shuffle(fields), "}") + w.space()), meant
}

// delivery returns one partition's list. At most one record of it is malformed.
func (w writer) delivery(tp mm2.TopicPartition) (list string, d mirror.Delivery) {
	d = mirror.Delivery{Key: tp.String(), Partition: tp}
	count := rapid.IntRange(0, 5).Draw(w.t, "records")
	malformed := rapid.IntRange(0, 10).Draw(w.t, "malformed")
	offset := rapid.Int64Range(0, 1<<40).Draw(w.t, "first")
	var records []string
	for i := range count {
		r := w.record()
		fields := w.fields(tp, offset, r)
		if i == malformed {
			breakers := malformedFields()
			breaker := breakers[rapid.IntRange(0, len(breakers)-1).Draw(w.t, "breaker")]
			fields = breaker.apply(fields)
			d.Fault = fmt.Errorf("%s", breaker.field)
			d.Unread = append(d.Unread, breaker.offset(offset))
		} else if d.Fault != nil {
			d.Unread = append(d.Unread, offset)
		} else {
			d.Records, d.Offsets = append(d.Records, r), append(d.Offsets, offset)
		}
		records = append(records, w.list("{", w.shuffle(fields), "}"))
		offset += rapid.Int64Range(1, 1000).Draw(w.t, "step")
	}
	return w.list("[", records, "]"), d
}

// breaker replaces one field so that the record is malformed.
type breaker struct {
	field, json string
	hidesOffset bool
}

func malformedFields() []breaker {
	return []breaker{
		{"value", `"QUJ"`, false},
		{"value", `"QU*D"`, false},
		{"value", `7`, false},
		{"key", `"=QQ="`, false},
		{"key", `{"a":"b"}`, false},
		{"timestamp", `null`, false},
		{"timestamp", `1.5`, false},
		{"timestamp", `-62135596800000`, false},
		{"headers", `{"a":[1]}`, false},
		{"headers", `[{"a":[1,256]}]`, false},
		{"headers", `[{"a":"QUJD"}]`, false},
		{"headers", `[{"a":[1],"b":[2]}]`, false},
		{"headers", `[{}]`, false},
		{"headers", `[null]`, false},
		{"offset", `1.0`, true},
		{"offset", `"x"`, true},
		{"offset", `-1`, true},
		{"offset", `9223372036854775808`, true},
		{"topic", `"another"`, true},
		{"topic", `null`, true},
		{"partition", `99`, true},
	}
}

func (b breaker) apply(fields []string) []string {
	kept := slices.DeleteFunc(fields, func(f string) bool { return strings.HasPrefix(f, `"`+b.field+`"`) })
	return append(kept, fmt.Sprintf(`"%s":%s`, b.field, b.json))
}

func (b breaker) offset(offset int64) int64 {
	if b.hidesOffset {
		return -1
	}
	return offset
}

func (w writer) record() *kgo.Record {
	ms := rapid.OneOf(rapid.SampledFrom([]int64{0, -1, 1_545_084_650_987, math.MaxInt64, math.MinInt64}), rapid.Int64()).Draw(w.t, "timestamp")
	r := &kgo.Record{Timestamp: time.UnixMilli(ms), Key: w.bytes(), Value: w.bytes()}
	for range rapid.IntRange(0, 3).Draw(w.t, "headers") {
		name := w.pick("header", "", "a", "a", "traceparent", "ключ", "say \"hi\"\\", "new\nline", "𝄞", "\u0000")
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: w.bytes()})
	}
	return r
}

// bytes are nil, empty, short, or long enough for the base64 decoder's wide steps.
func (w writer) bytes() []byte {
	size := rapid.SampledFrom([]int{-1, 0, 1, 2, 3, 10, 100, 200}).Draw(w.t, "size")
	if size < 0 {
		return nil
	}
	return rapid.SliceOfN(rapid.Byte(), size, size).Draw(w.t, "bytes")
}

// fields writes a record's fields. A breaker finds them by their plain names.
func (w writer) fields(tp mm2.TopicPartition, offset int64, r *kgo.Record) []string {
	ms := strconv.FormatInt(r.Timestamp.UnixMilli(), 10)
	fields := []string{
		`"topic":` + w.string(tp.Topic),
		`"partition":` + w.number(strconv.Itoa(int(tp.Partition))),
		`"offset":` + w.number(strconv.FormatInt(offset, 10)),
		`"timestamp":` + w.number(w.pick("fraction", ms, ms+".0", ms+".000")),
		w.member("timestampType", `"CREATE_TIME"`),
		w.member("valueSchemaMetadata", "null"),
	}
	fields = append(fields, w.optional("key", r.Key)...)
	fields = append(fields, w.optional("value", r.Value)...)
	if r.Headers != nil {
		return append(fields, `"headers":`+w.headers(r.Headers))
	}
	if none := w.pick("no headers", "", `"headers":null`, `"headers":[ ]`); none != "" {
		fields = append(fields, none)
	}
	return fields
}

// optional writes a key or value. Null is null or no field at all.
func (w writer) optional(name string, b []byte) []string {
	switch {
	case b != nil:
		return []string{fmt.Sprintf(`"%s":%s`, name, w.string(base64.StdEncoding.EncodeToString(b)))}
	case w.yes("absent"):
		return nil
	}
	return []string{fmt.Sprintf(`"%s": null`, name)}
}

func (w writer) headers(headers []kgo.RecordHeader) string {
	var list []string
	for _, h := range headers {
		value := "null"
		if h.Value != nil {
			var numbers []string
			for _, b := range h.Value {
				n := int(b)
				if w.yes("signed") {
					n = int(int8(b))
				}
				numbers = append(numbers, strconv.Itoa(n))
			}
			value = w.list("[", numbers, "]")
		}
		list = append(list, w.list("{", []string{w.member(h.Key, value)}, "}"))
	}
	return w.list("[", list, "]")
}

func (w writer) member(name, value string) string {
	return w.string(name) + w.space() + ":" + w.space() + value
}

func (w writer) list(open string, items []string, end string) string {
	return open + w.space() + strings.Join(items, w.space()+","+w.space()) + w.space() + end
}

func (w writer) number(n string) string { return w.pick("number", n, n, `"`+n+`"`) }

func (w writer) space() string { return w.pick("space", "", "", "", " ", "\n\t", "\r\n") }

func (w writer) shuffle(items []string) []string { return rapid.Permutation(items).Draw(w.t, "order") }

// string writes s with the escapes that it needs, or with more.
func (w writer) string(s string) string {
	style := w.pick("string", "plain", "plain", "slashes", "all")
	var b strings.Builder
	for _, r := range s {
		switch {
		case style == "all" || r < ' ':
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, w.pick("hex", `\u%04x`, `\u%04X`), unit)
			}
		case r == '"' || r == '\\' || r == '/' && style == "slashes":
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}
