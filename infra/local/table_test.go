package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/watermark"
)

// look makes two looks at two partitions, two seconds apart.
func look(now time.Time) (before, after []row) {
	state := func(next int64, owner string, deadline time.Time) watermark.State {
		return watermark.State{Next: next, Owner: owner, OwnerDeadline: deadline}
	}
	before = []row{
		{source: 100, target: 50, state: state(50, "a", now.Add(9*time.Second))},
		{source: 100, state: state(watermark.None, "b", now)},
	}
	after = []row{
		{source: 120, target: 95, state: state(90, "a", now.Add(9*time.Second))},
		{source: 110, target: 110, state: state(110, "c", now.Add(20*time.Second))},
	}
	return before, after
}

func TestView(t *testing.T) {
	t.Parallel()
	now := time.Now()
	before, after := look(now)
	lines := view(before, after, 2*time.Second, now)
	want := `partition  source end  watermark  target end     lag  records/s  claim
        0         120         90          95      30         20  claimed for 9 s more
        1         110        110         110       0         55
      all         230        200         205      30         75
`
	if diff := cmp.Diff(want, full(lines)); diff != "" {
		t.Errorf("full (-want +got):\n%s", diff)
	}
	wantBrief := "source end 230  watermark 200  target end 205  lag 30  75 records/s  [0 claimed for 9 s more]"
	if got := brief(lines); got != wantBrief {
		t.Errorf("brief = %q, want %q", got, wantBrief)
	}
	if got, want := after[0].claim(before[0], now.Add(12*time.Second)), "claim ran out 3 s ago"; got != want {
		t.Errorf("claim past its deadline = %q, want %q", got, want)
	}
}

func TestTablePrintsLinesWhereItCannotRedraw(t *testing.T) {
	t.Parallel()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	table := newTable(out)
	rows := []row{{source: 3, target: 3, state: watermark.State{Next: 3}}}
	table.draw(rows)
	table.draw(rows) // nothing new
	table.note("killed %d", 7)
	table.print("done")
	got, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	got = regexp.MustCompile(`(?m)^ *[0-9.]+ s  `).ReplaceAll(got, []byte("T "))
	want := "T source end 3  watermark 3  target end 3  lag 0  0 records/s\nT killed 7\ndone\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
