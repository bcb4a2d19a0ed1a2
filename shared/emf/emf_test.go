package emf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/shared/emf"
)

func TestGoldenLines(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1764561600123)
	tests := []struct {
		name   string
		gather func(*emf.Writer)
		want   string
	}{
		{"nothing", func(*emf.Writer) {}, ""},
		{"a property alone", func(w *emf.Writer) { w.Property("worst", "orders-0") }, ""},
		{
			"a gauge below zero",
			func(w *emf.Writer) {
				w.Max("Balance", emf.Bytes, -5)
				w.Max("Balance", emf.Bytes, -6)
			},
			`{"Balance":-5,"Flow":"us->eu","_aws":{"Timestamp":1764561600123,"CloudWatchMetrics":[{"Namespace":"Tidemark",` +
				`"Dimensions":[["Flow"]],"Metrics":[{"Name":"Balance","Unit":"Bytes"}]}]}}` + "\n",
		},
		{
			"counts and a gauge",
			func(w *emf.Writer) {
				w.Add("RecordsMirrored", 3)
				w.Add("RecordsMirrored", 4)
				w.Add("DuplicatesPossible", 0)
				w.Max("RecordAge", emf.Milliseconds, -5)
				w.Max("RecordAge", emf.Milliseconds, 70)
				w.Max("RecordAge", emf.Milliseconds, 60)
				w.Property("worst", "a-0 <b>")
			},
			`{"DuplicatesPossible":0,"Flow":"us->eu","RecordAge":70,"RecordsMirrored":7,` +
				`"_aws":{"Timestamp":1764561600123,"CloudWatchMetrics":[{"Namespace":"Tidemark","Dimensions":[["Flow"]],"Metrics":[` +
				`{"Name":"DuplicatesPossible","Unit":"Count"},{"Name":"RecordAge","Unit":"Milliseconds"},{"Name":"RecordsMirrored","Unit":"Count"}]}]},` +
				`"worst":"a-0 <b>"}` + "\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			w := emf.New(&out, "Tidemark", "us->eu")
			test.gather(w)
			for range 2 { // the second flush has nothing to say
				if err := w.Flush(at); err != nil {
					t.Fatal(err)
				}
			}
			if got := out.String(); got != test.want {
				t.Errorf("Flush wrote\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// A property belongs to the line of its own invocation: with no metric to go with, it is dropped, not kept for the next one.
func TestPropertyIsNotCarriedOver(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := emf.New(&out, "Tidemark", "us->eu")
	w.Property("worst", "orders-0")
	for range 2 {
		if err := w.Flush(time.Now()); err != nil {
			t.Fatal(err)
		}
		w.Add("RecordsMirrored", 1)
	}
	if got := out.String(); strings.Contains(got, "worst") || strings.Count(got, "\n") != 1 {
		t.Errorf("Flush wrote %q, want one line without the property", got)
	}
}

// Neither a property that is no JSON nor a full pipe costs more than the line that they are of.
func TestFailedLineIsNotRepeated(t *testing.T) {
	t.Parallel()
	out := &failing{}
	w := emf.New(out, "Tidemark", "us->eu")
	for name, spoil := range map[string]func(){
		"encode": func() { w.Property("worst", make(chan int)) },
		"write":  func() { out.err = io.ErrShortWrite },
	} {
		spoil()
		w.Add("RecordsMirrored", 7)
		if err := w.Flush(time.UnixMilli(1)); err == nil || !strings.HasPrefix(err.Error(), name+" metrics: ") {
			t.Errorf("Flush = %v, want an error of %s", err, name)
		}
		out.err = nil
		w.Add("RecordsMirrored", 2)
		if err := w.Flush(time.UnixMilli(2)); err != nil {
			t.Errorf("Flush after an error of %s: %v", name, err)
		}
	}
	const want = `{"Flow":"us->eu","RecordsMirrored":2,"_aws":{"Timestamp":2,"CloudWatchMetrics":[{"Namespace":"Tidemark",` +
		`"Dimensions":[["Flow"]],"Metrics":[{"Name":"RecordsMirrored","Unit":"Count"}]}]}}` + "\n"
	if got := out.String(); got != want+want {
		t.Errorf("lines written:\n%s\nwant\n%s", got, want+want)
	}
}

type failing struct {
	bytes.Buffer
	err error
}

func (f *failing) Write(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.Buffer.Write(b)
}

// What is gathered while lines are written is on one of them, once, and lines never mix.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := emf.New(&out, "Tidemark", "us->eu")
	const goroutines, each = 8, 200
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				w.Add("RecordsMirrored", 2)
				w.Max("RecordAge", emf.Milliseconds, int64(g*each+i))
				w.Property("worst", g)
				if i%10 == 0 {
					if err := w.Flush(time.UnixMilli(0)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := w.Flush(time.UnixMilli(0)); err != nil {
		t.Fatal(err)
	}
	var sum, highest int64
	for line := range bytes.Lines(out.Bytes()) {
		var got struct{ RecordsMirrored, RecordAge int64 }
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("line %s: %v", line, err)
		}
		sum, highest = sum+got.RecordsMirrored, max(highest, got.RecordAge)
	}
	if sum != 2*goroutines*each || highest != goroutines*each-1 {
		t.Errorf("lines hold %d records and the age %d, want %d and %d", sum, highest, 2*goroutines*each, goroutines*each-1)
	}
}

func TestDirectivesHoldAHundredMetrics(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := emf.New(&out, "Tidemark", "us->eu")
	var wg sync.WaitGroup
	for i := range 250 {
		wg.Go(func() { w.Add(fmt.Sprintf("Metric%03d", i), 1) })
	}
	wg.Wait()
	if err := w.Flush(time.Now()); err != nil {
		t.Fatal(err)
	}
	var line struct {
		AWS struct {
			CloudWatchMetrics []struct{ Metrics []struct{ Name string } }
		} `json:"_aws"`
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	before := ""
	for _, d := range line.AWS.CloudWatchMetrics {
		sizes = append(sizes, len(d.Metrics))
		for _, m := range d.Metrics {
			if m.Name <= before {
				t.Fatalf("metric %s behind %s, want them sorted", m.Name, before)
			}
			before = m.Name
		}
	}
	if fmt.Sprint(sizes) != "[100 100 50]" {
		t.Errorf("metrics by directive %v, want [100 100 50]", sizes)
	}
}
