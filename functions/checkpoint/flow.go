package main

import (
	"tidemark/shared/checkpoint"
	"tidemark/shared/config"
)

// flow gives the use case its words for the configuration.
func flow(c config.Checkpoint) checkpoint.Flow {
	return checkpoint.Flow{
		Names: c.Names, Policy: c.Policy, Topics: c.Topics.Match, Groups: c.Groups.Match, StallAfter: c.StallAfter,
		EmitCheckpoints: c.EmitCheckpoints, CheckpointInterval: c.CheckpointInterval,
		SyncGroups: c.SyncGroups, GroupSyncInterval: c.GroupSyncInterval,
		EmitHeartbeats: c.EmitHeartbeats, HeartbeatInterval: c.HeartbeatInterval,
		SyncsFactor: c.OffsetSyncsReplicationFactor, CheckpointsFactor: c.CheckpointsReplicationFactor, HeartbeatsFactor: c.HeartbeatsReplicationFactor,
	}
}
