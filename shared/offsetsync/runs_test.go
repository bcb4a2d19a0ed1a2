package offsetsync_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tidemark/shared/offsetsync"
)

// text writes each stretch as upstream+length:downstream+length, with a "=" before it if the gap there is explained.
func text(r *offsetsync.Runs) string {
	var all []string
	for s := range r.Stretches() {
		one := fmt.Sprintf("%d+%d:%d+%d", s.Upstream, s.UpstreamLen, s.Downstream, s.DownstreamLen)
		if s.Explained {
			one = "=" + one
		}
		all = append(all, one)
	}
	return strings.Join(all, " ")
}

// runs notes pieces of upstream, downstream and length, each gap explained.
func runs(pieces ...[3]int64) offsetsync.Runs {
	var r offsetsync.Runs
	for _, p := range pieces {
		r.Extend(p[0], p[1], p[2], true)
	}
	return r
}

// folded is one stretch: upstream 0 to 30 with a gap of 2, downstream 100 to 131 with one of 3.
func folded() offsetsync.Runs {
	r := runs([3]int64{0, 100, 10}, [3]int64{12, 110, 10}, [3]int64{22, 123, 8})
	r.Fold(0, 0)
	return r
}

func TestExtend(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		extend func(*offsetsync.Runs)
		want   string
	}{
		{"both follow", func(r *offsetsync.Runs) { r.Extend(10, 110, 5, false) }, "0+15:100+15"},
		{"upstream gap", func(r *offsetsync.Runs) { r.Extend(11, 110, 5, true) }, "0+10:100+10 =11+5:110+5"},
		{"gap with records", func(r *offsetsync.Runs) { r.Extend(11, 110, 5, false) }, "0+10:100+10 11+5:110+5"},
		{"downstream gap", func(r *offsetsync.Runs) { r.Extend(10, 112, 5, true) }, "0+10:100+10 =10+5:112+5"},
		{"sent again", func(r *offsetsync.Runs) { r.Extend(4, 110, 3, true) }, "0+10:100+10"},
		{"sent again and more", func(r *offsetsync.Runs) { r.Extend(4, 110, 8, true) }, "0+10:100+10 =10+2:116+2"},
		{"target lost its end", func(r *offsetsync.Runs) { r.Extend(10, 104, 2, true) }, "0+4:100+4 10+2:104+2"},
		{"target lost its end, sent again", func(r *offsetsync.Runs) { r.Extend(4, 104, 7, true) }, "0+11:100+11"},
		{"target lost more than is sent again", func(r *offsetsync.Runs) { r.Extend(4, 102, 7, true) }, "0+2:100+2 4+7:102+7"},
		{"target lost less than is sent again", func(r *offsetsync.Runs) { r.Extend(2, 104, 8, true) }, "0+4:100+4 4+6:106+6"},
		{"target made again", func(r *offsetsync.Runs) { r.Extend(10, 0, 2, true) }, "10+2:0+2"},
		{"nothing", func(r *offsetsync.Runs) { r.Extend(10, 110, 0, true) }, "0+10:100+10"},
		{"below nothing", func(r *offsetsync.Runs) { r.Extend(10, 110, math.MinInt64, true) }, "0+10:100+10"},
		{"negative offsets", func(r *offsetsync.Runs) { r.Extend(-1, 110, 1, true); r.Extend(10, -1, 1, true) }, "0+10:100+10"},
		{"too long to follow", func(r *offsetsync.Runs) { r.Extend(10, 110, math.MaxInt64, true) }, "0+10:100+10"},
		{"too far", func(r *offsetsync.Runs) { r.Extend(1<<61-1, 110, 1, true) }, "0+10:100+10"},
		{"as far as can be", func(r *offsetsync.Runs) { r.Extend(1<<61-2, 110, 1, true) }, "0+10:100+10 =2305843009213693950+1:110+1"},
		{"after what was not noted", func(r *offsetsync.Runs) { r.Extend(-1, 0, 1, true); r.Extend(12, 110, 1, true) }, "0+10:100+10 12+1:110+1"},
	}
	for _, tt := range tests {
		r := runs([3]int64{0, 100, 10})
		if tt.extend(&r); text(&r) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text(&r), tt.want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		r    offsetsync.Runs
		cut  func(*offsetsync.Runs)
		want string // after one more record at 50, 150
	}{
		{"in a run", runs([3]int64{0, 100, 10}), func(r *offsetsync.Runs) { r.Cut(7) }, "0+7:100+7 50+1:150+1"},
		{"between runs", runs([3]int64{0, 100, 10}, [3]int64{12, 115, 5}), func(r *offsetsync.Runs) { r.Cut(11) }, "0+10:100+10 50+1:150+1"},
		{"everything", runs([3]int64{0, 100, 10}), func(r *offsetsync.Runs) { r.Cut(0) }, "50+1:150+1"},
		{"below everything", runs([3]int64{0, 100, 10}), func(r *offsetsync.Runs) { r.Cut(math.MinInt64) }, "50+1:150+1"},
		{"past the end", runs([3]int64{0, 100, 10}), func(r *offsetsync.Runs) { r.Cut(math.MaxInt64) }, "0+10:100+10 50+1:150+1"},
		{"at a stretch", folded(), func(r *offsetsync.Runs) { r.Cut(30) }, "0+30:100+31 50+1:150+1"},
		{"in a stretch", folded(), func(r *offsetsync.Runs) { r.Cut(29) }, "50+1:150+1"},
		{"downstream in a run", runs([3]int64{0, 100, 10}, [3]int64{12, 115, 5}), func(r *offsetsync.Runs) { r.CutDownstream(117) }, "0+10:100+10 =12+2:115+2 50+1:150+1"},
		{"downstream in a stretch", folded(), func(r *offsetsync.Runs) { r.CutDownstream(130) }, "50+1:150+1"},
		{"downstream past the end", folded(), func(r *offsetsync.Runs) { r.CutDownstream(131) }, "0+30:100+31 50+1:150+1"},
	}
	for _, tt := range tests {
		tt.cut(&tt.r)
		if tt.r.Extend(50, 150, 1, true); text(&tt.r) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text(&tt.r), tt.want)
		}
	}
}

