package offsetsync_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/offsetsync"
)

// flow is both logs of one partition, told naively, and the lists that mirroring it leaves.
type flow struct {
	t      *rapid.T
	source []*record // nil: a hole
	target int64     // end of the target's log
	next   int       // upstream, what is mirrored next
	sent   int       // upstream end of what was mirrored of this source

	unexplained bool // a record was left between the newest noted one and next
	surprise    bool // the target lost its end, and nobody has noticed yet

	short, long offsetsync.Runs
}

// record is one of the source.
type record struct {
	copies []int64 // where it stands on the target, rising
	noted  bool    // by Extend
}

func (f *flow) draw(from, to int, label string) int { return rapid.IntRange(from, to).Draw(f.t, label) }

// mirror copies up to n offsets from next on, in pieces: what stands on the target between two of them is nobody's copy.
func (f *flow) mirror() {
	defer func() { f.sent = max(f.sent, f.next) }()
	for n := f.draw(4, 40, "offsets"); n > 0 && f.next < len(f.source); {
		if f.source[f.next] == nil {
			f.next, n = f.next+1, n-1
			continue
		}
		from, at := f.next, f.target
		for k := f.draw(1, n, "piece"); k > 0 && f.next < len(f.source) && f.source[f.next] != nil; k, n = k-1, n-1 {
			r := f.source[f.next]
			r.copies, r.noted = append(r.copies, f.target), true
			f.next, f.target = f.next+1, f.target+1
		}
		f.short.Extend(int64(from), at, int64(f.next-from), !f.unexplained)
		f.unexplained, f.surprise = false, false
		if f.draw(0, 2, "marker") == 0 {
			f.target += int64(f.draw(1, 3, "markers"))
		}
	}
}

// pass leaves out the next record, or lets somebody else mirror it in its place.
func (f *flow) pass() {
	if f.next == len(f.source) {
		return
	}
	if r := f.source[f.next]; r != nil {
		f.unexplained = true
		if !f.surprise && f.draw(0, 1, "by another") == 1 {
			r.copies, r.noted = append(r.copies, f.target), false
			f.target++
		}
	}
	f.next++
	f.sent = max(f.sent, f.next)
}

// cutSource truncates the source, or makes it again.
func (f *flow) cutSource() {
	at := len(f.source) - min(len(f.source), f.draw(0, 30, "offsets cut"))
	if f.draw(0, 9, "recreated") == 9 {
		at = 0
	}
	f.source = f.source[:at]
	if f.next = min(f.next, at); f.sent > at {
		f.sent = at
		f.short.Cut(int64(at))
	}
}

// cutTarget truncates the target. Mirroring may go on before anybody notices.
func (f *flow) cutTarget() {
	f.target -= min(f.target, int64(f.draw(0, 30, "offsets cut")))
	for _, r := range f.source {
		if r != nil {
			r.copies = slices.DeleteFunc(r.copies, func(at int64) bool { return at >= f.target })
		}
	}
	if f.surprise = f.draw(0, 1, "noticed") == 0; !f.surprise {
		f.short.CutDownstream(f.target)
	}
}

// stepBack has records sent again. It stops at one that was left out, or that somebody else mirrored: those must not be filled
// in later, but for what the target has lost at its end.
func (f *flow) stepBack() {
	lost := !slices.ContainsFunc(f.source[f.next:], func(r *record) bool { return r != nil && len(r.copies) > 0 })
	for n := f.draw(1, 20, "back"); n > 0 && f.next > 0; n-- {
		if r := f.source[f.next-1]; r != nil {
			lost = lost && len(r.copies) == 0
			if !r.noted || len(r.copies) == 0 && !lost {
				return
			}
		}
		f.next--
	}
}

// restart codes and decodes a list.
func restart(t *rapid.T, r *offsetsync.Runs) {
	coded, err := r.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	*r = offsetsync.Runs{}
	if err := r.UnmarshalBinary(coded); err != nil {
		t.Fatalf("decode what was encoded: %v", err)
	}
}

// fold makes a list fit, if more than one stretch is left.
func (f *flow) fold(r *offsetsync.Runs, bytes int) {
	r.Fold(bytes, bytes/2)
	coded, _ := r.AppendBinary(nil)
	if n := len(slices.Collect(r.Stretches())); n > 1 && len(coded) > bytes {
		f.t.Fatalf("Fold(%d) leaves %d stretches in %d bytes", bytes, n, len(coded))
	}
}

