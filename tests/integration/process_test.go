//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// process is a server beside the tests. It does not outlive them: the shell that becomes the server leaves a watchman
// behind, who kills it when the other end of a pipe closes, as it does when the test process ends for whatever reason.
type process struct {
	cmd     *exec.Cmd
	leash   *os.File // the pipe's other end
	logPath string
	exited  chan struct{} // closed once the server is gone; err is set before
	err     error
}

// run starts a server whose output is appended to a file.
func run(logPath string, env []string, command ...string) (*process, error) {
	output, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer output.Close()
	held, leash, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open pipe: %w", err)
	}
	defer held.Close()
	const watched = `{ read -r _ <&3; kill -KILL $$; } 2>/dev/null & exec "$@" 3<&-`
	p := &process{leash: leash, logPath: logPath, exited: make(chan struct{})}
	p.cmd = exec.Command("sh", append([]string{"-c", watched, "sh"}, command...)...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = output, output, []*os.File{held}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the tests, which stop it then
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", command[0], err), leash.Close())
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// kill ends the server and its watchman at once and waits until it is gone. It is idempotent.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // no such process: it is gone already
	<-p.exited
	p.leash.Close()
}

// await calls ready until it succeeds, and fails once the server is gone, ctx ends or the limit is reached.
func (p *process) await(ctx context.Context, limit time.Duration, ready func() error) error {
	for deadline := time.Now().Add(limit); ; {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%w: %s", p.err, p.tail())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not ready within %v: %w: %s", limit, err, p.tail())
		}
	}
}

// tail is the end of what the server printed.
func (p *process) tail() string {
	text, err := os.ReadFile(p.logPath)
	if err != nil {
		return err.Error()
	}
	const most = 2000
	return strings.TrimSpace(string(text[max(0, len(text)-most):]))
}

// freePort returns a port that nobody listens on, below those that the kernel deals out: a client that dials a stopped
// server from the very port it dials would else be connected to itself.
func freePort(from int) (int, error) {
	const ephemeral = 32768
	for port := from; port < ephemeral; port++ {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		return port, listener.Close()
	}
	return 0, fmt.Errorf("no free port from %d to %d", from, ephemeral)
}
