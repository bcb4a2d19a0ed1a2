package mapping

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
)

func entries(t *testing.T, records ...*kgo.Record) []entry {
	t.Helper()
	out := make([]entry, len(records))
	for i, r := range records {
		e, err := newEntry(r)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = e
	}
	return out
}

func TestPayloadIsWrittenAsTheServiceWritesIt(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1545084650987)
	batch := entries(
		t,
		&kgo.Record{Topic: "a-b", Partition: 10, Offset: 7, Timestamp: at, Key: []byte("abcDEFghi"), Value: []byte{0xff, 0}},
		&kgo.Record{Topic: "a-b", Partition: 2, Offset: 1 << 53, Timestamp: time.UnixMilli(-1), Key: []byte{}, Value: []byte{}},
		&kgo.Record{Topic: "a-b", Partition: 10, Offset: 9, Timestamp: time.UnixMilli(0), Headers: []kgo.RecordHeader{
			{Key: "<é>", Value: []byte{0, 127, 128, 255}}, {Key: "", Value: []byte{}}, {Key: "<é>", Value: nil},
		}},
	)
	got := string(newEnvelope([]string{"h1:9092", "h2:9092"}).payload(batch))
	want := `{"eventSource":"aws:kafka","eventSourceArn":"` + sourceARN + `","bootstrapServers":"h1:9092,h2:9092","records":{` +
		`"a-b-10":[` +
		`{"topic":"a-b","partition":10,"offset":7,"timestamp":1545084650987,"timestampType":"CREATE_TIME",` +
		`"key":"YWJjREVGZ2hp","value":"/wA=","headers":[]},` +
		`{"topic":"a-b","partition":10,"offset":9,"timestamp":0,"timestampType":"CREATE_TIME",` +
		`"headers":[{"<é>":[0,127,-128,-1]},{"":[]},{"<é>":null}]}],` +
		`"a-b-2":[` +
		`{"topic":"a-b","partition":2,"offset":9007199254740992,"timestamp":-1,"timestampType":"CREATE_TIME",` +
		`"key":"","value":"","headers":[]}]}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("payload (-want +got):\n%s", diff)
	}
	if !json.Valid([]byte(got)) {
		t.Error("payload is not JSON")
	}
}

func TestGaugeNeverLetsAPayloadExceedItsLimit(t *testing.T) {
	t.Parallel()
	v := newEnvelope([]string{"h:1"})
	var batch []entry
	for i := range 40 {
		value := []byte(strings.Repeat("x", i*3))
		batch = append(batch, entries(t, &kgo.Record{Topic: "t", Partition: int32(i % 3), Offset: int64(i), Value: value})...)
	}
	for limit := len(v); limit < 6000; limit += 7 {
		g := v.gauge(limit)
		n := 0
		for n < len(batch) && g.take(batch[n]) {
			n++
		}
		if got := len(v.payload(batch[:n])); n > 0 && got > limit {
			t.Fatalf("%d entries under limit %d make %d bytes", n, limit, got)
		}
		// The estimate may be off by the commas of the first entry of each partition and of the first partition.
		if n < len(batch) {
			if got := len(v.payload(batch[:n+1])); got < limit-8 {
				t.Fatalf("entry %d was refused under limit %d, though it makes %d bytes", n, limit, got)
			}
		}
	}
}

func TestFailed(t *testing.T) {
	t.Parallel()
	batch := entries(t, &kgo.Record{Topic: "t-1", Partition: 0, Offset: 5}, &kgo.Record{Topic: "t-1", Partition: 0, Offset: 6},
		&kgo.Record{Topic: "t-1", Partition: 1, Offset: 5})
	all := []item{{"t-1-0", 5}, {"t-1-0", 6}, {"t-1-1", 5}}
	tests := []struct {
		name, answer string
		want         []item
		wantErr      string
	}{
		{"null", `null`, nil, ""},
		{"empty object", `{}`, nil, ""},
		{"no failures", `{"batchItemFailures":[]}`, nil, ""},
		{
			"some, in any order",
			`{"batchItemFailures":[{"itemIdentifier":{"partition":"t-1-1","offset":5}},{"itemIdentifier":{"partition":"t-1-0","offset":6}}]}`,
			[]item{{"t-1-0", 6}, {"t-1-1", 5}},
			"",
		},
		{
			"unknown offset", `{"batchItemFailures":[{"itemIdentifier":{"partition":"t-1-1","offset":6}}]}`,
			all, "read answer: t-1-1 offset 6 is not in the batch",
		},
		{
			"unknown partition", `{"batchItemFailures":[{"itemIdentifier":{"partition":"t-1","offset":5}}]}`,
			all, "read answer: t-1 offset 5 is not in the batch",
		},
		{"not JSON", `ok`, all, "decode answer: invalid character 'o' looking for beginning of value"},
		{"an identifier of another source", `{"batchItemFailures":[{"itemIdentifier":"5"}]}`, all, "decode answer: json: cannot unmarshal"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			again, err := failed(batch, []byte(tt.answer))
			var got []item
			for _, e := range again {
				got = append(got, item{e.partition, e.record.Offset})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("failed(%s) (-want +got):\n%s", tt.answer, diff)
			}
			if message := ""; err != nil || tt.wantErr != "" {
				if err != nil {
					message = err.Error()
				}
				if tt.wantErr == "" || !strings.HasPrefix(message, tt.wantErr) {
					t.Errorf("failed(%s) = error %q, want %q", tt.answer, message, tt.wantErr)
				}
			}
		})
	}
}
