package offsetsync

import (
	"fmt"
	"strings"

	"tidemark/shared/mm2"
)

// Slot is the first of neighbouring slots that hold the same sync.
type Slot struct {
	Index                int
	Upstream, Downstream int64
}

// Slots returns the syncs of a partition that are left, newest first.
func (s *Store) Slots(tp mm2.TopicPartition) []Slot {
	var list []Slot
	p := s.partitions[tp]
	if p == nil {
		return nil
	}
	for i, sync := range p.slots {
		if i == 0 || sync != p.slots[i-1] {
			list = append(list, Slot{Index: i, Upstream: sync.upstream, Downstream: sync.downstream})
		}
	}
	return list
}

// Text writes slots as "index=upstream:downstream", or "index=offset" when both are equal.
func Text(list []Slot) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%d=%d", s.Index, s.Upstream)
		if s.Downstream != s.Upstream {
			fmt.Fprintf(&b, ":%d", s.Downstream)
		}
	}
	return b.String()
}
