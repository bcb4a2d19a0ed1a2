package compare

import (
	"fmt"
	"strings"
)

// Report has one entry a partition, by number.
type Report []Partition

// Partition is how one partition's copy differs. All lists are empty when it does not.
type Partition struct {
	Source, Target int // records

	Lost       []int64 // upstream offsets of records that the copy lacks
	Duplicated []int64 // downstream offsets of records that the copy has again
	Foreign    []int64 // downstream offsets of records that the source does not have
	Reordered  []int64 // downstream offsets of records behind one that they precede on the source

	// First says where, and in what, the logs first differ; empty when they do not. A record that was changed on its way is both
	// lost and foreign.
	First string
}

// Equal reports whether each copy is right.
func (r Report) Equal() bool {
	for _, p := range r {
		if !p.Equal() {
			return false
		}
	}
	return true
}

// Equal reports whether the copy is right.
func (p Partition) Equal() bool { return p.First == "" }

// Logs compares a log with its copy.
func Logs(source, target []Record) Partition {
	p := Partition{Source: len(source), Target: len(target), First: first(source, target)}
	if p.First == "" {
		return p
	}
	// Records that are alike are told apart by their turn: the k-th here is the k-th there.
	turns := make(map[Digest][]int, len(source)) // positions on the source, still to be found on the target
	known := make(map[Digest]bool, len(source))
	for i, r := range source {
		turns[r.Digest] = append(turns[r.Digest], i)
		known[r.Digest] = true
	}
	arrived := make([]bool, len(source))
	furthest := -1
	for _, r := range target {
		switch waiting := turns[r.Digest]; {
		case len(waiting) > 0:
			turns[r.Digest] = waiting[1:]
			arrived[waiting[0]] = true
			if waiting[0] < furthest {
				p.Reordered = append(p.Reordered, r.Offset)
			}
			furthest = max(furthest, waiting[0])
		case known[r.Digest]:
			p.Duplicated = append(p.Duplicated, r.Offset)
		default:
			p.Foreign = append(p.Foreign, r.Offset)
		}
	}
	for i, r := range source {
		if !arrived[i] {
			p.Lost = append(p.Lost, r.Offset)
		}
	}
	return p
}

// first describes the first difference.
func first(source, target []Record) string {
	for i := range min(len(source), len(target)) {
		if a, b := source[i], target[i]; a.Digest != b.Digest {
			return fmt.Sprintf("record %d (source offset %d, target offset %d): %s differ", i, a.Offset, b.Offset, a.Digest.differ(b.Digest))
		}
	}
	switch n := min(len(source), len(target)); {
	case n < len(source):
		return fmt.Sprintf("the target ends before record %d (source offset %d)", n, source[n].Offset)
	case n < len(target):
		return fmt.Sprintf("the source ends before record %d (target offset %d)", n, target[n].Offset)
	}
	return ""
}

// differ names the parts in which two records differ.
func (d Digest) differ(o Digest) string {
	var parts []string
	for _, part := range []struct {
		name  string
		equal bool
	}{
		{"key", d.Key == o.Key}, {"value", d.Value == o.Value}, {"headers", d.Headers == o.Headers}, {"timestamp", d.Timestamp == o.Timestamp},
	} {
		if !part.equal {
			parts = append(parts, part.name)
		}
	}
	return strings.Join(parts, ", ")
}
