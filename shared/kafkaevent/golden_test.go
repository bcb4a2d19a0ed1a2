package kafkaevent

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden says what each sample event gives: its deliveries, or its error.
func golden() map[string]struct{ deliveries, err string } {
	const noSource = "; this function takes the event of a Kafka event source mapping: " +
		`eventSource "aws:kafka" or "SelfManagedKafka", and records by partition`
	return map[string]struct{ deliveries, err string }{
		"msk.json": {deliveries: `orders-0 = orders 0
  1812: "customer-7" -> "{\"id\":1,\"total\":1990}" @1767225600123 "content-type"="application/json"
  1815: "customer-8" -> nil @1767225600456
orders-3 = orders 3
  97: nil -> "{\"id\":2}" @1767225600200
`},
		"self-managed.json": {deliveries: `payments-1 = payments 1
  0: "pay-1" -> "12.50" @1767225600000 "trace"="\x01\x02\x03"
`},
		"self-managed-prefixed.json": {deliveries: `payments-1 = payments 1
  1: nil -> "12" @1767225600000
`},
		"null-and-empty.json": {deliveries: `odd-0 = odd 0
  0: nil -> nil @1767225600000
  1: nil -> nil @1767225600000
  2: "" -> "" @1767225600000
  3: "k" -> nil @1767225600000
  4: "" -> "v" @1767225600000
`},
		"headers.json": {deliveries: `odd-0 = odd 0
  0: nil -> "v" @1767225600000 "null"=nil "empty"="" ""="\x01" ""=""
  1: nil -> "v" @1767225600000 "b"="\x01" "a"="\x02" "b"="\x03" "b"="\x01"
  2: nil -> "v" @1767225600000 "signed"="ë\x80\x7f\xff" "unsigned"="ë\x80\x7f\xff"
  3: nil -> "v" @1767225600000 "größe 𝄞 \"x\""="42"
`},
		"header-string.json": {deliveries: `odd-0 = odd 0
  0: nil -> "v" @1767225600000 "a"="\x01"
  unread [1 2]
`},
		"timestamps.json": {deliveries: `odd-0 = odd 0
  0: nil -> "v" @0
  1: nil -> "v" @-1
  2: nil -> "v" @1767225600123
  3: nil -> "v" @1767225600123
  4: nil -> "v" @253402300800000
`},
		"topic-with-dashes.json": {deliveries: `eu-west-1-orders-2-17 = eu-west-1-orders-2 17
  3: nil -> "v" @1767225600000
`},
		"numbers-as-strings.json": {deliveries: `odd-0 = odd 0
  5: nil -> "v" @1767225600000
  9223372036854775807: nil -> "v" @1767225600000
`},
		"escapes.json": {deliveries: `odd-0 = odd 0
  0: "\xff\xff" -> "\xfb\xef" @1767225600000 "a/b\\c\n"="\x01"
`},
		"unknown-fields.json": {deliveries: `odd-0 = odd 0
  0: "k" -> "v" @1767225600000
`},
		"schema-registry.json": {deliveries: `odd-0 = odd 0
  0: nil -> "v" @1767225600000
  unread [1]
`},
		"field-order.json": {deliveries: `odd-0 = odd 0
  7: "k" -> "v" @1767225600000 "a"="\x01"
`},
		"malformed-first.json": {deliveries: `odd-0 = odd 0
  unread [10 11]
odd-1 = odd 1
  20: nil -> "v" @1767225600000
`},
		"malformed-middle.json": {deliveries: `odd-0 = odd 0
  10: nil -> "v" @1767225600000
  unread [11 12 -1 14]
odd-1 = odd 1
  20: nil -> "v" @1767225600000
`},
		"malformed-offsets.json": {deliveries: `odd-0 = odd 0
  unread [-1]
odd-1 = odd 1
  unread [-1]
odd-2 = odd 2
  unread [-1]
odd-3 = odd 3
  7: nil -> nil @1767225600000
  unread [7 8]
`},
		"wrong-partition.json": {deliveries: `odd-0 = odd 0
  1: nil -> nil @1767225600000
  unread [-1 -1 4]
`},
		"no-records.json":      {},
		"partition-twice.json": {err: "decode event: byte 75: a partition appears twice"},
		"not-a-partition.json": {err: "decode event: byte 47: the name of a partition is not <topic>-<partition>"},
		"schedule.json": {err: `decode event: no eventSource among the fields ` +
			`{"version", "id", "detail-type", "source", "account", "time", "region", "resources", ...}` + noSource},
		"action.json": {err: `decode event: no eventSource among the fields {"action"}` + noSource},
		"queue.json":  {err: `decode event: no eventSource among the fields {"Records"}` + noSource},
	}
}

func TestDecodeSampleEvents(t *testing.T) {
	t.Parallel()
	files := eventFiles(t)
	tests := golden()
	if len(tests) != len(files) {
		t.Errorf("golden tests know %d of %d sample events", len(tests), len(files))
	}
	for path, payload := range files {
		want, known := tests[filepath.Base(path)]
		if !known {
			t.Errorf("%s is in no golden test", path)
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			checkAgainstTwin(t, payload)
			deliveries, err := Decode(payload)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(want.err, text); diff != "" {
				t.Errorf("Decode's error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.deliveries, dump(deliveries)); diff != "" {
				t.Errorf("Decode's deliveries (-want +got):\n%s", diff)
			}
		})
	}
}
