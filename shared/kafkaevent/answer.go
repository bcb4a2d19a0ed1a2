package kafkaevent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tidemark/shared/mirror"
)

// success is the answer when every partition is mirrored. Lambda takes null for a batch without failures in both report
// modes.
const success = "null"

// The error of a batch is for people and for the trigger's log, so it names few partitions and cuts what they say.
const (
	maxErrors    = 5
	maxErrorText = 400
)

// errUnnamed is why a batch that could be reported record by record is reported as a whole.
var errUnnamed = errors.New("the records to bring again cannot be named")

// failures are the outcomes that are not success. One without an error that leaves records undelivered counts as well:
// to answer success for it would lose them.
func failures(outcomes []mirror.Outcome) []mirror.Outcome {
	var failed []mirror.Outcome
	for _, o := range outcomes {
		if o.Err != nil || len(o.Undelivered) > 0 {
			failed = append(failed, o)
		}
	}
	return failed
}

// batchError fails the invocation, so that the trigger brings the whole batch again.
func batchError(failed []mirror.Outcome, partitions int) error {
	var b strings.Builder
	for _, o := range failed[:min(len(failed), maxErrors)] {
		b.WriteString("; " + clip(o))
	}
	if more := len(failed) - maxErrors; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return fmt.Errorf("mirror batch: %d of %d partitions stopped%s", len(failed), partitions, b.String())
}

// clip is what stopped a partition, cut to maxErrorText bytes.
func clip(o mirror.Outcome) string {
	text := o.Key + ": undelivered without an error"
	if o.Err != nil {
		text = o.Err.Error()
	}
	if len(text) <= maxErrorText {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorText], "") + "..."
}

// batchItemFailures is the partial batch response for Kafka, which provisioned pollers understand ("Retain and retry
// failed records", AWS page kafka-retry-configurations). aws-lambda-go has no type for it.
type batchItemFailures struct {
	Failures []itemFailure `json:"batchItemFailures"`
}

type itemFailure struct {
	Item itemIdentifier `json:"itemIdentifier"`
}

type itemIdentifier struct {
	Partition string `json:"partition"` // the event's name of it
	Offset    int64  `json:"offset"`
}

// items names every undelivered record. The page does not say whether what follows a named record in its partition
// comes again as well, so all of them are named. An unknown name would make Lambda retry the batch; errUnnamed asks for
// the same where a record has no name.
func items(failed []mirror.Outcome) ([]byte, error) {
	var answer batchItemFailures
	for _, o := range failed {
		if len(o.Undelivered) == 0 {
			return nil, errUnnamed
		}
		for _, offset := range o.Undelivered {
			if offset < 0 {
				return nil, errUnnamed
			}
			answer.Failures = append(answer.Failures, itemFailure{itemIdentifier{o.Key, offset}})
		}
	}
	return json.Marshal(answer)
}
