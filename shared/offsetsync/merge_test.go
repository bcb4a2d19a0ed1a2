package offsetsync_test

import (
	"testing"

	"tidemark/shared/offsetsync"
)

// fine is a long list that knows what folded knows, but for its last record, and exactly.
func fine() offsetsync.Runs {
	return runs([3]int64{0, 100, 10}, [3]int64{12, 110, 10}, [3]int64{22, 123, 7})
}

func TestMerge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		short func() offsetsync.Runs
		want  string
	}{
		{"nothing", func() offsetsync.Runs { return offsetsync.Runs{} }, "0+10:100+10 =12+10:110+10 =22+7:123+7"},
		{"the same, folded", folded, "0+10:100+10 =12+10:110+10 =22+8:123+8"},
		{"an older state", func() offsetsync.Runs { return runs([3]int64{0, 100, 10}) }, "0+10:100+10 =12+10:110+10 =22+7:123+7"},
		{"only what came after", func() offsetsync.Runs { return runs([3]int64{40, 140, 2}, [3]int64{43, 142, 1}) }, "0+10:100+10 =12+10:110+10 =22+7:123+7 40+2:140+2 =43+1:142+1"},
		{"folded over the end", func() offsetsync.Runs {
			r := folded()
			r.Extend(31, 131, 9, true)
			r.Fold(0, 0)
			return r
		}, "0+10:100+10 =12+10:110+10 =22+7:123+7 29+11:130+10"},
		{"the source was cut", func() offsetsync.Runs {
			r := folded()
			r.Cut(15)
			r.Extend(15, 140, 2, true)
			return r
		}, "0+10:100+10 =12+3:110+3 15+2:140+2"},
		{"the source was cut, and nothing came yet", func() offsetsync.Runs {
			r := folded()
			r.Cut(15)
			return r
		}, "0+10:100+10 =12+3:110+3"},
		{"the target was cut", func() offsetsync.Runs {
			r := folded()
			r.CutDownstream(115)
			r.Extend(30, 115, 2, true)
			return r
		}, "0+10:100+10 =12+5:110+5 30+2:115+2"},
		{"both were cut, unnoticed on the target", func() offsetsync.Runs {
			r := folded()
			r.Cut(29)
			r.Extend(15, 104, 2, true) // below what the cut left
			return r
		}, "0+4:100+4"},
		{"unnoticed on the target, just below what a cut left", func() offsetsync.Runs {
			r := folded()
			r.Cut(28)
			r.Extend(27, 128, 1, true)
			return r
		}, "0+10:100+10 =12+10:110+10 =22+5:123+5"},
		{"cut twice, the source lower first", func() offsetsync.Runs {
			r := folded()
			r.Cut(5)
			r.Extend(5, 140, 20, true)
			r.Cut(20)
			return r
		}, "0+5:100+5 5+15:140+15"},
		{"cut twice, the source lower then", func() offsetsync.Runs {
			r := folded()
			r.Cut(20)
			r.Cut(5)
			return r
		}, "0+5:100+5"},
		{"made again", func() offsetsync.Runs {
			r := folded()
			r.Cut(0)
			r.Extend(0, 140, 5, true)
			return r
		}, "0+5:140+5"},
		{"made again before anything is known", func() offsetsync.Runs {
			var r offsetsync.Runs
			r.Cut(0)
			return r
		}, ""},
		{"of another log, which nobody noticed", func() offsetsync.Runs { return runs([3]int64{5, 200, 2}) }, "0+5:100+5 5+2:200+2"},
		{"of another target, which nobody noticed", func() offsetsync.Runs { return runs([3]int64{40, 105, 2}) }, "0+5:100+5 40+2:105+2"},
	}
	for _, tt := range tests {
		long, short := fine(), tt.short()
		got := offsetsync.Merge(long, short)
		if text(&got) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text(&got), tt.want)
		}
		if again := offsetsync.Merge(got, short); text(&again) != text(&got) {
			t.Errorf("%s: %s after merging once more, want the same", tt.name, text(&again))
		}
		if before := fine(); text(&long) != text(&before) {
			t.Errorf("%s: the long list is %s now, want it as it was", tt.name, text(&long))
		}
	}
}

// A cut below what an earlier one left counts, though nothing of the list is there to forget.
func TestMergeAfterCutsOfWhatWasLeft(t *testing.T) {
	t.Parallel()
	noted := func() offsetsync.Runs {
		return runs([3]int64{0, 100, 10}, [3]int64{20, 200, 5}, [3]int64{26, 205, 5})
	}
	for _, tt := range []struct {
		name string
		cut  func(*offsetsync.Runs)
		want string
	}{
		{"source", func(r *offsetsync.Runs) { r.Cut(29); r.Cut(22) }, "0+10:100+10 =20+2:200+2"},
		{"target", func(r *offsetsync.Runs) { r.CutDownstream(209); r.CutDownstream(203) }, "0+10:100+10 =20+3:200+3"},
	} {
		short := noted()
		coded, _ := short.AppendBinary(nil)
		short.Fold(len(coded)-1, 0)
		if tt.cut(&short); text(&short) != "0+10:100+10" {
			t.Fatalf("%s: the short list is %s, want its first run", tt.name, text(&short))
		}
		if got := offsetsync.Merge(noted(), short); text(&got) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, text(&got), tt.want)
		}
	}
}

// A short list that lost its memory after the long one had seen a cut may have lost the memory of another.
func TestMergeForgetful(t *testing.T) {
	t.Parallel()
	long := fine()
	long.Cut(25)
	got := offsetsync.Merge(long, runs([3]int64{40, 140, 2}))
	if text(&got) != "40+2:140+2" {
		t.Errorf("merged: %s, want the short list alone", text(&got))
	}
}
