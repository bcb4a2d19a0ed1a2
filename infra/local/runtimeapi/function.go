package runtimeapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"
)

// Options are what a [Function] may be told beside its binary. The zero value works.
type Options struct {
	Name        string        // the function's name; empty: the binary's base name
	Env         []string      // "KEY=value", beside what Lambda sets; these win
	Timeout     time.Duration // of an invocation; 0: a minute
	InitTimeout time.Duration // from the start of a process to its first request for an event; 0: Lambda's 10 s
	Concurrency int           // environments at most; an invocation beyond it waits. 0: 1
	Output      io.Writer     // gets what the processes print, one write at a time; nil: only the end is kept, for errors
	Log         *slog.Logger  // tells of processes started and lost; nil: nobody
}

// Function is a function's pool of environments. It is safe for concurrent use.
type Function struct {
	binary string
	opts   Options
	output io.Writer
	slots  chan struct{} // one token per invocation that runs

	mu     sync.Mutex
	all    map[*environment]struct{}
	idle   []*environment // frozen; the one used last is taken first, as long as it lives
	closed bool
	wg     sync.WaitGroup // invocations under way, abandoned ones too
}

// New makes a function of the binary at a path. Nothing is started before the first [Function.Invoke].
func New(binary string, o Options) *Function {
	o.Name = cmp.Or(o.Name, filepath.Base(binary))
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.InitTimeout = cmp.Or(o.InitTimeout, 10*time.Second)
	o.Concurrency = max(o.Concurrency, 1)
	if o.Output == nil {
		o.Output = io.Discard
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Function{
		binary: binary, opts: o,
		output: &lockedWriter{w: o.Output},
		slots:  make(chan struct{}, o.Concurrency),
		all:    make(map[*environment]struct{}),
	}
}

// Invoke runs one invocation and returns the function's answer, a [*FunctionError] when the function failed, or an [*InitError]
// when no process came up. When ctx ends first, Invoke returns its cause; the invocation itself runs on, as Lambda's do when the
// caller hangs up, and payload must not change until [Function.Close] returned.
func (f *Function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	type result struct {
		answer []byte
		err    error
	}
	done := make(chan result, 1)
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		<-f.slots
		return nil, ErrClosed
	}
	f.wg.Go(func() {
		defer func() { <-f.slots }()
		answer, err := f.invoke(ctx, payload)
		done <- result{answer, err}
	})
	f.mu.Unlock()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (f *Function) invoke(ctx context.Context, payload []byte) ([]byte, error) {
	e, err := f.take(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	answer, err := e.run(&invocation{id: rand.Text(), payload: payload, started: now, deadline: now.Add(f.opts.Timeout)})
	f.put(ctx, e)
	return answer, err
}

// take returns a frozen environment, or starts one.
func (f *Function) take(ctx context.Context) (*environment, error) {
	if e := f.pop(); e != nil {
		return e, nil
	}
	e, err := launch(ctx, f.opts.Name, f.binary, f.opts, f.output)
	if err != nil {
		return nil, err
	}
	f.opts.Log.DebugContext(ctx, "environment started", "function", f.opts.Name, "pid", e.cmd.Process.Pid)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		e.destroy()
		return nil, ErrClosed
	}
	f.all[e] = struct{}{}
	return e, nil
}

func (f *Function) pop() *environment {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := len(f.idle); n > 0; n = len(f.idle) {
		e := f.idle[n-1]
		f.idle = f.idle[:n-1]
		if e.alive() {
			return e
		}
		delete(f.all, e)
	}
	return nil
}

// put gives an environment back for the next event, or forgets it when its process is gone.
func (f *Function) put(ctx context.Context, e *environment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.alive() {
		f.idle = append(f.idle, e)
		return
	}
	delete(f.all, e)
	f.opts.Log.DebugContext(ctx, "environment lost", "function", f.opts.Name, "pid", e.cmd.Process.Pid, "error", e.exit)
}

// Killed is an invocation that [Function.Kill] ended.
type Killed struct {
	RequestID string
	PID       int
	Ran       time.Duration // from the event's handing over to the kill
}

// Kill sends SIGKILL to the process that was handed its event last, among those that have not answered, and reports which. It
// does nothing and reports false when no invocation runs. The invocation fails with [TypeExit], even if an answer is on its way.
func (f *Function) Kill() (Killed, bool) {
	return f.KillWhere(func([]byte) bool { return true })
}

// KillWhere is [Function.Kill] among the invocations whose payload matches. The payload must not be changed or kept.
func (f *Function) KillWhere(match func(payload []byte) bool) (Killed, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var victim *environment
	var newest *invocation
	for e := range f.all {
		inv := e.running()
		if inv != nil && (newest == nil || inv.started.After(newest.started)) && match(inv.payload) {
			victim, newest = e, inv
		}
	}
	if victim == nil || !victim.kill(newest) {
		return Killed{}, false
	}
	return Killed{RequestID: newest.id, PID: victim.cmd.Process.Pid, Ran: time.Since(newest.started)}, true
}

// Close kills every process and waits for all of them. Invocations under way fail. It is idempotent.
func (f *Function) Close() {
	f.mu.Lock()
	f.closed = true
	for e := range f.all {
		e.destroy()
	}
	f.idle = nil
	f.mu.Unlock()
	f.wg.Wait()
}
