package kafkaclient

import (
	"errors"
	"log/slog"

	"tidemark/shared/checkpoint"
	"tidemark/shared/config"
)

// Open connects lazily to the two clusters of a flow. replication is the replication factor of remote topics that are made;
// -1 is the broker's default. It fails only on settings that can never work, and names those of both clusters.
func Open(source, target config.Cluster, replication int16, a Access, log *slog.Logger) (*Source, *Target, error) {
	sourceOptions, errSource := Options(source, a)
	targetOptions, errTarget := Options(target, a)
	if err := errors.Join(errSource, errTarget); err != nil {
		return nil, nil, err
	}
	s, errSource := NewSource(sourceOptions, log)
	t, errTarget := NewTarget(targetOptions, replication, log)
	return s, t, errors.Join(errSource, errTarget)
}

// OpenForCheckpoints connects lazily to the cluster that groups are read from, and to the one that checkpoints are written to.
func OpenForCheckpoints(source, target config.Cluster, a Access, log *slog.Logger) (from, to checkpoint.Cluster, err error) {
	s, t, err := Open(source, target, -1, a, log)
	if err != nil {
		return from, to, err
	}
	from, errSource := s.forCheckpoints(s)
	to, errTarget := t.forCheckpoints(t)
	return from, to, errors.Join(errSource, errTarget)
}