// What a cut left of a stretch is not noted when it is sent again; what lies past that is.
func TestCutLeavesCopies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		cut  func(*offsetsync.Runs)
		want string // after 0 to 40 were sent again
	}{
		{"source", func(r *offsetsync.Runs) { r.Cut(15) }, "15+25:215+25"},
		{"target", func(r *offsetsync.Runs) { r.CutDownstream(110) }, "12+28:212+28"},
		{"target, the end of a stretch", func(r *offsetsync.Runs) { r.CutDownstream(130) }, "30+10:230+10"},
		{"target, then source", func(r *offsetsync.Runs) { r.CutDownstream(110); r.Cut(5) }, "5+35:205+35"},
		{"source made again", func(r *offsetsync.Runs) { r.Cut(15); r.Cut(0) }, "0+40:200+40"},
		{"noted since", func(r *offsetsync.Runs) { r.Cut(15); r.Extend(15, 150, 1, true); r.CutDownstream(140) }, "15+25:215+25"},
	}
	for _, tt := range tests {
		r := folded()
		tt.cut(&r)
		if r.Extend(0, 200, 40, true); text(&r) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text(&r), tt.want)
		}
	}
	r := folded()
	r.Cut(15) // up to 118 copies of what is left may stand
	r.CutDownstream(0)
	r.Extend(20, 50, 1, true)
	if r.Extend(22, 51, 1, true); text(&r) != "20+1:50+1 =22+1:51+1" {
		t.Errorf("after a target that was made again: %s, want nothing that stood there", text(&r))
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	r := runs([3]int64{0, 100, 10}, [3]int64{12, 110, 4}, [3]int64{16, 120, 4})
	r.Extend(30, 135, 5, false)
	one := folded()
	tests := []struct {
		r                     *offsetsync.Runs
		upstream, want, again int64
	}{
		{&r, 0, 100, 0},
		{&r, 9, 109, 0},
		{&r, 10, 110, 0},
		{&r, 11, 110, 0},
		{&r, 12, 110, 0},
		{&r, 15, 113, 0},
		{&r, 16, 120, 0},
		{&r, 20, 124, 0},
		{&r, 29, 124, 9},
		{&r, 30, 135, 0},
		{&r, 35, 140, 0},
		{&r, 40, 140, 5},
		{&r, math.MaxInt64, 140, math.MaxInt64 - 35},
		{&one, 0, 100, 0},
		{&one, 2, 100, 2},
		{&one, 3, 101, 3},
		{&one, 29, 127, 5},
		{&one, 30, 131, 0},
		{&one, 31, 131, 1},
	}
	for _, tt := range tests {
		if got, again, ok := tt.r.Translate(tt.upstream); !ok || got != tt.want || again != tt.again {
			t.Errorf("Translate(%d) by %s = %d, %d, %t, want %d, %d", tt.upstream, text(tt.r), got, again, ok, tt.want, tt.again)
		}
	}
	late := runs([3]int64{5, 0, 1})
	for _, upstream := range []int64{4, -1, math.MinInt64} {
		if got, _, ok := late.Translate(upstream); ok {
			t.Errorf("Translate(%d) of a list from 5 on = %d, true, want false", upstream, got)
		}
	}
	for _, tt := range [][2]int64{{100, 0}, {103, 0}, {104, 1}, {130, 27}, {131, 30}, {math.MaxInt64, 30}} {
		if got, ok := one.Inverse(tt[0]); !ok || got != tt[1] {
			t.Errorf("Inverse(%d) by %s = %d, %t, want %d", tt[0], text(&one), got, ok, tt[1])
		}
	}
	if got, ok := one.Inverse(99); ok {
		t.Errorf("Inverse(99) of a list from 100 on = %d, true, want false", got)
	}
}

