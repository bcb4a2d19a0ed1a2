package kafkaevent

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/lambda"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

var _ lambda.Handler = (*Handler)(nil)

// Mirrorer delivers what an event brings. *mirror.Task is one.
type Mirrorer interface {
	// Run returns one outcome per delivery; the error in it names its partition. When Run returns, nothing may read the
	// deliveries' records any more: their bytes belong to the next event.
	Run(ctx context.Context, deliveries []mirror.Delivery) []mirror.Outcome
}

// Report is how an invocation tells the trigger what it did not deliver.
type Report string

const (
	// ReportError fails the invocation, and the trigger brings the whole batch again. Every poller understands it.
	ReportError Report = "error"
	// ReportItems names the undelivered records (batchItemFailures), and the trigger brings these again. It needs
	// provisioned pollers and ReportBatchItemFailures in the event source mapping; without them Lambda takes the answer
	// for success and the records are lost.
	ReportItems Report = "items"
)

// Options are what a handler can do without.
type Options struct {
	// Report is ReportError if empty.
	Report Report
	// Flush is called at the end of every invocation, whatever its end, to write out metrics. Nil does nothing.
	Flush func()
}

// Handler is the function's entry. Lambda calls it with one event at a time.
type Handler struct {
	task    Mirrorer
	log     *slog.Logger
	options Options
}

// NewHandler returns a handler that gives events to task and logs to log.
func NewHandler(task Mirrorer, log *slog.Logger, options Options) *Handler {
	return &Handler{task: task, log: log, options: options}
}

// Invoke mirrors the event in payload and returns the answer for the trigger: null when all is mirrored, else as
// Options.Report says. Where ReportItems cannot name an undelivered record, the invocation fails.
//
// Payload is overwritten. aws-lambda-go keeps it in a pool and fills it anew as soon as Invoke has returned, so neither
// answer, error nor log points into it.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if h.options.Flush != nil {
		defer h.options.Flush()
	}
	deliveries, err := Decode(payload)
	if err != nil {
		return nil, err
	}
	outcomes := h.task.Run(ctx, deliveries)
	failed := failures(outcomes)
	h.report(ctx, deliveries, outcomes, failed)
	switch {
	case len(outcomes) != len(deliveries):
		return nil, fmt.Errorf("mirror batch: %d outcomes of %d partitions", len(outcomes), len(deliveries))
	case len(failed) == 0:
		return []byte(success), nil
	case h.options.Report == ReportItems:
		if answer, err := items(failed); err == nil {
			return answer, nil
		}
	}
	return nil, batchError(failed, len(deliveries))
}

// report writes the invocation's log lines: one, and one for each partition that did not get on.
func (h *Handler) report(ctx context.Context, deliveries []mirror.Delivery, outcomes, failed []mirror.Outcome) {
	for _, o := range failed {
		h.log.ErrorContext(ctx, "partition stopped", append(named(o.Key), "undelivered", len(o.Undelivered), "error", o.Err)...)
	}
	parked := 0
	for _, o := range outcomes {
		if o.Parked != nil {
			parked++
			h.log.WarnContext(ctx, "records left to a later delivery or a catch-up", append(named(o.Key), "error", o.Parked)...)
		}
	}
	records := 0
	for _, d := range deliveries {
		records += len(d.Records) + len(d.Unread)
	}
	h.log.InfoContext(ctx, "event handled", "records", records, "partitions", len(deliveries), "failed", len(failed), "parked", parked)
}

// named are the log attributes of a delivery's partition.
func named(key string) []any {
	tp, err := mm2.ParseTopicPartition(key)
	if err != nil {
		tp = mm2.TopicPartition{Topic: key, Partition: -1}
	}
	return []any{"topic", tp.Topic, "partition", tp.Partition}
}
