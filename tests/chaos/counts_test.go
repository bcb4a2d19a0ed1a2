package chaos

import (
	"fmt"
	"slices"
)

// counted wants what the processes counted to have happened, and what happened to be counted, as far as one follows from the
// other.
func (w *world) counted() error {
	if err := w.caused(); err != nil {
		return err
	}
	if err := w.bounded(); err != nil {
		return err
	}
	return w.explained()
}

// caused wants a cause in the world for whatever was counted.
func (w *world) caused() error {
	var shared, reborn, cut, wiped, lost, thinned bool
	for _, p := range w.parts {
		shared, reborn, cut, wiped = shared || p.shared, reborn || p.reborn, cut || p.wasCut, wiped || p.wiped
		lost, thinned = lost || p.expired, thinned || p.thinned
	}
	ambiguous := shared || reborn || cut || wiped || lost || thinned || w.skewed // an owner who was overtaken sees the next one's records
	for name, possible := range map[string]bool{
		"DuplicatesPossible": ambiguous, "UnfencedTakeovers": !w.fences, "ProducersFenced": w.fences, "TopicsRecreated": reborn,
		"TopicsTruncated": cut, "TargetsTruncated": wiped, "RecordsForeign": shared || wiped, "RecordsLost": lost || reborn,
		"RecordsOrphaned": reborn || cut, "RecordsSkipped": w.letters, "OffsetsCompacted": thinned,
	} {
		if n := w.counts[name]; n > 0 && !possible {
			return fmt.Errorf("%s = %d, and nothing in this world could be its cause", name, n)
		}
	}
	return nil
}

// bounded wants no more to be counted than was done.
func (w *world) bounded() error {
	letters := int64(0)
	for _, p := range w.parts {
		for _, n := range p.letters {
			letters += int64(n)
		}
	}
	for name, most := range map[string]int64{"RecordsMirrored": w.appended, "ProducersFenced": w.refused, "RecordsSkipped": letters} {
		if n := w.counts[name]; n > most {
			return fmt.Errorf("%s = %d, the world has seen %d", name, n, most)
		}
	}
	return nil
}

// passed is what watermarks moved over, by how it has to have been counted.
type passed struct{ control, aborted, compacted, vanished, records int64 }

// explained wants each offset that a watermark has passed to have been counted by its kind, at least once. What a process
// explained that failed, died or parked before its commit, the next one explains again, and a catch-up explains markers behind
// the last record that it cannot pass. Where there was neither, each offset is counted by exactly one kind, exactly once.
func (w *world) explained() error {
	var sum passed
	exact := !w.unsure
	for part, p := range w.parts {
		if p.wasCut || p.reborn || p.expired { // what was passed is gone
			exact = false
			continue
		}
		s := w.item(int32(part))
		for offset := s.Origin; offset < s.Next; offset++ {
			sum.pass(p, p.log.entries[offset])
		}
	}
	wiped := slices.ContainsFunc(w.parts, func(p *partition) bool { return p.wiped })
	if w.counts["DuplicatesPossible"] > 0 || wiped { // copies that could not be told apart, or went with the topic, are nobody's
		sum.records, exact = 0, false
	}
	if exact {
		w.hits.events["counts exact"]++
	}
	for _, c := range []struct {
		name      string
		is, least int64
		more      int64 // than the least at most, where each was counted once
	}{
		{"OffsetsControl", w.counts["OffsetsControl"], sum.control, 0},
		{"OffsetsAborted", w.counts["OffsetsAborted"], sum.aborted, 0},
		// A walk begins at the record that was mirrored last, and counts that if it has vanished since.
		{"OffsetsCompacted", w.counts["OffsetsCompacted"], sum.compacted, sum.vanished},
		{"RecordsMirrored and RecordsSettled", w.counts["RecordsMirrored"] + w.counts["RecordsSettled"], sum.records, 0},
	} {
		if c.is < c.least || exact && c.is > c.least+c.more {
			return fmt.Errorf("%s = %d, the watermarks have passed %d", c.name, c.is, c.least)
		}
	}
	return nil
}

// pass adds what stood at an offset when the watermark passed it. A record that was compacted away after it was mirrored was
// one of its records.
func (s *passed) pass(p *partition, e entry) {
	switch e.kind {
	case control:
		s.control++
	case aborted:
		s.aborted++
	case data, compacted:
		_, copied := p.known[e.record.ProducerID]
		switch {
		case copied:
			s.records++
			if e.kind == compacted {
				s.vanished++
			}
		case p.letters[e.record.ProducerID] == 0 && e.kind == compacted:
			s.compacted++
		}
	}
}
