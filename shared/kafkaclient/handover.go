package kafkaclient

import (
	"context"
	"iter"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/handover"
	"tidemark/shared/mm2"
)

var (
	_ handover.Source  = (*Source)(nil)
	_ handover.Cluster = (*Target)(nil)
	_ handover.Admin   = (*kadm.Client)(nil)
	_ handover.Writer  = (*kgo.Client)(nil)
)

// ReadCommitted implements handover.Cluster.
func (c *cluster) ReadCommitted(ctx context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	w := walk{cluster: c, tp: tp, isolation: 1, control: true}
	return w.read(ctx, from, to)
}
