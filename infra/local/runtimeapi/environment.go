package runtimeapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// invocation is one event on its way through a process.
type invocation struct {
	id       string
	payload  []byte
	started  time.Time
	deadline time.Time

	// Set under environment.mu.
	answered bool
	killed   bool
	response []byte
	fault    *FunctionError
}

// environment is one process and the Runtime API it talks to. One goroutine at a time owns it, from [Function]'s pool and back.
type environment struct {
	function string
	cmd      *exec.Cmd
	server   *http.Server
	out      *output

	ready  chan struct{}    // the process asks for an event: it is through with the one before
	events chan *invocation // to the process that asked
	exited chan struct{}    // closed once the process is gone; exit is set before
	exit   error

	mu        sync.Mutex
	current   *invocation // nil between events
	initFault error
}

// launch starts a process and waits until it asks for its first event. The error is an [*InitError] when that never happens.
func launch(ctx context.Context, name, binary string, o Options, shared io.Writer) (*environment, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", name, err)
	}
	e := &environment{
		function: name,
		out:      &output{shared: shared},
		ready:    make(chan struct{}),
		events:   make(chan *invocation),
		exited:   make(chan struct{}),
	}
	e.server = &http.Server{Handler: e.routes(), ReadHeaderTimeout: time.Minute}
	// The process outlives the invocation that starts it.
	e.cmd = exec.CommandContext(context.WithoutCancel(ctx), binary)
	e.cmd.Env = environ(name, binary, listener.Addr().String(), o.Env)
	e.cmd.Stdout, e.cmd.Stderr = e.out, e.out
	// A group of its own keeps the terminal's Ctrl-C from it, and lets the kernel wake and hang up on a frozen process whose
	// parent was killed.
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	e.cmd.WaitDelay = time.Second
	if err := e.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", binary, err), listener.Close())
	}
	go func() { _ = e.server.Serve(listener) }() // ends with the server, which reap closes
	go e.reap()
	return e, e.awaitInit(o.InitTimeout)
}

// reap waits for the process, whose end ends the server too.
func (e *environment) reap() {
	e.exit = e.cmd.Wait()
	if e.exit == nil {
		e.exit = errors.New("exit status 0")
	}
	_ = e.server.Close()
	close(e.exited)
}

// awaitInit returns once the process asked for its first event.
func (e *environment) awaitInit(limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-e.ready:
		return nil
	case <-e.exited:
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.initFault != nil {
			return &InitError{Output: e.out.tail(), Err: e.initFault}
		}
		return &InitError{Output: e.out.tail(), Err: e.exit}
	case <-timer.C:
		e.destroy()
		return &InitError{Output: e.out.tail(), Err: fmt.Errorf("no request for an event within %v", limit)}
	}
}

// run thaws the process, hands it the event and waits for the end of the invocation: the process asks for the next one, ends, or
// overruns the deadline. The process is frozen again, or dead, when run returns.
func (e *environment) run(inv *invocation) ([]byte, error) {
	e.mu.Lock()
	e.current = inv
	e.mu.Unlock()
	e.signal(syscall.SIGCONT)

	timer := time.NewTimer(time.Until(inv.deadline))
	defer timer.Stop()
	events := e.events
	for {
		select {
		case events <- inv:
			events = nil
		case <-e.ready:
			if events != nil {
				continue // its parked request broke off and came again
			}
			e.signal(syscall.SIGSTOP)
			return e.end(&FunctionError{Type: TypeExit, Message: "asked for an event before it answered"})
		case <-e.exited:
			return e.end(&FunctionError{Type: TypeExit, Message: e.exit.Error(), Output: e.out.tail()})
		case <-timer.C:
			e.destroy()
			message := fmt.Sprintf("Task timed out after %.2f seconds", inv.deadline.Sub(inv.started).Seconds())
			return e.end(&FunctionError{Type: TypeTimeout, Message: message, Output: e.out.tail()})
		}
	}
}

// end closes the current invocation with its answer, or with otherwise when there is none.
func (e *environment) end(otherwise *FunctionError) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	inv := e.current
	e.current = nil
	switch {
	case !inv.answered:
		otherwise.RequestID = inv.id
		return nil, otherwise
	case inv.fault != nil:
		return nil, inv.fault
	default:
		return inv.response, nil
	}
}

// answer takes what the process posted for an invocation and reports whether that is the running one. After [environment.kill]
// nothing counts any more: the answer of a lost environment is lost.
func (e *environment) answer(id string, response []byte, fault *FunctionError) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	inv := e.current
	if inv == nil || inv.id != id || inv.answered {
		return false
	}
	if !inv.killed {
		inv.answered, inv.response, inv.fault = true, response, fault
	}
	return true
}

// running returns the invocation that is handed over and not answered yet, nil if there is none.
func (e *environment) running() *invocation {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current == nil || e.current.answered || e.current.killed {
		return nil
	}
	return e.current
}

// kill kills the process if it still works on inv, and reports whether it did.
func (e *environment) kill(inv *invocation) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.current != inv || inv.answered || inv.killed {
		return false
	}
	inv.killed = true
	e.signal(syscall.SIGKILL)
	return true
}

// destroy ends the process, frozen or not, and waits until it is gone.
func (e *environment) destroy() {
	e.signal(syscall.SIGKILL)
	<-e.exited
}

// alive reports whether the process can take another event.
func (e *environment) alive() bool {
	select {
	case <-e.exited:
		return false
	default:
		return true
	}
}

// signal reaches a process that was not waited for yet; one that is gone is no fault, it shows by its exit.
func (e *environment) signal(s syscall.Signal) { _ = e.cmd.Process.Signal(s) }
