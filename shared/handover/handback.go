package handover

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// ErrUnsettled says that a partition cannot be handed back yet.
var ErrUnsettled = errors.New("an invocation has it, or has left records that are not settled: switch the triggers off, run a catch-up of the partition, and try again")

// HandBack writes MM2 the Connect offsets by which its source task goes on where the flow stands. It needs the triggers and
// the schedule switched off: what is mirrored after it is mirrored twice. Partitions that were never mirrored are left out.
func (f Flow) HandBack(ctx context.Context) ([]Partition, error) {
	partitions, err := f.partitions(ctx)
	if err != nil {
		return nil, err
	}
	count, err := f.ensureOffsets(ctx)
	if err != nil {
		return nil, err
	}
	var records []*kgo.Record
	for i := range partitions {
		p := &partitions[i]
		r, err := f.offsetRecord(ctx, p, count)
		if err != nil {
			p.Position, p.Error = nil, err.Error()
		}
		if r != nil {
			records = append(records, r)
		}
	}
	if err := f.Writer.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, fmt.Errorf("write %d offsets to %s: %w", len(records), f.offsetsTopic(), err)
	}
	return partitions, nil
}

// offsetRecord is the Connect offset of one partition; nil if there is none to write.
func (f Flow) offsetRecord(ctx context.Context, p *Partition, count int32) (*kgo.Record, error) {
	tp := mm2.TopicPartition{Topic: p.Topic, Partition: p.Partition}
	s, err := f.States.Get(ctx, tp)
	switch {
	case err != nil:
		return nil, err
	case !s.Begun() || s.Next == 0:
		p.Note = "nothing of it was mirrored: MM2 begins at the start of its log"
		return nil, nil
	case s.Owner != "" || len(s.Producers) > 0:
		return nil, ErrUnsettled
	}
	o := Offset{Connector: cmp.Or(f.Connector, Connector), Cluster: f.Names.Source, TopicPartition: tp, Last: s.Next - 1}
	key, err := o.Key()
	if err != nil {
		return nil, err
	}
	value, err := o.Value()
	if err != nil {
		return nil, err
	}
	p.Position = new(s.Next)
	if s.Stall != nil && s.Stall.Kind == watermark.Refused {
		p.Note = "it is stalled at a record that the target refuses: MM2 will meet it"
	}
	r := &kgo.Record{Topic: f.offsetsTopic(), Key: key, Value: value}
	// Java's partitioner: Connect reads the partitions side by side, so that a key must not stand in two of them.
	r.Partition = int32(kgo.StickyKeyPartitioner(nil).ForTopic(r.Topic).Partition(r, int(count)))
	return r, nil
}

// ensureOffsets makes the topic of Connect's offsets if it is missing, as Connect makes it, and returns how many partitions
// it has.
func (f Flow) ensureOffsets(ctx context.Context) (int32, error) {
	const partitions = 25 // offset.storage.partitions
	name := f.offsetsTopic()
	topics, err := f.Target.Topics(ctx, []string{name})
	if err != nil {
		return 0, fmt.Errorf("describe %s: %w", name, err)
	}
	if t, ok := topics[name]; ok {
		return t.Partitions, nil
	}
	_, err = f.TargetAdmin.CreateTopic(ctx, partitions, f.Replication, map[string]*string{"cleanup.policy": new("compact")}, name)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return 0, fmt.Errorf("create %s: %w", name, err)
	}
	return partitions, nil
}
