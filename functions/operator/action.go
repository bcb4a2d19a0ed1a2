package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tidemark/shared/handover"
	"tidemark/shared/mm2"
	"tidemark/shared/operate"
)

// action is the event.
type action struct {
	Action    string `json:"action"` // "status", "release", "set-position", "take-over" or "hand-back"
	Topic     string `json:"topic"`  // of the source; empty only for what concerns all
	Partition *int32 `json:"partition"`
	How       string `json:"how"`    // of a release: "retry" or "skip"
	Offset    *int64 `json:"offset"` // the one to skip, or the position to set
	Epoch     *int64 `json:"epoch"`  // as the status told it

	OffsetsTopic string `json:"offsets_topic"` // where Connect keeps its positions; empty: a dedicated MM2's topic
	Connector    string `json:"connector"`     // MM2's source connector there; empty: any when taking over, a dedicated MM2's when handing back
}

// operator serves actions.
type operator struct {
	flow  operate.Flow
	task  *operate.Task
	hands handover.Flow
	log   *slog.Logger
}

// serve answers an action: a status with the partitions, a change with the changed one as it is then, a change of hands with
// what was done about each partition.
func (o operator) serve(ctx context.Context, a action) (any, error) {
	switch a.Action {
	case "status":
		return o.flow.Status(ctx, a.Topic)
	case "take-over", "hand-back":
		return o.changeHands(ctx, a)
	}
	return o.changed(ctx, a)
}

// changeHands takes the flow over from MM2, or hands it back.
func (o operator) changeHands(ctx context.Context, a action) ([]handover.Partition, error) {
	flow, do := o.hands, handover.Flow.TakeOver
	if a.Action == "hand-back" {
		do = handover.Flow.HandBack
	}
	flow.Offsets, flow.Connector = a.OffsetsTopic, a.Connector
	done, err := do(flow, ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Action, err)
	}
	o.log.WarnContext(ctx, "audit", "action", a.Action, "partitions", done)
	return done, nil
}

// changed changes one partition, and returns its status then.
func (o operator) changed(ctx context.Context, a action) ([]operate.Partition, error) {
	if a.Topic == "" || a.Partition == nil || a.Epoch == nil {
		return nil, errors.New("a change needs topic, partition, and the epoch that the status tells")
	}
	tp := mm2.TopicPartition{Topic: a.Topic, Partition: *a.Partition}
	if err := o.change(ctx, a, tp); err != nil {
		return nil, fmt.Errorf("%s %s: %w", a.Action, tp, err)
	}
	all, err := o.flow.Status(ctx, a.Topic)
	if err != nil {
		return nil, fmt.Errorf("%s %s is done, its status is not known: %w", a.Action, tp, err)
	}
	return slices.DeleteFunc(all, func(p operate.Partition) bool { return p.Partition != tp.Partition }), nil
}

func (o operator) change(ctx context.Context, a action, tp mm2.TopicPartition) error {
	switch {
	case a.Action == "release" && a.How == "retry":
		return o.task.Retry(ctx, tp, *a.Epoch)
	case a.Action == "release" && a.How == "skip" && a.Offset != nil:
		return o.task.Skip(ctx, tp, *a.Epoch, *a.Offset)
	case a.Action == "set-position" && a.Offset != nil:
		return o.task.SetPosition(ctx, tp, *a.Epoch, *a.Offset)
	}
	return errors.New(`not known: want release with how "retry", or "skip" and an offset, set-position with an offset, take-over, or hand-back`)
}

// audit writes a change to the log before it is made. It asks the handler, for a Logger keeps the handler's error to itself.
func audit(log *slog.Logger) operate.Audit {
	return func(ctx context.Context, e operate.Entry) error {
		line := slog.NewRecord(time.Now(), slog.LevelWarn, "audit", 0)
		line.Add("action", e.Action, "topic", e.Partition.Topic, "partition", e.Partition.Partition,
			"epoch", e.Epoch, "from", e.From, "to", e.To, "stalled_because", e.Reason)
		return log.Handler().Handle(ctx, line)
	}
}
