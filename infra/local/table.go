package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// table shows the partitions: redrawn in place on a terminal, else a line now and then.
type table struct {
	out      *os.File
	terminal bool
	started  time.Time

	mu    sync.Mutex
	lines int       // drawn last, to be drawn over
	line  string    // printed last, without its time
	last  []row     // shown last
	at    time.Time // of last
}

func newTable(out *os.File) *table {
	info, err := out.Stat()
	return &table{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, started: time.Now()}
}

// every is how often it is worth a look.
func (t *table) every() time.Duration {
	if t.terminal {
		return 250 * time.Millisecond
	}
	return 2 * time.Second
}

// draw shows rows.
func (t *table) draw(rows []row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	lines := view(t.last, rows, now.Sub(t.at), now)
	t.last, t.at = rows, now
	if t.terminal {
		t.erase()
		fmt.Fprint(t.out, full(lines))
		t.lines = len(lines) + 2
		return
	}
	if line := brief(lines); line != t.line {
		t.line = line
		t.stamp(line)
	}
}

// note prints a line that stays, above the table.
func (t *table) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
	t.stamp(fmt.Sprintf(format, args...))
}

// print writes a line as it is.
func (t *table) print(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
	fmt.Fprintf(t.out, format+"\n", args...)
}

// erase removes what was drawn last. Must be called with lock held.
func (t *table) erase() {
	if t.lines > 0 {
		fmt.Fprintf(t.out, "\x1b[%dA\x1b[J", t.lines)
	}
	t.lines = 0
}

// stamp prints a line with the time since the start. Must be called with lock held.
func (t *table) stamp(line string) {
	fmt.Fprintf(t.out, "%5.1f s  %s\n", time.Since(t.started).Seconds(), line)
}

// line is what is shown of a partition.
type line struct {
	source, next, target int64
	rate                 float64 // records a second that the watermark passed since the look before
	claim                string
}

// view makes a line a row, given the rows of the look before.
func view(before, after []row, between time.Duration, now time.Time) []line {
	lines := make([]line, len(after))
	for p, r := range after {
		lines[p] = line{source: r.source, next: r.next(), target: r.target}
		if p < len(before) {
			lines[p].rate = float64(r.next()-before[p].next()) / between.Seconds()
			lines[p].claim = r.claim(before[p], now)
		}
	}
	return lines
}

func sum(lines []line) line {
	var all line
	for _, l := range lines {
		all.source += l.source
		all.next += l.next
		all.target += l.target
		all.rate += l.rate
	}
	return all
}

// full is the whole table.
func full(lines []line) string {
	var b strings.Builder
	show := func(name string, l line) {
		text := fmt.Sprintf("%9s  %10d  %9d  %10d  %6d  %9.0f  %s", name, l.source, l.next, l.target, l.source-l.next, l.rate, l.claim)
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	b.WriteString("partition  source end  watermark  target end     lag  records/s  claim\n")
	for p, l := range lines {
		show(strconv.Itoa(p), l)
	}
	show("all", sum(lines))
	return b.String()
}

// brief is the table in one line.
func brief(lines []line) string {
	all := sum(lines)
	var b strings.Builder
	fmt.Fprintf(&b, "source end %d  watermark %d  target end %d  lag %d  %.0f records/s",
		all.source, all.next, all.target, all.source-all.next, all.rate)
	for p, l := range lines {
		if l.claim != "" {
			fmt.Fprintf(&b, "  [%d %s]", p, l.claim)
		}
	}
	return b.String()
}
