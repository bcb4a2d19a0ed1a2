package runtimeapi

import (
	"io"
	"sync"
)

// tailBytes is how much of a process's output is kept for an error.
const tailBytes = 4 << 10

// output takes what one process prints: all of it to a writer shared by the function's processes, its end to memory.
type output struct {
	shared io.Writer

	mu   sync.Mutex
	kept []byte
}

// Write never fails: a full disk must not stop the function by SIGPIPE.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	o.kept = append(o.kept, p...)
	if n := len(o.kept) - tailBytes; n > 0 {
		o.kept = append(o.kept[:0], o.kept[n:]...)
	}
	o.mu.Unlock()
	_, _ = o.shared.Write(p)
	return len(p), nil
}

// tail returns the end of what was printed so far.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.kept)
}

// lockedWriter lets several processes share one writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
