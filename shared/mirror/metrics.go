package mirror

// Metrics gathers counts. It must be safe for concurrent use.
type Metrics interface {
	Add(name string, n int64)
}

// Names of the counts.
const (
	RecordsMirrored    = "RecordsMirrored"    // appended to the target
	BytesMirrored      = "BytesMirrored"      // their keys and values
	RecordsFetched     = "RecordsFetched"     // read from the source because no delivery brought them
	RecordsRedelivered = "RecordsRedelivered" // delivered again, dropped
	RecordsOrphaned    = "RecordsOrphaned"    // delivered from a log that is no more, dropped
	RecordsSettled     = "RecordsSettled"     // found on the target after an unclean takeover, not sent again
	RecordsSkipped     = "RecordsSkipped"     // refused for good by the target, in the dead letter queue
	RecordsLost        = "RecordsLost"        // offsets that the source had no more before they were mirrored: expired, or their topic deleted
	RecordsForeign     = "RecordsForeign"     // records of somebody else between ours on the target
	OffsetsControl     = "OffsetsControl"     // transaction markers in the holes of deliveries
	OffsetsAborted     = "OffsetsAborted"     // records of aborted transactions there
	OffsetsCompacted   = "OffsetsCompacted"   // offsets compacted away there
	PartitionsFailed   = "PartitionsFailed"   // partitions of an invocation that the trigger has to bring again
	PartitionsParked   = "PartitionsParked"   // partitions of an invocation whose records were left to a later one
	ProducersFenced    = "ProducersFenced"    // producer ids that takeovers wrote an abort marker for
	UnfencedTakeovers  = "UnfencedTakeovers"  // takeovers that rest on the waiting rule
	DuplicatesPossible = "DuplicatesPossible" // takeovers whose tail proves nothing: a foreign writer, or expired records
	TopicsRecreated    = "TopicsRecreated"    // partitions whose topic was deleted and made again on the source
	TopicsTruncated    = "TopicsTruncated"    // partitions whose source log was truncated
	TargetsTruncated   = "TargetsTruncated"   // partitions whose remote log was truncated or made again
)

// uncounted is the Metrics of a task without.
type uncounted struct{}

func (uncounted) Add(string, int64) {}
