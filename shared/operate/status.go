package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// Admin is the part of *kadm.Client in use.
type Admin interface {
	ListTopics(ctx context.Context, topics ...string) (kadm.TopicDetails, error)
	ListStartOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)
	ListEndOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)
	ListCommittedOffsets(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)
}

// Flow is what a status is about.
type Flow struct {
	Source, Target Admin
	States         interface {
		All(ctx context.Context) iter.Seq2[watermark.State, error]
	}
	Topics func(topic string) bool                       // whether the flow mirrors a source topic
	Remote func(topic string) (remote string, err error) // its remote topic
}

// Partition is the status of one source partition. Offsets that are not known are -1, and so is a lag.
type Partition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`

	SourceStart int64 `json:"source_start"`
	SourceEnd   int64 `json:"source_end"` // what is stable
	Next        int64 `json:"next"`       // the watermark
	Lag         int64 `json:"lag"`        // offsets from there to the end
	TargetEnd   int64 `json:"target_end"`

	Epoch        int64      `json:"epoch"`
	Owner        string     `json:"owner,omitempty"`         // of the claim, also of one that ran out; empty: it was given back
	ClaimedUntil *time.Time `json:"claimed_until,omitempty"` // nil: nobody is at it
	Unsettled    bool       `json:"unsettled,omitempty"`     // what an invocation that is over left on the target is not known yet
	AdvancedAt   *time.Time `json:"advanced_at,omitempty"`
	Skips        int64      `json:"skips,omitempty"`
	Lost         int64      `json:"lost,omitempty"`
	Stall        *Stall     `json:"stall,omitempty"`
	Error        string     `json:"error,omitempty"` // why the source's offsets are not known
	Do           string     `json:"do,omitempty"`    // what to do next, for a person; empty: nothing
}

// Stall is why a watermark does not move.
type Stall struct {
	Offset   int64      `json:"offset"`
	Since    time.Time  `json:"since"`
	Kind     string     `json:"kind"`
	Reason   string     `json:"reason"`
	Attempts int64      `json:"attempts"`
	RetryAt  *time.Time `json:"retry_at,omitempty"`
}

// Status describes the partitions of one source topic, or of all that the flow mirrors when topic is empty, by name. It is
// asked for when something is wrong: a partition whose leader does not answer is described without its offsets. A topic that
// is asked for by name and does not exist is an error.
func (f Flow) Status(ctx context.Context, topic string) ([]Partition, error) {
	all := []Partition{}
	topics, err := f.topics(ctx, topic)
	if err != nil || len(topics) == 0 {
		return all, err
	}
	starts, err := answered(f.Source.ListStartOffsets(ctx, topics.Names()...))
	if err != nil {
		return nil, fmt.Errorf("list start offsets of source topics: %w", err)
	}
	stable, err := answered(f.Source.ListCommittedOffsets(ctx, topics.Names()...))
	if err != nil {
		return nil, fmt.Errorf("list stable offsets of source topics: %w", err)
	}
	remotes := make(map[string]string, len(topics))
	for name := range topics {
		if remotes[name], err = f.Remote(name); err != nil {
			return nil, err
		}
	}
	ends, err := f.ends(ctx, remotes)
	if err != nil {
		return nil, err
	}
	states, err := f.states(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	topics.EachPartition(func(d kadm.PartitionDetail) {
		tp := mm2.TopicPartition{Topic: d.Topic, Partition: d.Partition}
		s, ok := states[tp]
		if !ok {
			s = watermark.New(tp)
		}
		start, errStart := offset(starts, tp)
		end, errEnd := offset(stable, tp)
		target, _ := offset(ends, mm2.TopicPartition{Topic: remotes[d.Topic], Partition: d.Partition})
		all = append(all, describe(s, start, end, target, errors.Join(errEnd, errStart), now))
	})
	slices.SortFunc(all, func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return all, nil
}

// errNoAnswer says that the broker that leads a partition said nothing.
var errNoAnswer = errors.New("its leader does not answer")

// offset is what was listed of a partition, else None and why.
func offset(listed kadm.ListedOffsets, tp mm2.TopicPartition) (int64, error) {
	o, ok := listed.Lookup(tp.Topic, tp.Partition)
	switch {
	case !ok:
		return watermark.None, errNoAnswer
	case o.Err != nil:
		return watermark.None, o.Err
	}
	return o.Offset, nil
}

// answered is what was listed, as long as any broker answered.
func answered(listed kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	if some, ok := errors.AsType[*kadm.ShardErrors](err); ok && !some.AllFailed {
		return listed, nil
	}
	return listed, err
}

// states are the items by partition.
func (f Flow) states(ctx context.Context) (map[mm2.TopicPartition]watermark.State, error) {
	states := map[mm2.TopicPartition]watermark.State{}
	for s, err := range f.States.All(ctx) {
		if err != nil {
			return nil, fmt.Errorf("read state items: %w", err)
		}
		states[s.Partition] = s
	}
	return states, nil
}

// topics are the source topics to describe.
func (f Flow) topics(ctx context.Context, topic string) (kadm.TopicDetails, error) {
	if topic != "" {
		listed, err := f.Source.ListTopics(ctx, topic)
		if err == nil {
			err = listed.Error()
		}
		if err != nil {
			return nil, fmt.Errorf("describe source topic %s: %w", topic, err)
		}
		return listed, nil
	}
	listed, err := f.Source.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list source topics: %w", err)
	}
	maps.DeleteFunc(listed, func(_ string, d kadm.TopicDetail) bool { return d.Err != nil || !f.Topics(d.Topic) })
	return listed, nil
}

// ends are the ends of the remote topics that there are.
func (f Flow) ends(ctx context.Context, remotes map[string]string) (kadm.ListedOffsets, error) {
	listed, err := f.Target.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list target topics: %w", err)
	}
	var names []string
	for _, remote := range remotes {
		if listed.Has(remote) {
			names = append(names, remote)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	ends, err := answered(f.Target.ListEndOffsets(ctx, names...))
	if err != nil {
		return nil, fmt.Errorf("list end offsets of remote topics: %w", err)
	}
	return ends, nil
}
