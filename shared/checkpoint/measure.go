package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// mark is what was stable on a source partition at some moment. A watermark that has not reached it when StallAfter is
// over stands still.
type mark struct {
	at  time.Time
	end int64 // last stable offset then, exclusive
}

// measure sets the gauges. It goes by the source's topics and the flow's selection, not by the table, so that a
// partition without an item, a trigger that never started and one that died show as much as one that is stuck.
func (t *Task) measure(ctx context.Context, states []watermark.State) error {
	topics, err := t.selected(ctx)
	if err != nil {
		return err
	}
	g := gauges{now: time.Now(), asked: map[mm2.TopicPartition]bool{}, next: make(map[mm2.TopicPartition]watermark.State, len(states))}
	for _, s := range states {
		g.next[s.Partition] = s
	}
	if len(topics) > 0 {
		starts, errStarts := t.source.Admin.ListStartOffsets(ctx, topics...)
		stable, errStable := t.source.Admin.ListCommittedOffsets(ctx, topics...)
		if err := errors.Join(errStarts, errStable); err != nil {
			return fmt.Errorf("list offsets of source topics: %w", err)
		}
		t.compare(ctx, &g, starts, stable)
	}
	t.metrics.Max(DuePartitions, count, g.due)
	t.metrics.Max(StalledPartitions, count, g.stalled)
	t.metrics.Max(WatermarkAgeSeconds, "Seconds", int64(g.oldest/time.Second))
	t.metrics.Max(RecordsExpired, count, g.expired)
	t.metrics.Add(CatchUpsInvoked, int64(len(g.asked)))
	t.asked = g.asked
	if g.stalled > 0 {
		t.metrics.Property("worst_partition", g.worst.String())
	}
	return nil
}

// gauges are what one measurement finds.
type gauges struct {
	now          time.Time
	next         map[mm2.TopicPartition]watermark.State
	due, stalled int64
	expired      int64 // offsets that retention deleted before they were mirrored
	oldest       time.Duration
	worst        mm2.TopicPartition
	asked        map[mm2.TopicPartition]bool // catch-ups that this pass or the one before asked for
}

// compare holds each watermark against what was stable StallAfter ago, and moves the marks on.
func (t *Task) compare(ctx context.Context, g *gauges, starts, stable kadm.ListedOffsets) {
	marks := make(map[mm2.TopicPartition]mark)
	stable.Each(func(end kadm.ListedOffset) {
		start, ok := starts.Lookup(end.Topic, end.Partition)
		if !ok || end.Err != nil || start.Err != nil {
			return // gone between two requests
		}
		tp := mm2.TopicPartition{Topic: end.Topic, Partition: end.Partition}
		next := start.Offset
		if s, ok := g.next[tp]; ok && s.Next != watermark.None {
			g.expired += max(start.Offset-s.Next, 0)
			next = max(s.Next, start.Offset)
		}
		m, marked := t.marks[tp]
		if !marked || next >= m.end {
			m = mark{at: g.now, end: end.Offset}
		}
		marks[tp] = m
		if age := g.now.Sub(m.at); next < m.end && age >= t.flow.StallAfter {
			g.due++
			if moves := g.now.Sub(g.next[tp].AdvancedAt) < t.flow.StallAfter; moves {
				return // it lags, and gets on
			}
			if t.readable(ctx, tp, next, m.end) && !t.catchUp(ctx, g, tp) {
				g.stall(tp, age)
			}
		}
	})
	t.marks = marks
}

// mostCatchUps bounds the catch-ups that a pass asks for.
const mostCatchUps = 20

// catchUp has a due partition caught up, and says whether that may yet help: not when it was asked for a pass ago, nor
// when the item says what is in the way. Nobody is asked while the partition has a live claim, or is parked.
func (t *Task) catchUp(ctx context.Context, g *gauges, tp mm2.TopicPartition) bool {
	s := g.next[tp]
	claimed := s.Owner != "" && g.now.Before(s.OwnerDeadline)
	parked := s.Stall != nil && g.now.Before(s.Stall.RetryAt)
	if t.flow.CatchUp == nil || claimed || parked || len(g.asked) >= mostCatchUps {
		return false
	}
	if err := t.flow.CatchUp(ctx, tp); err != nil {
		t.log.ErrorContext(ctx, "invoke catch-up", "partition", tp.String(), "error", err)
		return false
	}
	g.asked[tp] = true
	return !t.asked[tp] && s.Stall == nil
}

func (g *gauges) stall(tp mm2.TopicPartition, age time.Duration) {
	g.stalled++
	if since := g.next[tp].Stall; since != nil {
		age = max(age, g.now.Sub(since.Since))
	}
	if age > g.oldest {
		g.oldest, g.worst = age, tp
	}
}

// readable says whether a record waits between next and end: what is left may be transaction markers and aborted records,
// which nobody will ever bring and which are no reason for an alarm. When that cannot be found out, it is one.
func (t *Task) readable(ctx context.Context, tp mm2.TopicPartition, next, end int64) bool {
	for records, err := range t.source.Log.Read(ctx, tp, next, end) {
		return err != nil || len(records) > 0
	}
	return false
}

// selected are the source topics that the flow mirrors.
func (t *Task) selected(ctx context.Context) ([]string, error) {
	listed, err := t.source.Admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list source topics: %w", err)
	}
	filter := mm2.TopicFilter{Policy: t.flow.Policy, TargetAlias: t.flow.Names.Target, Selected: t.flow.Topics}
	var topics []string
	for _, d := range listed {
		if d.Err == nil && filter.ShouldReplicate(d.Topic) {
			topics = append(topics, d.Topic)
		}
	}
	slices.Sort(topics)
	return topics, nil
}
