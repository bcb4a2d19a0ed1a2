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

var _ mirror.Target = (*Target)(nil)

// Target is the cluster that is written. It is safe for concurrent use.
type Target struct {
	*cluster
	replication int16

	producers sync.Mutex // guards idle and closed
	idle      []*Producer
	closed    bool

	configs sync.Mutex // guards limits
	limits  map[string]limit
}

// NewTarget connects lazily to the cluster that options name; see [Options]. replication is the replication factor of topics
// that Ensure makes; -1 is the broker's default. It fails only on options that can never work.
func NewTarget(options []kgo.Opt, replication int16, log *slog.Logger) (*Target, error) {
	c, err := open("target", options, log)
	if err != nil {
		return nil, err
	}
	return &Target{cluster: c, replication: replication, limits: make(map[string]limit)}, nil
}

// Close closes the idle producers and the connections. A producer that is in use is closed when it is released.
func (t *Target) Close() {
	t.producers.Lock()
	t.closed = true
	t.producers.Unlock()
	t.closeIdle()
	t.cluster.Close()
}

// Read implements mirror.Log: the log as it is, aborted and control records among the rest.
func (t *Target) Read(ctx context.Context, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	w := walk{cluster: t.cluster, tp: tp, control: true}
	return w.read(ctx, from, to)
}