// The smallest bound in proportion to its age goes first, of equal ones the older, and no more is folded than it takes.
func TestFold(t *testing.T) {
	t.Parallel()
	r := runs([3]int64{0, 0, 9}, [3]int64{19, 9, 9}, [3]int64{29, 18, 9}, [3]int64{39, 27, 9}, [3]int64{49, 36, 9})
	coded, _ := r.AppendBinary(nil)
	for _, tt := range []struct {
		bytes int
		want  string
	}{
		{len(coded), "0+9:0+9 =19+9:9+9 =29+9:18+9 =39+9:27+9 =49+9:36+9"},
		{len(coded) - 1, "0+9:0+9 =19+19:9+18 =39+9:27+9 =49+9:36+9"},
		{len(coded) - 2, "0+9:0+9 =19+29:9+27 =49+9:36+9"},
		{0, "0+58:0+45"},
	} {
		if r.Fold(tt.bytes, 0); text(&r) != tt.want {
			t.Errorf("Fold(%d): %s, want %s", tt.bytes, text(&r), tt.want)
		}
	}
	var empty offsetsync.Runs
	if empty.Fold(0, 0); text(&empty) != "" {
		t.Errorf("Fold(0) of nothing: %s", text(&empty))
	}
}

func TestBackward(t *testing.T) {
	t.Parallel()
	r := runs([3]int64{0, 0, 1}, [3]int64{2, 1, 1}, [3]int64{4, 2, 1})
	var got []int64
	for s := range r.Backward() {
		if got = append(got, s.Upstream); len(got) == 2 {
			break
		}
	}
	if fmt.Sprint(got) != "[4 2]" {
		t.Errorf("the two newest begin at %v, want 4 and 2", got)
	}
}
