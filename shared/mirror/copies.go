package mirror

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
)

// compared is how many offsets are compared at once in the search for the place where a source differs from its copy.
const compared = 1000

// watermarkEnd is past every offset.
const watermarkEnd = 1<<63 - 1

// parts cuts a run into what is compared at once. A stretch with gaps is compared whole.
func parts(s offsetsync.Stretch) []offsetsync.Stretch {
	if s.UpstreamGaps != 0 || s.DownstreamGaps != 0 {
		return []offsetsync.Stretch{s}
	}
	var all []offsetsync.Stretch
	for done := int64(0); done < s.UpstreamLen; done += compared {
		n := min(compared, s.UpstreamLen-done)
		all = append(all, offsetsync.Stretch{Upstream: s.Upstream + done, Downstream: s.Downstream + done, UpstreamLen: n, DownstreamLen: n})
	}
	return all
}

// comparison is what comparing a stretch shows.
type comparison struct {
	differs int64       // from where on it may differ: behind the last record that equals its copy; watermarkEnd if nothing does
	equal   *kgo.Record // the last record that equals its copy; nil if none does
	alone   bool        // the source has records whose copies are gone
}

// compare compares one stretch of the source with its copy, record by record in order. In a run a record that is gone on
// one side is left out; in a stretch with gaps there is no telling which, so that it has to be complete.
func (t *Task) compare(ctx context.Context, p *progress, tp mm2.TopicPartition, s offsetsync.Stretch, ends Ends) (comparison, error) {
	end := s.Upstream + s.UpstreamLen
	to := min(end, ends.LastStable)
	source, others, err := t.committed(ctx, tp, p.state.TopicID, max(s.Upstream, ends.Start), to)
	if err != nil {
		return comparison{}, err
	}
	target, _, err := gather(existing(ctx, t.target, p.remote, s.Downstream, s.Downstream+s.DownstreamLen))
	if err != nil {
		return comparison{}, fmt.Errorf("read target records %d to %d: %w", s.Downstream, s.Downstream+s.DownstreamLen, err)
	}
	target = slices.DeleteFunc(target, func(r *kgo.Record) bool { return r.Attrs.IsControl() })
	copies := make(map[int64]*kgo.Record, len(target))
	for i, r := range target {
		switch {
		case s.UpstreamGaps+s.DownstreamGaps == 0:
			copies[s.Upstream+r.Offset-s.Downstream] = r
		case len(source) == len(target):
			copies[source[i].Offset] = r
		}
	}
	found, behind := comparison{differs: watermarkEnd}, s.Upstream
	for _, r := range source {
		switch c := copies[r.Offset]; {
		case c == nil:
			found.alone = true
		case Same(c, r):
			found.equal, behind = r, r.Offset+1
		default:
			found.differs = behind
			return found, nil
		}
	}
	if run := s.UpstreamGaps == 0; run && others { // a run was records only
		found.differs = behind
	}
	if ends.LogEnd < end {
		found.differs = min(behind, ends.LogEnd)
	}
	return found, nil
}

// committed reads what the source holds between two offsets, from its start if that is later, and whether transaction markers
// or aborted records are among it.
func (t *Task) committed(ctx context.Context, tp mm2.TopicPartition, topicID string, from, to int64) (all []*kgo.Record, others bool, err error) {
	if from >= to {
		return nil, false, nil
	}
	for span, err := range t.source.Walk(ctx, tp, topicID, from, to) {
		if err != nil {
			return nil, false, fmt.Errorf("read source records %d to %d: %w", from, to, err)
		}
		all = append(all, span.Records...)
		others = others || span.Control+span.Aborted > 0
	}
	return all, others, nil
}

// existing reads a log between two offsets as far as it exists.
func existing(ctx context.Context, log Log, tp mm2.TopicPartition, from, to int64) iter.Seq2[[]*kgo.Record, error] {
	return func(yield func([]*kgo.Record, error) bool) {
		ends, err := log.Ends(ctx, tp)
		if errors.Is(err, ErrMissing) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for records, err := range log.Read(ctx, tp, max(from, ends.Start), min(to, ends.HighWatermark)) {
			if !yield(records, err) {
				return
			}
		}
	}
}
