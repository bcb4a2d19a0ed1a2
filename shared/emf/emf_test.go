package emf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	for _, d := range line.AWS.CloudWatchMetrics {
		sizes = append(sizes, len(d.Metrics))
	}
	if fmt.Sprint(sizes) != "[100 100 50]" {
		t.Errorf("metrics by directive %v, want [100 100 50]", sizes)
	}
}
