package kafkaclient

import (
	"context"
	"iter"
	"log/slog"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

var _ mirror.Source = (*Source)(nil)

// Source is the mirrored cluster. It is safe for concurrent use.
type Source struct {
	*cluster
	leaders sync.Map // of mm2.TopicPartition to *leader: who led when a walk asked last
}

// NewSource connects lazily to the cluster that options name; see [Options]. It fails only on options that can never work.
func NewSource(options []kgo.Opt, log *slog.Logger) (*Source, error) {
	c, err := open("source", options, log)
	if err != nil {
		return nil, err
	}
	return &Source{cluster: c}, nil
}

// Read implements mirror.Log: committed records only, no control records. Aborted data and markers take offsets and yield
// nothing.
func (s *Source) Read(ctx context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	w := walk{cluster: s.cluster, tp: tp, isolation: 1}
	return w.read(ctx, from, to)
}
