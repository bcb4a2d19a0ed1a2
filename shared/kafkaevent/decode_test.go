package kafkaevent

import (
	"fmt"
	"strings"
	"testing"
)

// eventOf is an event of partition t-0 with the given records.
func eventOf(records ...string) []byte {
	return fmt.Appendf(nil, `{"eventSource":"aws:kafka","records":{"t-0":[%s]}}`, strings.Join(records, ","))
}

// recordOf is a record of partition t-0 at offset 5 with further fields.
func recordOf(fields string) string {
	return `{"topic":"t","partition":0,"offset":5,"timestamp":1` + fields + `}`
}

func goodRecord(offset int64) string {
	return fmt.Sprintf(`{"topic":"t","partition":0,"offset":%d,"timestamp":1,"value":"QQ=="}`, offset)
}

func TestDecodeFields(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, fields string
		want         string // the record, without its offset
	}{
		{"absent", ``, `nil -> nil @1`},
		{"null", `,"key":null,"value":null`, `nil -> nil @1`},
		{"empty", `,"key":"","value":""`, `"" -> "" @1`},
		{"filled", `,"key":"AAE=","value":"/+8="`, `"\x00\x01" -> "\xff\xef" @1`},
		{"loose last bits", `,"value":"QR=="`, `nil -> "A" @1`}, // Java's decoder ignores them too
		{"escaped base64", `,"key":"\/\u002b8=","value":"\u0051Q\u003D\u003d"`, `"\xff\xef" -> "A" @1`},
		{"escaped field name", `,"\u0076alue":"QQ=="`, `nil -> "A" @1`},
		{"field name in another case", `,"Value":"QQ==","KEY":7`, `nil -> nil @1`},
		{"headers null", `,"headers":null`, `nil -> nil @1`},
		{"headers empty", `,"headers":[]`, `nil -> nil @1`},
		{"header null", `,"headers":[{"a":null}]`, `nil -> nil @1 "a"=nil`},
		{"header empty", `,"headers":[{"a":[]},{"b":[ ]}]`, `nil -> nil @1 "a"="" "b"=""`},
		{"header signed", `,"headers":[{"a":[-61,-85,-128,127,-0]}]`, `nil -> nil @1 "a"="ë\x80\x7f\x00"`},
		{"header unsigned", `,"headers":[{"a":[195, 171 ,128,255]}]`, `nil -> nil @1 "a"="ë\x80\xff"`},
		{
			"header names repeated and empty", `,"headers":[{"b":[1]},{"":[2]},{"b":[3]},{"a":[4]},{"":[]}]`,
			`nil -> nil @1 "b"="\x01" ""="\x02" "b"="\x03" "a"="\x04" ""=""`,
		},
		{"header name escaped", `,"headers":[{"\u0061\/\uD834\uDD1E\n\b\f\r\t\"\\":[1]}]`, `nil -> nil @1 "a/𝄞\n\b\f\r\t\"\\"="\x01"`},
		{"no schema metadata", `,"keySchemaMetadata":null,"valueSchemaMetadata":null,"value":"QQ=="`, `nil -> "A" @1`},
		{"unknown fields", `,"x":[[{"offset":9}],1e-7,true,false,null],"value":"QQ==","y":""`, `nil -> "A" @1`},
		{"unknown field twice", `,"x":1,"x":2`, `nil -> nil @1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			deliveries, err := Decode(eventOf(recordOf(tt.fields)))
			want := "t-0 = t 0\n  5: " + tt.want + "\n"
			if got := dump(deliveries); err != nil || got != want {
				t.Errorf("Decode = %q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestDecodeNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct{ partition, offset, timestamp, want string }{
		{`0`, `0`, `0`, `0: nil -> nil @0`},
		{`"0"`, `"5"`, `"1545084650987"`, `5: nil -> nil @1545084650987`},
		{`0`, `9223372036854775807`, `-1`, `9223372036854775807: nil -> nil @-1`},
		{`0`, `5`, `1545084650987.0`, `5: nil -> nil @1545084650987`},
		{`0`, `5`, `"1.000"`, `5: nil -> nil @1`},
		{`0`, `5`, `-9223372036854775808`, `5: nil -> nil @-9223372036854775808`},
		{`-0`, `-0`, `1`, `0: nil -> nil @1`},
	}
	for _, tt := range tests {
		payload := eventOf(fmt.Sprintf(`{"topic":"t","partition":%s,"offset":%s,"timestamp":%s}`, tt.partition, tt.offset, tt.timestamp))
		deliveries, err := Decode(payload)
		want := "t-0 = t 0\n  " + tt.want + "\n"
		if got := dump(deliveries); err != nil || got != want {
			t.Errorf("Decode(%+v) = %q, %v, want %q", tt, got, err, want)
		}
	}
}

// malformedRecords are records that end partition t-0 behind offset 4.
var malformedRecords = []struct {
	name, json string
	offset     int64
	reason     string
}{
	{"null", `null`, -1, "not an object"},
	{"array", `[{"offset":5}]`, -1, "not an object"},
	{"empty object", `{}`, -1, "topic and partition are not those"},
	{"no topic", `{"partition":0,"offset":5,"timestamp":1}`, -1, "topic and partition are not those"},
	{"no partition", `{"topic":"t","offset":5,"timestamp":1}`, -1, "topic and partition are not those"},
	{"no offset", `{"topic":"t","partition":0,"timestamp":1}`, -1, "offset is missing"},
	{"no timestamp", `{"topic":"t","partition":0,"offset":5}`, 5, "timestamp is missing"},
	{"null timestamp", `{"topic":"t","partition":0,"offset":5,"timestamp":null}`, 5, "timestamp is not"},
	{"another topic", `{"topic":"u","partition":0,"offset":5,"timestamp":1}`, -1, "topic and partition are not those"},
	{"another partition", `{"topic":"t","partition":1,"offset":5,"timestamp":1}`, -1, "topic and partition are not those"},
	{"partition past 32 bits", `{"topic":"t","partition":4294967296,"offset":5,"timestamp":1}`, -1, "topic and partition are not those"},
	{"topic with half a surrogate pair", `{"topic":"t\ud800","partition":0,"offset":5,"timestamp":1}`, -1, "topic and partition are not those"},
	{"offset null", `{"topic":"t","partition":0,"offset":null,"timestamp":1}`, -1, "offset is not"},
	{"offset text", `{"topic":"t","partition":0,"offset":"five","timestamp":1}`, -1, "offset is not"},
	{"offset with leading zero", `{"topic":"t","partition":0,"offset":"05","timestamp":1}`, -1, "offset is not"},
	{"offset with fraction", `{"topic":"t","partition":0,"offset":5.0,"timestamp":1}`, -1, "offset is not"},
	{"offset with exponent", `{"topic":"t","partition":0,"offset":5e0,"timestamp":1}`, -1, "offset is not"},
	{"offset negative", `{"topic":"t","partition":0,"offset":-5,"timestamp":1}`, -1, "offset is not"},
	{"offset past 64 bits", `{"topic":"t","partition":0,"offset":9223372036854775808,"timestamp":1}`, -1, "offset is not"},
	{"offset past 20 digits", `{"topic":"t","partition":0,"offset":18446744073709551621,"timestamp":1}`, -1, "offset is not"},
	{"offset twice", `{"topic":"t","partition":0,"offset":5,"timestamp":1,"offset":5}`, -1, "a field appears twice"},
	{"offset repeated", `{"topic":"t","partition":0,"offset":4,"timestamp":1}`, 4, "offset does not rise"},
	{"offset falls", `{"topic":"t","partition":0,"offset":3,"timestamp":1}`, 3, "offset does not rise"},
	{"timestamp with fraction", `{"topic":"t","partition":0,"offset":5,"timestamp":1.5}`, 5, "timestamp is not"},
	{"timestamp with exponent", `{"topic":"t","partition":0,"offset":5,"timestamp":1e3}`, 5, "timestamp is not"},
	{"timestamp past 64 bits", `{"topic":"t","partition":0,"offset":5,"timestamp":9223372036854775808}`, 5, "timestamp is not"},
	{"timestamp past -64 bits", `{"topic":"t","partition":0,"offset":5,"timestamp":-9223372036854775809}`, 5, "timestamp is not"},
	{"timestamp of kgo's zero", `{"topic":"t","partition":0,"offset":5,"timestamp":-62135596800000}`, 5, "timestamp cannot be produced"},
	{"value twice", recordOf(`,"value":"QQ==","value":"QQ=="`), 5, "a field appears twice"},
	{"value not base64", recordOf(`,"value":"QU*D"`), 5, "value is neither"},
	{"value cut", recordOf(`,"value":"QUJ"`), 5, "value is neither"},
	{"value in the URL alphabet", recordOf(`,"value":"_-8="`), 5, "value is neither"},
	{"value a number", recordOf(`,"value":65`), 5, "value is neither"},
	{"long value not base64", recordOf(`,"value":"` + strings.Repeat("QUJD", 40) + `*` + strings.Repeat("QUJD", 40) + `"`), 5, "value is neither"},
	{"key an object", recordOf(`,"key":{"id":7}`), 5, "key is neither"},
	{"headers an object", recordOf(`,"headers":{"a":[1]}`), 5, "headers are not an array"},
	{"header an array", recordOf(`,"headers":[["a",[1]]]`), 5, "a header is not an object"},
	{"header without a name", recordOf(`,"headers":[{}]`), 5, "a header has not exactly one name"},
	{"header with two names", recordOf(`,"headers":[{"a":[1],"b":[2]}]`), 5, "a header has not exactly one name"},
	{"header name with half a surrogate pair", recordOf(`,"headers":[{"\udc00":[1]}]`), 5, "a header name is not text"},
	{"header name not UTF-8", recordOf(`,"headers":[{"` + "\xff" + `":[1]}]`), 5, "a header name is not text"},
	{"header value a string", recordOf(`,"headers":[{"a":"QQ=="}]`), 5, "a header value is neither"},
	{"header byte too large", recordOf(`,"headers":[{"a":[1,256,2]}]`), 5, "a header byte is not"},
	{"header byte too small", recordOf(`,"headers":[{"a":[-129]}]`), 5, "a header byte is not"},
	{"header byte with fraction", recordOf(`,"headers":[{"a":[1.0,2]}]`), 5, "a header byte is not"},
	{"header byte a string", recordOf(`,"headers":[{"a":["1",{"b":[]}]}]`), 5, "a header byte is not"},
}

func TestDecodeMalformedRecord(t *testing.T) {
	t.Parallel()
	for _, tt := range malformedRecords {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const other = `"t-1":[{"topic":"t","partition":1,"offset":1,"timestamp":1}]`
			payload := fmt.Appendf(nil, `{"eventSource":"aws:kafka","records":{"t-0":[%s,%s,%s,%s],%s}}`,
				goodRecord(4), tt.json, goodRecord(9), `{"topic":"t","partition":0,"offset":null}`, other)
			deliveries, err := Decode(payload)
			want := fmt.Sprintf("t-0 = t 0\n  4: nil -> \"A\" @1\n  unread [%d 9 -1]\nt-1 = t 1\n  1: nil -> nil @1\n", tt.offset)
			if got := dump(deliveries); err != nil || got != want {
				t.Fatalf("Decode = %s, %v, want %s", got, err, want)
			}
			fault := "record 1 of t-0"
			if tt.offset >= 0 {
				fault += fmt.Sprintf(", offset %d", tt.offset)
			}
			if got := deliveries[0].Fault.Error(); !strings.HasPrefix(got, fault+": "+tt.reason) {
				t.Errorf("Fault = %q, want %q", got, fault+": "+tt.reason)
			}
		})
	}
}

func TestDecodeMalformedFirstRecord(t *testing.T) {
	t.Parallel()
	payload := eventOf(`{"topic":"t","partition":0,"offset":3,"timestamp":1,"value":"*"}`, goodRecord(4))
	deliveries, err := Decode(payload)
	if got, want := dump(deliveries), "t-0 = t 0\n  unread [3 4]\n"; err != nil || got != want {
		t.Errorf("Decode = %q, %v, want %q", got, err, want)
	}
}

func TestDecodePartitionWithoutArray(t *testing.T) {
	t.Parallel()
	for _, list := range []string{`null`, `{}`, `"x"`, `7`} {
		payload := fmt.Appendf(nil, `{"eventSource":"aws:kafka","records":{"t-0":%s,"t-1":[]}}`, list)
		deliveries, err := Decode(payload)
		if got, want := dump(deliveries), "t-0 = t 0\n  unread [-1]\n"; err != nil || got != want {
			t.Errorf("Decode(records %s) = %q, %v, want %q", list, got, err, want)
		}
	}
}

func TestDecodeForeignEvent(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, payload, want string }{
		{
			"schedule", `{"version":"0","detail-type":"Scheduled Event","source":"aws.events"}`,
			`no eventSource among the fields {"version", "detail-type", "source"}`,
		},
		{"action", `{"action":"catch-up","partition":"t-0"}`, `no eventSource among the fields {"action", "partition"}`},
		{"queue", `{"Records":[{"eventSource":"aws:sqs"}]}`, `no eventSource among the fields {"Records"}`},
		{"many fields", `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}`, `"h", ...}`},
		{"empty", `{}`, `no eventSource among the fields {}`},
		{"another source", `{"eventSource":"aws:kinesis","records":{}}`, `eventSource "aws:kinesis"`},
		{"another case", `{"eventSource":"AWS:kafka","records":{}}`, `eventSource "AWS:kafka"`},
		{"source null", `{"eventSource":null,"records":{}}`, `no eventSource among the fields {"eventSource"}`},
		{"source twice", `{"eventSource":"aws:kafka","eventSource":"aws:kafka","records":{}}`, `appears twice`},
		{"no records", `{"eventSource":"aws:kafka","bootstrapServers":""}`, `no records by partition among the fields {"bootstrapServers"}`},
		{"records an array", `{"eventSource":"aws:kafka","records":[]}`, `no records by partition among the fields {"records"}`},
		{"records null", `{"eventSource":"aws:kafka","records":null}`, `no records by partition`},
		{"records twice", `{"eventSource":"aws:kafka","records":{},"records":{}}`, `appears twice`},
		{"array", `[]`, `not a JSON object`},
		{"nothing", ``, `not a JSON object`},
		{"null", `null`, `not a JSON object`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			deliveries, err := Decode([]byte(tt.payload))
			if err == nil || deliveries != nil {
				t.Fatalf("Decode = %s, %v, want an error", dump(deliveries), err)
			}
			for _, want := range []string{"decode event: ", tt.want, `this function takes the event of a Kafka event source mapping`} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Decode = %v, want %q in it", err, want)
				}
			}
		})
	}
}

func TestDecodeBrokenEvent(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, payload, want string }{
		{"text behind", string(eventOf()) + ` x`, "more text behind the event"},
		{"two events", string(eventOf()) + string(eventOf()), "more text behind the event"},
		{"partition twice", `{"eventSource":"aws:kafka","records":{"t-0":[],"t-0":[]}}`, "a partition appears twice"},
		{"partition twice, once escaped", `{"eventSource":"aws:kafka","records":{"t-0":[],"\u0074-0":[]}}`, "a partition appears twice"},
		{"partition without a number", `{"eventSource":"aws:kafka","records":{"t":[]}}`, "the name of a partition is not"},
		{"partition without a topic", `{"eventSource":"aws:kafka","records":{"-0":[]}}`, "the name of a partition is not"},
		{"partition with leading zero", `{"eventSource":"aws:kafka","records":{"t-00":[]}}`, "the name of a partition is not"},
		{"partition past 32 bits", `{"eventSource":"aws:kafka","records":{"t-2147483648":[]}}`, "the name of a partition is not"},
		{"partition not UTF-8", `{"eventSource":"aws:kafka","records":{"` + "\xff" + `-0":[]}}`, "the name of a partition is not"},
		{"trailing comma", string(eventOf(goodRecord(1), ``)), "want a value"},
		{"missing comma", string(eventOf(goodRecord(1) + goodRecord(2))), "want a comma"},
		{"missing colon", `{"eventSource" "aws:kafka"}`, "want a colon"},
		{"unknown literal", string(eventOf(recordOf(`,"value":nil`))), "want a value"},
		{"leading zero", string(eventOf(recordOf(`,"x":01`))), "want a comma"},
		{"number without digits", string(eventOf(recordOf(`,"x":-`))), "want a value"},
		{"header byte with leading zero", string(eventOf(recordOf(`,"headers":[{"a":[1,02,3]}]`))), "want a comma"},
		{"header bytes end in a comma", string(eventOf(recordOf(`,"headers":[{"a":[1,]}]`))), "want a value"},
		{"unknown escape", string(eventOf(recordOf(`,"value":"\x41"`))), "unknown escape"},
		{"short escape", string(eventOf(recordOf(`,"x":"\u12"`))), "four hexadecimal digits"},
		{"name not a string", `{"eventSource":"aws:kafka",records:{}}`, "want a string"},
		{"deep nesting", `{"x":` + strings.Repeat(`[`, 100_000), "nested too deeply"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			deliveries, err := decodeGuarded(t, []byte(tt.payload))
			if err == nil || deliveries != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Decode = %s, %v, want error %q", dump(deliveries), err, tt.want)
			}
		})
	}
}

func TestDecodeTruncatedEvent(t *testing.T) {
	t.Parallel()
	for path, payload := range eventFiles(t) {
		payload = []byte(strings.TrimSpace(string(payload)))
		for n := range payload {
			if deliveries, err := decodeGuarded(t, payload[:n]); err == nil || deliveries != nil {
				t.Fatalf("Decode(the first %d bytes of %s) = %s, %v, want an error", n, path, dump(deliveries), err)
			}
		}
	}
}

// TestDecodeErrorsHideBytes looks for a secret in every error that a record or its damage can cause.
func TestDecodeErrorsHideBytes(t *testing.T) {
	t.Parallel()
	const secret = "U0VDUkVU" // SECRET
	hidden := func(err error) {
		t.Helper()
		if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "SECRET")) {
			t.Errorf("error %q shows a record's bytes", err)
		}
	}
	for _, broken := range []string{``, `"key":"%s*",`, `"value":"%s*",`, `"headers":[{"%s":[1,"SECRET"]}],`, `"value":"%s",`, `"offset":"%s",`, `"topic":"%s",`} {
		broken = strings.ReplaceAll(broken, "%s", secret)
		payload := eventOf(`{` + broken + `"topic":"t","partition":0,"offset":5,"timestamp":1,"key":"` + secret + `","headers":[{"a":[83,69]}]}`)
		for n := range len(payload) + 1 {
			deliveries, err := decodeGuarded(t, payload[:n])
			hidden(err)
			for _, d := range deliveries {
				hidden(d.Fault)
			}
		}
	}
}
