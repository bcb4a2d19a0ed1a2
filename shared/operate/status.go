package operate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
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

// Partition is the status of one source partition. Offsets that are not known are -1.
type Partition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`

	SourceStart int64 `json:"source_start"`
	SourceEnd   int64 `json:"source_end"` // what is stable
	Next        int64 `json:"next"`       // the watermark
	Lag         int64 `json:"lag"`        // offsets from there to the end
	TargetEnd   int64 `json:"target_end"`

	Epoch        int64      `json:"epoch"`
	ClaimedUntil *time.Time `json:"claimed_until,omitempty"` // nil: nobody is at it
	AdvancedAt   *time.Time `json:"advanced_at,omitempty"`
	Skips        int64      `json:"skips,omitempty"`
	Lost         int64      `json:"lost,omitempty"`
	Stall        *Stall     `json:"stall,omitempty"`
	Do           string     `json:"do,omitempty"` // what to do next, for a person; empty: nothing
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

// Status describes the partitions of one source topic, or of all that the flow mirrors when topic is empty, by name.
func (f Flow) Status(ctx context.Context, topic string) ([]Partition, error) {
	topics, err := f.topics(ctx, topic)
	if err != nil || len(topics) == 0 {
		return nil, err
	}
	starts, err := f.Source.ListStartOffsets(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("list start offsets of source topics: %w", err)
	}
	stable, err := f.Source.ListCommittedOffsets(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("list stable offsets of source topics: %w", err)
	}
	remotes := make(map[string]string, len(topics))
	for _, name := range topics {
		if remotes[name], err = f.Remote(name); err != nil {
			return nil, err
		}
	}
	ends, err := f.ends(ctx, remotes)
	if err != nil {
		return nil, err
	}
	states := map[mm2.TopicPartition]watermark.State{}
	for s, err := range f.States.All(ctx) {
		if err != nil {
			return nil, fmt.Errorf("read state items: %w", err)
		}
		states[s.Partition] = s
	}
	var all []Partition
	stable.Each(func(end kadm.ListedOffset) {
		start, ok := starts.Lookup(end.Topic, end.Partition)
		if !ok || end.Err != nil || start.Err != nil {
			return // gone between two requests
		}
		tp := mm2.TopicPartition{Topic: end.Topic, Partition: end.Partition}
		s, ok := states[tp]
		if !ok {
			s = watermark.New(tp)
		}
		target := watermark.None
		if o, ok := ends.Lookup(remotes[end.Topic], end.Partition); ok && o.Err == nil {
			target = o.Offset
		}
		all = append(all, describe(s, start.Offset, end.Offset, target, time.Now()))
	})
	slices.SortFunc(all, func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return all, nil
}

// topics are the source topics to describe.
func (f Flow) topics(ctx context.Context, topic string) ([]string, error) {
	if topic != "" {
		return []string{topic}, nil
	}
	listed, err := f.Source.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list source topics: %w", err)
	}
	var topics []string
	for _, d := range listed {
		if d.Err == nil && f.Topics(d.Topic) {
			topics = append(topics, d.Topic)
		}
	}
	return topics, nil
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
	ends, err := f.Target.ListEndOffsets(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("list end offsets of remote topics: %w", err)
	}
	return ends, nil
}

// describe puts one partition into words.
func describe(s watermark.State, start, end, target int64, now time.Time) Partition {
	p := Partition{
		Topic: s.Partition.Topic, Partition: s.Partition.Partition,
		SourceStart: start, SourceEnd: end, Next: s.Next, Lag: max(end-max(s.Next, start), 0), TargetEnd: target,
		Epoch: s.Epoch, AdvancedAt: when(s.AdvancedAt), Skips: s.Skips, Lost: s.Lost,
	}
	if s.Owner != "" && now.Before(s.OwnerDeadline) {
		p.ClaimedUntil = when(s.OwnerDeadline)
	}
	if stall := s.Stall; stall != nil {
		p.Stall = &Stall{
			Offset: stall.Offset, Since: stall.Since, Kind: string(stall.Kind), Reason: stall.Reason, Attempts: stall.Attempts, RetryAt: when(stall.RetryAt),
		}
	}
	p.Do = advice(p, s)
	return p
}

// when is a time, or nil where there is none.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// advice says what to do next about a partition that does not get on.
func advice(p Partition, s watermark.State) string {
	where := fmt.Sprintf(`"topic":%q,"partition":%d`, p.Topic, p.Partition)
	retry := fmt.Sprintf(`invoke operator with {"action":"release","how":"retry",%s,"epoch":%d}`, where, p.Epoch)
	switch {
	case p.Stall == nil && p.Lag > 0 && p.ClaimedUntil == nil:
		return fmt.Sprintf(`nothing, if it moves; else look at the trigger, or invoke mirror with {"action":"catch-up",%s}`, where)
	case p.Stall == nil:
		return ""
	case s.Stall.Kind == watermark.Refused:
		return fmt.Sprintf(`raise the limit that the reason names and %s; or leave the record out for good: {"action":"release","how":"skip",%s,"offset":%d,"epoch":%d}`,
			retry, where, p.Stall.Offset, p.Epoch)
	case s.Stall.Kind == watermark.NeedsPerson:
		return "do what the reason says, then " + retry
	}
	return "it is tried again by itself; at once: " + retry
}