// step does one of the things that happen to a flow.
func (f *flow) step() {
	switch what := rapid.SampledFrom(steps).Draw(f.t, "step"); what {
	case "records":
		for range f.draw(1, 8, "records") {
			f.source = append(f.source, new(record))
		}
	case "hole":
		f.source = append(f.source, make([]*record, f.draw(1, 3, "hole"))...)
	case "mirror":
		f.mirror()
	case "left out":
		f.pass()
	case "foreign":
		if !f.surprise {
			f.target += int64(f.draw(1, 3, "foreign records"))
		}
	case "cut source":
		f.cutSource()
	case "cut target":
		f.cutTarget()
	case "step back":
		f.stepBack()
	case "restart":
		restart(f.t, &f.short)
	case "fold":
		f.fold(&f.short, rapid.SampledFrom([]int{0, 10, 20, 30, 40, 60, 100}).Draw(f.t, "bytes of the short list"))
	case "pass":
		f.long = offsetsync.Merge(f.long, f.short)
		f.fold(&f.long, rapid.SampledFrom([]int{0, 20, 40, 80, 200, 400}).Draw(f.t, "bytes of the long list"))
		restart(f.t, &f.long)
	}
}

// steps are as frequent as they stand here.
var steps = []string{
	"records", "records", "records", "records", "records", "hole", "hole", "hole", "mirror", "mirror", "mirror", "mirror",
	"mirror", "mirror", "records", "hole", "mirror", "left out", "foreign", "restart", "fold", "pass", "cut source",
	"cut target", "step back",
}

// checkTranslate compares every translation with both logs.
func (f *flow) checkTranslate(name string, list *offsetsync.Runs) {
	before := int64(-1)
	for c := range int64(len(f.source)) + 3 {
		got, again, ok := list.Translate(c)
		if !ok {
			if before >= 0 {
				f.t.Fatalf("%s list: Translate(%d) = false, but it knows a lower offset", name, c)
			}
			continue
		}
		twice := int64(0)
		for u, r := range f.source {
			if r == nil || len(r.copies) == 0 {
				continue
			}
			if first, last := r.copies[0], r.copies[len(r.copies)-1]; int64(u) >= c && last < got {
				f.t.Fatalf("%s list: Translate(%d) = %d, past record %d, which stands at %d only", name, c, got, u, last)
			} else if int64(u) < c && first >= got {
				twice++
			}
		}
		if twice > again || got < before {
			f.t.Fatalf("%s list: Translate(%d) = %d, at most %d again, want at least %d, %d are read again", name, c, got, again, before, twice)
		}
		before = got
	}
}

// checkRuns wants every record of a run where the run says, unless the target has lost it.
func (f *flow) checkRuns(name string, list *offsetsync.Runs) {
	for s := range list.Stretches() {
		if s.UpstreamGaps+s.DownstreamGaps > 0 {
			continue
		}
		for u := s.Upstream; u < s.Upstream+s.UpstreamLen && u < int64(len(f.source)); u++ {
			got, again, ok := list.Translate(u)
			if want := s.Downstream + u - s.Upstream; !ok || got != want || again != 0 {
				f.t.Fatalf("%s list: Translate(%d) in a run = %d, %d, %t, want %d, 0", name, u, got, again, ok, want)
			}
			if r := f.source[u]; r != nil && len(r.copies) > 0 && r.copies[0] != got {
				f.t.Fatalf("%s list: record %d stands at %d first, a run says %d", name, u, r.copies[0], got)
			}
		}
	}
}

// checkInverse: never past a record whose copy was not read.
func (f *flow) checkInverse(name string, list *offsetsync.Runs) {
	before := int64(-1)
	for d := range f.target + 3 {
		got, ok := list.Inverse(d)
		if !ok {
			continue
		}
		if got < before {
			f.t.Fatalf("%s list: Inverse(%d) = %d, before that of a lower offset, %d", name, d, got, before)
		}
		before = got
		for u, r := range f.source[:min(got, int64(len(f.source)))] {
			if r != nil && len(r.copies) > 0 && r.copies[0] >= d {
				f.t.Fatalf("%s list: Inverse(%d) = %d, past record %d, whose copy at %d was not read", name, d, got, u, r.copies[0])
			}
		}
	}
}

// Random histories of both logs: holes on the source, markers and foreign records on the target, records that nobody noted,
// truncation of either log, a source made again, records sent twice, restarts, lists that have to fit into few bytes, and
// passes that merge them. Twenty times the checks of one property, for it takes rare steps to meet; a million histories are
// -rapid.checks=50000.
func TestRunsAgainstBothLogs(t *testing.T) {
	t.Parallel()
	for range 20 {
		rapid.Check(t, func(t *rapid.T) { playBothLogs(&flow{t: t}) })
	}
}

func playBothLogs(f *flow) {
	f.target = int64(f.draw(0, 5, "first downstream"))
	for range rapid.SampledFrom([]int{5, 10, 20, 40, 80}).Draw(f.t, "steps") {
		f.step()
	}
	merged := offsetsync.Merge(f.long, f.short)
	for _, l := range []struct {
		name string
		*offsetsync.Runs
	}{{"short", &f.short}, {"merged", &merged}} {
		f.checkTranslate(l.name, l.Runs)
		f.checkRuns(l.name, l.Runs)
		f.checkInverse(l.name, l.Runs)
	}
}
