package kafkaevent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/mirror"
)

var _ Mirrorer = (*mirror.Task)(nil)

// taskFunc is a Mirrorer.
type taskFunc func(deliveries []mirror.Delivery) []mirror.Outcome

func (f taskFunc) Run(_ context.Context, deliveries []mirror.Delivery) []mirror.Outcome {
	return f(deliveries)
}

// twoPartitions is an event of t-0 (offsets 4 and 5) and t-1 (offset 1).
func twoPartitions() []byte {
	return []byte(`{"eventSource":"aws:kafka","records":{"t-0":[` + goodRecord(4) + `,` + goodRecord(5) +
		`],"t-1":[{"topic":"t","partition":1,"offset":1,"timestamp":1}]}}`)
}

func TestHandlerAnswers(t *testing.T) {
	t.Parallel()
	boom := errors.New("deliver t-0 at 4: no leader")
	good0, good1 := mirror.Outcome{Key: "t-0"}, mirror.Outcome{Key: "t-1"}
	bad0 := mirror.Outcome{Key: "t-0", Undelivered: []int64{4, 5}, Err: boom}
	bad1 := mirror.Outcome{Key: "t-1", Undelivered: []int64{1}, Err: errors.New("claim t-1: throttled")}
	tests := []struct {
		name        string
		report      Report
		outcomes    []mirror.Outcome
		answer, err string
	}{
		{"all good", ReportError, []mirror.Outcome{good0, good1}, `null`, ``},
		{"all good by default", "", []mirror.Outcome{good0, good1}, `null`, ``},
		{"all good, items", ReportItems, []mirror.Outcome{good0, good1}, `null`, ``},
		{"one failed", ReportError, []mirror.Outcome{bad0, good1}, ``, `mirror batch: 1 of 2 partitions stopped; deliver t-0 at 4: no leader`},
		{"one failed by default", "", []mirror.Outcome{bad0, good1}, ``, `mirror batch: 1 of 2 partitions stopped; deliver t-0 at 4: no leader`},
		{
			"one failed, items", ReportItems,
			[]mirror.Outcome{bad0, good1},
			`{"batchItemFailures":[{"itemIdentifier":{"partition":"t-0","offset":4}},{"itemIdentifier":{"partition":"t-0","offset":5}}]}`, ``,
		},
		{
			"both failed, items", ReportItems,
			[]mirror.Outcome{{Key: "t-0", Undelivered: []int64{5}, Err: boom}, bad1},
			`{"batchItemFailures":[{"itemIdentifier":{"partition":"t-0","offset":5}},{"itemIdentifier":{"partition":"t-1","offset":1}}]}`, ``,
		},
		{
			"an offset without a name, items", ReportItems,
			[]mirror.Outcome{{Key: "t-0", Undelivered: []int64{5, -1}, Err: boom}, bad1},
			``,
			`mirror batch: 2 of 2 partitions stopped; deliver t-0 at 4: no leader; claim t-1: throttled`,
		},
		{
			"nothing to name, items", ReportItems,
			[]mirror.Outcome{{Key: "t-0", Err: boom}, good1},
			``,
			`mirror batch: 1 of 2 partitions stopped; deliver t-0 at 4: no leader`,
		},
		{
			"undelivered without an error", ReportError,
			[]mirror.Outcome{good0, {Key: "t-1", Undelivered: []int64{1}}},
			``,
			`mirror batch: 1 of 2 partitions stopped; t-1: undelivered without an error`,
		},
		{"an outcome is missing", ReportError, []mirror.Outcome{good0}, ``, `mirror batch: 1 outcomes of 2 partitions`},
		{"an outcome is missing, items", ReportItems, []mirror.Outcome{bad0}, ``, `mirror batch: 1 outcomes of 2 partitions`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			task := taskFunc(func([]mirror.Delivery) []mirror.Outcome { return tt.outcomes })
			flushed := 0
			h := NewHandler(task, slog.New(slog.DiscardHandler), Options{Report: tt.report, Flush: func() { flushed++ }})
			answer, err := h.Invoke(t.Context(), twoPartitions())
			if string(answer) != tt.answer || flushed != 1 {
				t.Errorf("Invoke = %s, %d flushes, want %s, 1", answer, flushed, tt.answer)
			}
			if (err != nil || tt.err != "") && (err == nil || err.Error() != tt.err) {
				t.Errorf("Invoke = error %v, want %s", err, tt.err)
			}
		})
	}
}

