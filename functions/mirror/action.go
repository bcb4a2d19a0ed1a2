package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambda"

	"tidemark/shared/mm2"
)

// catchUpper is the part of *mirror.Task that actions use.
type catchUpper interface {
	CatchUp(ctx context.Context, tp mm2.TopicPartition, scheduled bool) error
}

// action is an event that no trigger sends: the scheduled pass does, or a person by hand.
type action struct {
	Action    string `json:"action"` // "catch-up"
	Topic     string `json:"topic"`  // of the source
	Partition *int32 `json:"partition"`
	Scheduled bool   `json:"scheduled"` // it comes again until there is nothing left
}

// entry is the function's handler: actions for the task, everything else for the handler of triggers' events.
type entry struct {
	triggers lambda.Handler
	task     catchUpper
	log      *slog.Logger
	flush    func()
}

// mostAction is how long an action's payload may be.
const mostAction = 1024

// Invoke implements lambda.Handler.
func (e entry) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var a action
	if len(payload) > mostAction || !bytes.Contains(payload, []byte(`"action"`)) || json.Unmarshal(payload, &a) != nil || a.Action == "" {
		return e.triggers.Invoke(ctx, payload)
	}
	defer e.flush()
	if a.Action != "catch-up" {
		return nil, fmt.Errorf("action %.40q is not known: want catch-up", a.Action)
	}
	if a.Topic == "" || a.Partition == nil || *a.Partition < 0 {
		return nil, errors.New(`catch-up needs a source topic and a partition: {"action":"catch-up","topic":"orders","partition":0}`)
	}
	tp := mm2.TopicPartition{Topic: a.Topic, Partition: *a.Partition}
	err := e.task.CatchUp(ctx, tp, a.Scheduled)
	if err == nil {
		e.log.InfoContext(ctx, "caught up", "topic", tp.Topic, "partition", tp.Partition)
		return []byte("null"), nil
	}
	e.log.ErrorContext(ctx, "partition stopped", "topic", tp.Topic, "partition", tp.Partition, "error", err)
	if a.Scheduled {
		return []byte("null"), nil // the next pass tries again; Lambda's own retries would only come in between
	}
	return nil, fmt.Errorf("catch up: %w", err)
}
