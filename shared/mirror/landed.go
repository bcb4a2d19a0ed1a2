package mirror

import (
	"context"
	"fmt"
)

// landed compares the downstream offsets of records that were just acknowledged with what was expected. Past it somebody
// else's records, or control records, lie between, which is said; below it the remote topic was truncated or made again,
// and what was mirrored before is not there any more.
func (t *Task) landed(ctx context.Context, p *progress, at []int64) error {
	expected := p.state.DownstreamNext
	if at[0] < expected {
		t.shortened(ctx, p, at[0])
		expected = at[0]
	}
	for i, offset := range at {
		if offset > expected {
			if err := t.between(ctx, p, expected, offset); err != nil {
				return fmt.Errorf("read what lies before record %d of %d on the target: %w", i, len(at), err)
			}
		}
		expected = offset + 1
	}
	return nil
}

// shortened notes that the remote partition ends before what was mirrored to it.
func (t *Task) shortened(ctx context.Context, p *progress, end int64) {
	t.options.Metrics.Add(TargetsTruncated, 1)
	t.options.Log.WarnContext(ctx, "remote partition was truncated or made again: what it held is lost there",
		"partition", p.state.Partition.String(), "downstream_expected", p.state.DownstreamNext, "downstream_found", end)
	p.runs.CutDownstream(end)
	p.state.DownstreamLast = min(p.state.DownstreamLast, end-1)
}

// between looks at what stands on the target between our own records. Control records are nobody's; anything else was
// written by somebody else.
func (t *Task) between(ctx context.Context, p *progress, from, to int64) error {
	foreign := int64(0)
	for records, err := range existing(ctx, t.target, p.remote, from, to) {
		if err != nil {
			return err
		}
		for _, r := range records {
			if !r.Attrs.IsControl() {
				foreign++
			}
		}
	}
	if foreign > 0 {
		t.options.Metrics.Add(RecordsForeign, foreign)
		t.options.Log.WarnContext(ctx, "somebody else writes to a remote partition",
			"partition", p.state.Partition.String(), "remote", p.remote.String(), "downstream_from", from, "downstream_to", to, "records", foreign)
	}
	return nil
}
