// Package emf writes metrics as CloudWatch embedded metric format: one JSON line on standard output, which Lambda's log
// becomes metrics without a call (CloudWatch User Guide, "Embedded metric format specification").
package emf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"tidemark/shared/mirror"
)

var _ mirror.Metrics = (*Writer)(nil)

// Units of metrics.
const (
	Count        = "Count"
	Milliseconds = "Milliseconds"
	Bytes        = "Bytes"
)

// Writer gathers what happens between two flushes and writes it as one line. Its one dimension is the flow, for every
// further one multiplies the bill: each name with each dimension value is a custom metric. It is safe for concurrent use.
type Writer struct {
	out             io.Writer
	namespace, flow string

	mu         sync.Mutex
	metrics    map[string]metric
	properties map[string]any
}

type metric struct {
	unit  string
	value int64
}

// New returns a writer to out, whose lines must not be prefixed by anything.
func New(out io.Writer, namespace, flow string) *Writer {
	return &Writer{out: out, namespace: namespace, flow: flow, metrics: map[string]metric{}, properties: map[string]any{}}
}

// Add adds n to the count name. A count of 0 is written too: it tells a quiet flow from a dead one.
func (w *Writer) Add(name string, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.metrics[name] = metric{Count, w.metrics[name].value + n}
}

// Max raises the gauge name to v, unless it is higher. A name is either a count or a gauge, with one unit.
func (w *Writer) Max(name, unit string, v int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, ok := w.metrics[name]; !ok || v > before.value {
		w.metrics[name] = metric{unit, v}
	}
}

// Property notes a field of the next line that is no metric and costs nothing: which partition was the worst, say. It must
// be fit for JSON. The fields "Flow" and "_aws" and those of metrics win over it.
func (w *Writer) Property(key string, v any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.properties[key] = v
}

const (
	dimension   = "Flow"
	mostMetrics = 100 // in one directive
)

// directive is one element of _aws.CloudWatchMetrics.
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

type definition struct{ Name, Unit string }

// Flush writes one line of what was gathered since the last flush, timed now, and begins anew. Without a metric there is
// no line. After an error what was gathered is gone: a line written twice would count twice.
func (w *Writer) Flush(now time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	metrics, line := w.metrics, w.properties
	w.metrics, w.properties = map[string]metric{}, map[string]any{}
	if len(metrics) == 0 {
		return nil
	}
	line[dimension] = w.flow
	var directives []directive
	for names := range slices.Chunk(slices.Sorted(maps.Keys(metrics)), mostMetrics) {
		d := directive{Namespace: w.namespace, Dimensions: [][]string{{dimension}}}
		for _, name := range names {
			line[name] = metrics[name].value
			d.Metrics = append(d.Metrics, definition{name, metrics[name].unit})
		}
		directives = append(directives, d)
	}
	line["_aws"] = struct {
		Timestamp         int64 // ms
		CloudWatchMetrics []directive
	}{now.UnixMilli(), directives}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b) // it sorts the keys of a map and ends the line
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil {
		return fmt.Errorf("encode metrics: %w", err)
	}
	if _, err := w.out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}
