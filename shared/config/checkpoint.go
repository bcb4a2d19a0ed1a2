package config

import "time"

// Checkpoint is the checkpoint function's configuration.
type Checkpoint struct {
	Flow
	EmitCheckpoints, EmitHeartbeats       bool
	CheckpointInterval, HeartbeatInterval time.Duration
	// MirrorFunction is invoked for catch-up of what is due; empty: what is due is only reported.
	MirrorFunction string
}

// LoadCheckpoint reads the checkpoint function's environment. The error is an [*Error] with every fault.
func LoadCheckpoint(getenv Getenv) (Checkpoint, error) {
	r := reader{getenv: getenv}
	const hour = 3600
	c := Checkpoint{
		Flow:               r.flow(),
		EmitCheckpoints:    r.boolean("EMIT_CHECKPOINTS_ENABLED", true),
		CheckpointInterval: r.seconds("EMIT_CHECKPOINTS_INTERVAL_SECONDS", 60, 1, hour),
		EmitHeartbeats:     r.boolean("EMIT_HEARTBEATS_ENABLED", true),
		HeartbeatInterval:  r.seconds("EMIT_HEARTBEATS_INTERVAL_SECONDS", 60, 1, hour),
		MirrorFunction:     r.text("MIRROR_FUNCTION_NAME", ""),
	}
	if r.boolean("SYNC_GROUP_OFFSETS_ENABLED", false) {
		r.fault("SYNC_GROUP_OFFSETS_ENABLED", "true", "group offsets on the target are not supported yet")
	}
	return c, r.err()
}
