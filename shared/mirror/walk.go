package mirror

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Span is what the source holds from From (inclusive) to To (exclusive), as a read_committed consumer would see it: the
// committed records, and how many offsets hold none, by kind. To - From = len(Records) + Control + Aborted + Compacted.
type Span struct {
	From, To int64
	Records  []*kgo.Record // rising; the caller's to keep

	Control   int64 // transaction markers
	Aborted   int64 // records of aborted transactions
	Compacted int64 // offsets that no batch holds any more: compacted away, or never filled
}

// ErrUnstable says that a walk came to offsets that no read_committed consumer can see yet: an open transaction, or the
// end of the log.
var ErrUnstable = errors.New("offsets are not stable yet: an open transaction, or the end of the log")

// ExpiredError says that a walk was to begin below the log's start: retention, or somebody, deleted the records there.
type ExpiredError struct {
	Start int64 // where the log starts now
}

// Error implements error.
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("records have expired: the log starts at %d", e.Start)
}
