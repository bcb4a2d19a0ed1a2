package offsetsync_test

import (
	"testing"

	"tidemark/shared/offsetsync"
)

// TestExactFarBack says how far back a transactional source is translated exactly: 10,000 transactions of 100 records, each a
// run and a marker. The item keeps 512 bytes from one pass to the next, the header 8 KiB.
func TestExactFarBack(t *testing.T) {
	t.Parallel()
	const transactions, size, item, header = 10_000, 100, 512, 8 << 10
	for _, everySo := range []int64{50, 100, 500} { // transactions from one pass to the next
		var short, long offsetsync.Runs
		for i := range int64(transactions) {
			short.Extend((size+1)*i, size*i, size, true)
			short.Fold(item, item/2)
			if (i+1)%everySo == 0 {
				long = offsetsync.Merge(long, short)
				long.Fold(header, header/2)
			}
		}
		exact, most, worst := int64(transactions), int64(0), int64(0)
		for i := range int64(transactions) {
			downstream, again, ok := long.Translate((size+1)*i + size/2)
			read := size*i + size/2 - downstream
			if !ok || read < 0 || read > again {
				t.Fatalf("transaction %d: downstream %d, again %d, %t", i, downstream, again, ok)
			}
			if again > 0 {
				exact = transactions - 1 - i
			}
			most, worst = max(most, again), max(worst, read)
		}
		t.Logf("a pass each %d transactions: exact for the newest %d; before them at most %d records are read again (stated), %d are", everySo, exact, most, worst)
		if everySo <= 64 && exact < 1_000 || exact < 64 || most > 64 {
			t.Errorf("exact for %d transactions, %d records again before: less than the documents say", exact, most)
		}
	}
}