func TestHandlerHandsOnDeliveries(t *testing.T) {
	t.Parallel()
	payload := twoPartitions()
	got := ""
	task := taskFunc(func(deliveries []mirror.Delivery) []mirror.Outcome {
		got = dump(deliveries)
		return make([]mirror.Outcome, len(deliveries))
	})
	if _, err := NewHandler(task, slog.New(slog.DiscardHandler), Options{}).Invoke(t.Context(), payload); err != nil {
		t.Fatal(err)
	}
	want := "t-0 = t 0\n  4: nil -> \"A\" @1\n  5: nil -> \"A\" @1\nt-1 = t 1\n  1: nil -> nil @1\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the task's deliveries (-want +got):\n%s", diff)
	}
}

func TestHandlerForeignEvent(t *testing.T) {
	t.Parallel()
	task := taskFunc(func([]mirror.Delivery) []mirror.Outcome {
		t.Error("the task ran")
		return nil
	})
	for _, report := range []Report{ReportError, ReportItems} {
		answer, err := NewHandler(task, slog.New(slog.DiscardHandler), Options{Report: report}).Invoke(t.Context(), []byte(`{"action":"status"}`))
		if answer != nil || err == nil {
			t.Errorf("Invoke = %s, %v, want an error", answer, err)
		}
	}
}

func TestHandlerErrorIsBounded(t *testing.T) {
	t.Parallel()
	var outcomes []mirror.Outcome
	for range 100 {
		outcomes = append(outcomes, mirror.Outcome{Key: "t-0", Undelivered: []int64{1}, Err: errors.New("x" + strings.Repeat("ë", 5000))})
	}
	err := batchError(outcomes, 200)
	text := err.Error()
	if len(text) > maxErrors*(maxErrorText+10)+100 || !strings.HasPrefix(text, "mirror batch: 100 of 200 partitions stopped; xë") ||
		!strings.HasSuffix(text, "ë...; and 95 more") || !json.Valid([]byte(`"`+text+`"`)) {
		t.Errorf("batchError = %q (%d bytes)", text, len(text))
	}
}

// TestHandlerKeepsNothing overwrites the payload as the next invocation does.
func TestHandlerKeepsNothing(t *testing.T) {
	t.Parallel()
	for _, report := range []Report{ReportError, ReportItems} {
		task := taskFunc(func(deliveries []mirror.Delivery) []mirror.Outcome {
			var outcomes []mirror.Outcome
			for _, d := range deliveries {
				outcomes = append(outcomes, mirror.Outcome{Key: d.Key, Undelivered: d.Unread, Err: d.Fault})
			}
			return outcomes
		})
		payload := eventOf(`{"topic":"t","partition":0,"offset":3,"timestamp":1,"value":"*"}`)
		answer, err := NewHandler(task, slog.New(slog.DiscardHandler), Options{Report: report}).Invoke(t.Context(), payload)
		for i := range payload {
			payload[i] = '#'
		}
		if err != nil {
			answer = []byte(err.Error())
		}
		if bytes.Contains(answer, []byte("#")) || !bytes.Contains(answer, []byte("t-0")) {
			t.Errorf("Invoke, payload overwritten = %s", answer)
		}
	}
}

func TestHandlerLogs(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	task := taskFunc(func([]mirror.Delivery) []mirror.Outcome {
		return []mirror.Outcome{{Key: "t-0", Undelivered: []int64{5}, Err: errors.New("no leader")}, {Key: "t-1"}}
	})
	payload := bytes.Replace(twoPartitions(), []byte(`"offset":5`), []byte(`"offset":"?"`), 1)
	_, _ = NewHandler(task, log, Options{}).Invoke(t.Context(), payload) // the error is another test's
	want := `{"level":"ERROR","msg":"partition stopped","topic":"t","partition":0,"undelivered":1,"error":"no leader"}
{"level":"INFO","msg":"event handled","records":3,"partitions":2,"failed":1,"parked":0}
`
	if diff := cmp.Diff(want, logged.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
