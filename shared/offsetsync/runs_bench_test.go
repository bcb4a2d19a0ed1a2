package offsetsync_test

import (
	"testing"

	"tidemark/shared/offsetsync"
)

// transactions are runs of 100 records with a marker after each: as many as fit into bytes.
func transactions(bytes int) offsetsync.Runs {
	var r offsetsync.Runs
	for i := range int64(10_000) {
		before, _ := r.AppendBinary(nil)
		if r.Extend(101*i, 100*i, 100, true); len(before) > bytes {
			break
		}
	}
	r.Fold(bytes, 0)
	return r
}

func BenchmarkExtend(b *testing.B) {
	b.ReportAllocs()
	var r offsetsync.Runs
	next := int64(0)
	for b.Loop() {
		r.Extend(next, next, 100, true)
		next += 100
	}
}

// A run for each piece, as of a source with transactions, and the list that a commit folds to 512 bytes.
func BenchmarkExtendAndFold(b *testing.B) {
	b.ReportAllocs()
	r := transactions(512)
	next := int64(1 << 30)
	for b.Loop() {
		r.Extend(next, next, 100, true)
		next += 101
		r.Fold(512, 256)
	}
}

func BenchmarkRunsEncode(b *testing.B) {
	b.ReportAllocs()
	r := transactions(512)
	buffer := make([]byte, 0, 1024)
	for b.Loop() {
		coded, _ := r.AppendBinary(buffer)
		b.SetBytes(int64(len(coded)))
	}
}

func BenchmarkRunsDecode(b *testing.B) {
	b.ReportAllocs()
	list := transactions(512)
	coded, _ := list.AppendBinary(nil)
	b.SetBytes(int64(len(coded)))
	for b.Loop() {
		var r offsetsync.Runs
		if err := r.UnmarshalBinary(coded); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRunsTranslate(b *testing.B) {
	b.ReportAllocs()
	r := transactions(8192)
	for b.Loop() {
		r.Translate(50_000)
	}
}

// What a pass does with one partition whose long list is full.
func BenchmarkRunsMerge(b *testing.B) {
	b.ReportAllocs()
	long, short := transactions(8192), transactions(512)
	for b.Loop() {
		m := offsetsync.Merge(long, short)
		m.Fold(8192, 4096)
	}
}
