package kafkaclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/checkpoint"
	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

var (
	_ checkpoint.Log    = (*Source)(nil)
	_ checkpoint.Log    = (*Target)(nil)
	_ checkpoint.Admin  = (*kadm.Client)(nil)
	_ checkpoint.Writer = (*kgo.Client)(nil)
)

// Extent implements checkpoint.Log: up to the last stable offset, for Read yields committed records.
func (s *Source) Extent(ctx context.Context, tp mm2.TopicPartition) (topicID string, start, end int64, err error) {
	id, ends, err := s.extent(ctx, tp)
	return id, ends.Start, ends.LastStable, err
}

// Extent implements checkpoint.Log: up to the high watermark.
func (t *Target) Extent(ctx context.Context, tp mm2.TopicPartition) (topicID string, start, end int64, err error) {
	id, ends, err := t.extent(ctx, tp)
	return id, ends.Start, ends.HighWatermark, err
}

// extent is empty, without an error, for a partition that does not exist.
func (c *cluster) extent(ctx context.Context, tp mm2.TopicPartition) (string, mirror.Ends, error) {
	topics, err := c.Topics(ctx, []string{tp.Topic})
	if err != nil {
		return "", mirror.Ends{}, err
	}
	ends, err := c.Ends(ctx, tp)
	if errors.Is(err, mirror.ErrMissing) {
		return "", mirror.Ends{}, nil
	}
	return topics[tp.Topic].ID, ends, err
}

// forCheckpoints gives the cluster a writer. Partition 0 is a record's standard: MM2 reads no other one of its internal
// topics.
func (c *cluster) forCheckpoints(log checkpoint.Log) (checkpoint.Cluster, error) {
	writer, err := c.Writer()
	if err != nil {
		return checkpoint.Cluster{}, err
	}
	return checkpoint.Cluster{Admin: c.Admin(), Log: log, Writer: writer}, nil
}

// Writer returns a client of its own that writes records to the partitions that they name.
func (c *cluster) Writer() (*kgo.Client, error) {
	writer, err := kgo.NewClient(append(c.options[:len(c.options):len(c.options)],
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RecordDeliveryTimeout(2*retryFor))...)
	if err != nil {
		return nil, fmt.Errorf("configure %s writer: %w", c.role, err)
	}
	return writer, nil
}
