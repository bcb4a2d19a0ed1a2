package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/shared/mm2"
)

// own is the prefix of the triggers' groups: they fail over with the flow, not by it.
const own = "tidemark."

// committed reads where the source's groups stand: consumer groups in every state, those without members among them
// (Java lists them as simple groups). A group that cannot be read is counted and left out.
func (t *Task) committed(ctx context.Context) ([]Committed, error) {
	listed, err := t.source.Admin.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	var names []string
	for _, g := range listed.Sorted() {
		consumers := g.ProtocolType == "consumer" || g.ProtocolType == ""
		if consumers && !strings.HasPrefix(g.Group, own) && t.flow.Groups(g.Group) {
			names = append(names, g.Group)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	var all []Committed
	responses := t.source.Admin.FetchManyOffsets(ctx, names...)
	for _, name := range names {
		response, ok := responses[name]
		if !ok || response.Err != nil {
			t.fault(ctx, name, mm2.TopicPartition{}, response.Err)
			continue
		}
		all = append(all, t.positions(ctx, name, response.Fetched)...)
	}
	return all, nil
}

// positions are a group's offsets in the topics that the flow selects.
func (t *Task) positions(ctx context.Context, group string, fetched kadm.OffsetResponses) []Committed {
	var all []Committed
	for _, o := range fetched.Sorted() {
		tp := mm2.TopicPartition{Topic: o.Topic, Partition: o.Partition}
		if !t.flow.Topics(o.Topic) {
			continue
		}
		if o.Err != nil {
			t.fault(ctx, group, tp, o.Err)
			continue
		}
		all = append(all, Committed{Group: group, Partition: tp, Offset: o.At, Metadata: o.Metadata})
	}
	return all
}

// fault counts a group or partition whose offset could not be read. Without an error there was no answer about it.
func (t *Task) fault(ctx context.Context, group string, tp mm2.TopicPartition, err error) {
	if err == nil {
		err = errors.New("no answer")
	}
	t.metrics.Add(GroupErrors, 1)
	t.log.WarnContext(ctx, "group offset cannot be read", "group", group, "topic", tp.Topic, "partition", tp.Partition, "error", err)
}
