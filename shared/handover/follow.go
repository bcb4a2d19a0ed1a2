package handover

import (
	"errors"
	"fmt"
	"iter"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
)

// place is how far a source partition is on the target.
type place struct {
	next int64 // next upstream offset to mirror
	last int64 // downstream offset of the record before it, as far as it was found; -1: it was not
}

// follow walks both logs side by side from where they are known to be even, and returns the last place at which they are
// so again. MM2 sends in order and may send again what it sent before: what is not the next record of the source is passed
// over. A record of the source never is, so that one that was compacted away on the target already ends the walk: from there
// on MM2's own note counts.
func follow(source iter.Seq2[mirror.Span, error], target iter.Seq2[[]*kgo.Record, error], from place) (place, error) {
	next, stop := iter.Pull2(committed(source))
	defer stop()
	pending, err, _ := next()
	for records, errTarget := range target {
		if err = errors.Join(err, errTarget); err != nil {
			break
		}
		for _, r := range records {
			if pending != nil && err == nil && !r.Attrs.IsControl() && copied(r, pending) {
				from = place{next: pending.Offset + 1, last: r.Offset}
				pending, err, _ = next()
			}
		}
	}
	if err != nil {
		return from, fmt.Errorf("compare source and target from %d: %w", from.next, err)
	}
	return from, nil
}

// copied says whether a record of the target is MM2's copy of one of the source. MM2 gives one without a timestamp the time at
// which it sends it (ConnectUtils.checkAndConvertTimestamp).
func copied(target, source *kgo.Record) bool {
	if source.Timestamp.UnixMilli() == -1 {
		s := *source
		s.Timestamp = target.Timestamp
		source = &s
	}
	return mirror.Same(target, source)
}

// committed yields the records of spans.
func committed(spans iter.Seq2[mirror.Span, error]) iter.Seq2[*kgo.Record, error] {
	return func(yield func(*kgo.Record, error) bool) {
		for span, err := range spans {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, r := range span.Records {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}
