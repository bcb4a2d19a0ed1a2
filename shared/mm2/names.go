package mm2

// heartbeats is the one topic whose name neither separator nor aliases change.
const heartbeats = "heartbeats"

// Location says which cluster holds the offset-syncs topic (MM2's offset-syncs.topic.location). The zero value is
// [OnTarget]; MM2's own default is [OnSource].
type Location uint8

// The two locations.
const (
	OnTarget Location = iota
	OnSource
)

// Names are the internal topics of one flow, Source -> Target.
type Names struct {
	Source, Target string // cluster aliases
	// Separator stands between the parts of a name. Empty means ".".
	Separator string
	// InternalSeparator uses Separator in internal names too, as MM2 does by default since 3.1. Without it they keep ".",
	// as before 3.1 and with replication.policy.internal.topic.separator.enabled=false (KIP-949).
	InternalSeparator bool
	// Location decides which alias the offset-syncs topic bears.
	Location Location
}

// OffsetSyncs is the topic of [OffsetSync] records. It bears the alias of the cluster that it is not on:
// mm2-offset-syncs.<source>.internal on the target, mm2-offset-syncs.<target>.internal on the source.
func (n Names) OffsetSyncs() string {
	other := n.Source
	if n.Location == OnSource {
		other = n.Target
	}
	sep := n.internalSeparator()
	return "mm2-offset-syncs" + sep + other + sep + "internal"
}

// Checkpoints is the topic of [Checkpoint] records, on the target: <source>.checkpoints.internal.
func (n Names) Checkpoints() string {
	return n.Source + checkpointsSuffix(n.internalSeparator())
}

// Heartbeats is the topic of [Heartbeat] records: "heartbeats" in every mode.
func (Names) Heartbeats() string { return heartbeats }

// ConnectOffsets is the topic in which a dedicated MM2 of this flow keeps its positions, on the target:
// mm2-offsets.<source>.internal. It belongs to the Connect worker (MirrorMakerConfig.java), so no separator changes it.
func (n Names) ConnectOffsets() string { return "mm2-offsets." + n.Source + ".internal" }

func (n Names) internalSeparator() string {
	return internalSeparator(n.Separator, n.InternalSeparator)
}

func internalSeparator(separator string, enabled bool) string {
	if separator == "" || !enabled {
		return "."
	}
	return separator
}

func checkpointsSuffix(separator string) string {
	return separator + "checkpoints" + separator + "internal"
}
