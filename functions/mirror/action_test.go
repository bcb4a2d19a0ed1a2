package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"tidemark/shared/mm2"
)

// fakes stand for what is behind the entry, and note what reached them.
type fakes struct {
	events    int
	caught    []mm2.TopicPartition
	scheduled bool
	err       error
}

func (f *fakes) Invoke(context.Context, []byte) ([]byte, error) {
	f.events++
	return []byte("null"), nil
}

func (f *fakes) CatchUp(_ context.Context, tp mm2.TopicPartition, scheduled bool) error {
	f.caught, f.scheduled = append(f.caught, tp), scheduled
	return f.err
}

func TestEntry(t *testing.T) {
	t.Parallel()
	failure := errors.New("no leader")
	tests := []struct {
		name, payload string
		err           error
		events        int
		caught        bool
		want          string // what the error says; empty: none
	}{
		{"an event", `{"eventSource":"aws:kafka","records":{}}`, nil, 1, false, ""},
		{"an event that speaks of an action", `{"eventSource":"aws:kafka","records":{"t-0":[{"value":"\"action\""}]}}`, nil, 1, false, ""},
		{"not JSON", `"action`, nil, 1, false, ""},
		{"catch-up", `{"action":"catch-up","topic":"orders","partition":3}`, nil, 0, true, ""},
		{"scheduled catch-up", `{"action":"catch-up","topic":"orders","partition":3,"scheduled":true}`, nil, 0, true, ""},
		{"catch-up that fails", `{"action":"catch-up","topic":"orders","partition":3}`, failure, 0, true, "no leader"},
		{"scheduled catch-up that fails is the next pass's", `{"action":"catch-up","topic":"orders","partition":3,"scheduled":true}`, failure, 0, true, ""},
		{"no partition", `{"action":"catch-up","topic":"orders"}`, nil, 0, false, "needs a source topic and a partition"},
		{"another action", `{"action":"dance","topic":"orders","partition":3}`, nil, 0, false, `"dance" is not known`},
		{"a long payload is an event", `{"action":"catch-up","topic":"orders","partition":3,"pad":"` + strings.Repeat("x", mostAction) + `"}`, nil, 1, false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, flushed := &fakes{err: test.err}, 0
			e := entry{triggers: f, task: f, log: slog.New(slog.DiscardHandler), flush: func() { flushed++ }}
			_, err := e.Invoke(t.Context(), []byte(test.payload))
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v, want one that says %q", err, test.want)
			}
			if f.events != test.events || (len(f.caught) == 1) != test.caught || test.events == 0 && flushed != 1 {
				t.Errorf("%d events, caught up %v, flushed %d times", f.events, f.caught, flushed)
			}
			if test.caught && (f.caught[0] != mm2.TopicPartition{Topic: "orders", Partition: 3} || f.scheduled != strings.Contains(test.payload, "scheduled")) {
				t.Errorf("caught up %v, scheduled %t", f.caught, f.scheduled)
			}
		})
	}
}
