package config

import "time"

// Checkpoint is the checkpoint function's configuration.
type Checkpoint struct {
	Flow
	EmitCheckpoints, SyncGroups, EmitHeartbeats              bool
	CheckpointInterval, GroupSyncInterval, HeartbeatInterval time.Duration
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
		SyncGroups:         r.boolean("SYNC_GROUP_OFFSETS_ENABLED", false),
		GroupSyncInterval:  r.seconds("SYNC_GROUP_OFFSETS_INTERVAL_SECONDS", 60, 1, hour),
		EmitHeartbeats:     r.boolean("EMIT_HEARTBEATS_ENABLED", true),
		HeartbeatInterval:  r.seconds("EMIT_HEARTBEATS_INTERVAL_SECONDS", 60, 1, hour),
		MirrorFunction:     r.text("MIRROR_FUNCTION_NAME", ""),
	}
	if c.SyncGroups && !c.EmitCheckpoints {
		r.fault("SYNC_GROUP_OFFSETS_ENABLED", "true", "group offsets come from checkpoints: set EMIT_CHECKPOINTS_ENABLED=true")
	}
	return c, r.err()
}
