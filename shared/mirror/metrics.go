package mirror

// Metrics gathers counts. It must be safe for concurrent use.
type Metrics interface {
	Add(name string, n int64)
}

// Names of the counts.
const (
	RecordsMirrored       = "RecordsMirrored"       // appended to the target
	BytesMirrored         = "BytesMirrored"         // their keys and values
	RecordsRedelivered    = "RecordsRedelivered"    // delivered again, dropped
	RecordsSettled        = "RecordsSettled"        // found on the target after an unclean takeover, not sent again
	PartitionsFailed      = "PartitionsFailed"      // partitions of an invocation that the trigger has to bring again
	UnfencedTakeovers     = "UnfencedTakeovers"     // takeovers that rest on the waiting rule
	DuplicatesPossible    = "DuplicatesPossible"    // takeovers whose tail proves nothing: a foreign writer, or expired records
	TargetDiscontinuities = "TargetDiscontinuities" // records that landed elsewhere than expected: somebody else writes, or the target was truncated
)

// uncounted is the Metrics of a task without.
type uncounted struct{}

func (uncounted) Add(string, int64) {}
