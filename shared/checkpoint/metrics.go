package checkpoint

// Names of the counts and gauges.
const (
	PassSucceeded              = "PassSucceeded"              // 1 for a pass that ended well, 0 for one that failed
	SyncsWritten               = "SyncsWritten"               // offset syncs
	CheckpointsWritten         = "CheckpointsWritten"         // checkpoints
	CheckpointsUntranslatable  = "CheckpointsUntranslatable"  // group partitions without a sync to go by, or older than all that is known
	CheckpointsWithheld        = "CheckpointsWithheld"        // translations past the end of their remote partition
	TranslationsExact          = "TranslationsExact"          // gauge: group partitions that would fail over without reading a record again
	TranslationsBounded        = "TranslationsBounded"        // gauge: those that would read some again
	RecordsReadAgain           = "RecordsReadAgain"           // gauge: how many at most, in the group partition where they are most
	GroupOffsetsWritten        = "GroupOffsetsWritten"        // offsets of groups on the target
	GroupsActive               = "GroupsActive"               // groups whose offsets the target refused, for they have members there
	GroupErrors                = "GroupErrors"                // groups or group partitions that could not be read or written
	UndecodableRecords         = "UndecodableRecords"         // records of internal topics that are not what they should be
	InternalTopicsNotCompacted = "InternalTopicsNotCompacted" // internal topics with another cleanup policy
	DuePartitions              = "DuePartitions"              // gauge: watermarks below what was stable STALL_SECONDS ago
	StalledPartitions          = "StalledPartitions"          // gauge: those of them with a record waiting
	WatermarkAgeSeconds        = "WatermarkAgeSeconds"        // gauge: how long the oldest of these has stood still
	CatchUpsInvoked            = "CatchUpsInvoked"            // due partitions that the mirror function was asked to catch up
	RecordsExpired             = "RecordsExpired"             // gauge: offsets that retention deleted before they were mirrored
)

const count = "Count"
