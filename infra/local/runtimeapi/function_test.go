package runtimeapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"tidemark/infra/local/runtimeapi"
)

// TestMain turns the test binary into the function under test when it is started as one.
func TestMain(m *testing.M) {
	switch os.Getenv("STUB") {
	case "":
		os.Exit(m.Run())
	case "init":
		fmt.Fprintln(os.Stderr, "TARGET_BOOTSTRAP_SERVERS: missing")
		os.Exit(3)
	case "hang":
		time.Sleep(time.Hour)
	default:
		lambda.Start(stub)
	}
}

// order is the stub's event: what to do with it.
type order struct {
	Do    string
	Say   string // printed first, on a line
	Sleep time.Duration
}

// seen is the stub's answer: who it was, and what it saw.
type seen struct {
	PID      int
	Request  string
	ARN      string
	Deadline time.Duration // left when the event came
	Env      map[string]string
}

func stub(ctx context.Context, o order) (seen, error) {
	if o.Say != "" {
		fmt.Fprintln(os.Stderr, o.Say)
	}
	time.Sleep(o.Sleep)
	switch o.Do {
	case "fail":
		return seen{}, errors.New("orders-3: broker gone")
	case "panic":
		panic("bug")
	case "exit":
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(7)
	}
	lc, _ := lambdacontext.FromContext(ctx)
	deadline, _ := ctx.Deadline()
	env := make(map[string]string)
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return seen{PID: os.Getpid(), Request: lc.AwsRequestID, ARN: lc.InvokedFunctionArn, Deadline: time.Until(deadline), Env: env}, nil
}

// start returns a function that runs the stub.
func start(t *testing.T, mode string, o runtimeapi.Options) *runtimeapi.Function {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Env = append(o.Env, "STUB="+mode)
	f := runtimeapi.New(self, o)
	t.Cleanup(f.Close)
	return f
}

func invoke(t *testing.T, f *runtimeapi.Function, o order) (seen, error) {
	t.Helper()
	payload, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := f.Invoke(t.Context(), payload)
	if err != nil {
		return seen{}, err
	}
	var s seen
	if err := json.Unmarshal(answer, &s); err != nil {
		t.Fatalf("Invoke answered %q: %v", answer, err)
	}
	return s, nil
}

func TestInvokeTellsTheFunctionWhereItRuns(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "of this machine")
	t.Setenv("AWS_PROFILE", "of this machine")
	f := start(t, "on", runtimeapi.Options{Name: "mirror", Timeout: 9 * time.Second, Env: []string{"STATE_TABLE=state"}})
	s, err := invoke(t, f, order{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Request == "" || s.Deadline <= 0 || s.Deadline > 9*time.Second {
		t.Errorf("request %q, deadline in %v, want one in at most 9s", s.Request, s.Deadline)
	}
	if want := "arn:aws:lambda:us-east-1:000000000000:function:mirror"; s.ARN != want {
		t.Errorf("ARN = %q, want %q", s.ARN, want)
	}
	want := map[string]string{
		"AWS_LAMBDA_FUNCTION_NAME": "mirror", "_HANDLER": "bootstrap", "AWS_REGION": "us-east-1",
		"AWS_SECRET_ACCESS_KEY": "local", "AWS_PROFILE": "", "STATE_TABLE": "state",
	}
	got := make(map[string]string)
	for name := range want {
		got[name] = s.Env[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if s.Env["LAMBDA_TASK_ROOT"] == "" {
		t.Error("LAMBDA_TASK_ROOT is not set")
	}
}

func TestInvokeReusesTheProcess(t *testing.T) {
	t.Parallel()
	f := start(t, "on", runtimeapi.Options{})
	first, err := invoke(t, f, order{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := invoke(t, f, order{Do: "fail"}); err == nil {
		t.Fatal("Invoke(fail) = nil error")
	}
	second, err := invoke(t, f, order{})
	if err != nil {
		t.Fatal(err)
	}
	if first.PID != second.PID || first.Request == second.Request {
		t.Errorf("processes %d, %d, want the same; requests %q, %q, want different", first.PID, second.PID, first.Request, second.Request)
	}
}

func TestInvokeFailure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		do          order
		wantType    string
		wantMessage string
		wantOutput  string // part of it
	}{
		{"error", order{Do: "fail"}, "errorString", "orders-3: broker gone", ""},
		{"panic", order{Do: "panic"}, "string", "bug", ""},
		{"exit", order{Do: "exit"}, runtimeapi.TypeExit, "exit status 7", "last words"},
		{"timeout", order{Sleep: time.Hour}, runtimeapi.TypeTimeout, "Task timed out after 1.00 seconds", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := start(t, "on", runtimeapi.Options{Timeout: time.Second})
			before, err := invoke(t, f, order{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = invoke(t, f, tt.do)
			failure, ok := errors.AsType[*runtimeapi.FunctionError](err)
			if !ok {
				t.Fatalf("Invoke(%s) = %v, want a FunctionError", tt.name, err)
			}
			if failure.Type != tt.wantType || failure.Message != tt.wantMessage {
				t.Errorf("Invoke(%s) = %s %q, want %s %q", tt.name, failure.Type, failure.Message, tt.wantType, tt.wantMessage)
			}
			if !strings.Contains(failure.Output, tt.wantOutput) {
				t.Errorf("output = %q, want %q in it", failure.Output, tt.wantOutput)
			}
			after, err := invoke(t, f, order{})
			if err != nil {
				t.Fatalf("Invoke after %s: %v", tt.name, err)
			}
			if lost := tt.name != "error"; lost != (before.PID != after.PID) {
				t.Errorf("process %d, then %d, want another one: %t", before.PID, after.PID, lost)
			}
		})
	}
}

func TestInvokeReportsAProcessThatDoesNotComeUp(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"init": "start function: exit status 3: TARGET_BOOTSTRAP_SERVERS: missing\n",
		"hang": "start function: no request for an event within 300ms: ",
	} {
		f := start(t, mode, runtimeapi.Options{InitTimeout: 300 * time.Millisecond})
		_, err := invoke(t, f, order{})
		if _, ok := errors.AsType[*runtimeapi.InitError](err); !ok || err.Error() != want {
			t.Errorf("Invoke(%s) = %v, want an InitError %q", mode, err, want)
		}
	}
}

// state is a process's letter in /proc: T is stopped by a signal.
func state(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no /proc/<pid>/stat here to see a process's state")
	}
	if err != nil {
		t.Fatal(err)
	}
	after := stat[bytes.LastIndexByte(stat, ')')+1:]
	return string(bytes.Fields(after)[0])
}

func TestProcessIsFrozenBetweenEvents(t *testing.T) {
	t.Parallel()
	f := start(t, "on", runtimeapi.Options{})
	for range 2 {
		s, err := invoke(t, f, order{})
		if err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(5 * time.Second) // a signal takes effect when the kernel gets to it
		for state(t, s.PID) != "T" {
			if time.Now().After(deadline) {
				t.Fatalf("state of process %d = %s, want T", s.PID, state(t, s.PID))
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func TestKillLosesTheNewestInvocation(t *testing.T) {
	t.Parallel()
	printed, output := io.Pipe()
	defer printed.Close()
	lines := bufio.NewReader(printed)
	f := start(t, "on", runtimeapi.Options{Concurrency: 3, Output: output})
	if k, ok := f.Kill(); ok {
		t.Fatalf("Kill() with nothing running = %+v", k)
	}
	begin := func(o order) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := invoke(t, f, o)
			done <- err
		}()
		if line, err := lines.ReadString('\n'); err != nil || line != o.Say+"\n" {
			t.Errorf("function printed %q, %v, want %q", line, err, o.Say)
		}
		return done
	}
	older := begin(order{Say: "older", Sleep: time.Second})
	newer := begin(order{Say: "newer", Sleep: time.Hour})
	third := begin(order{Say: "third", Sleep: time.Hour})
	if k, ok := f.KillWhere(func(payload []byte) bool { return bytes.Contains(payload, []byte("other")) }); ok {
		t.Fatalf("KillWhere(no match) = %+v", k)
	}
	if _, ok := f.KillWhere(func(payload []byte) bool { return bytes.Contains(payload, []byte("third")) }); !ok {
		t.Fatal("KillWhere(third) = false")
	}
	if err := <-third; err == nil {
		t.Error("third invocation succeeded, want it killed")
	}
	if k, ok := f.Kill(); !ok || k.PID == 0 || k.RequestID == "" || k.Ran <= 0 {
		t.Fatalf("Kill() = %+v, %t, want the newer invocation", k, ok)
	}
	failure, ok := errors.AsType[*runtimeapi.FunctionError](<-newer)
	if !ok || failure.Type != runtimeapi.TypeExit || failure.Message != "signal: killed" {
		t.Errorf("killed invocation = %v, want %s: signal: killed", failure, runtimeapi.TypeExit)
	}
	if err := <-older; err != nil {
		t.Errorf("invocation beside it = %v, want none", err)
	}
	if k, ok := f.Kill(); ok {
		t.Fatalf("Kill() with a frozen process only = %+v", k)
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	t.Parallel()
	f := start(t, "on", runtimeapi.Options{Concurrency: 2})
	pids := make(chan int, 6)
	for range cap(pids) {
		go func() {
			answer, err := f.Invoke(t.Context(), []byte(`{"Sleep":200000000}`))
			var s seen
			if err != nil || json.Unmarshal(answer, &s) != nil {
				t.Errorf("Invoke = %q, %v", answer, err)
			}
			pids <- s.PID
		}()
	}
	different := make(map[int]int)
	for range cap(pids) {
		different[<-pids]++
	}
	if len(different) != 2 {
		t.Errorf("6 concurrent invocations ran in %d processes, want 2", len(different))
	}
}

func TestInvokeOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	f := start(t, "on", runtimeapi.Options{Output: &out})
	first, err := invoke(t, f, order{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := f.Invoke(ctx, []byte(`{"Sleep":300000000}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Invoke beyond its caller's patience = %v, want %v", err, context.DeadlineExceeded)
	}
	second, err := invoke(t, f, order{})
	if err != nil || first.PID != second.PID {
		t.Errorf("next invocation = process %d, %v, want process %d, which went on", second.PID, err, first.PID)
	}
	f.Close()
	if _, err := invoke(t, f, order{}); !errors.Is(err, runtimeapi.ErrClosed) {
		t.Errorf("Invoke after Close = %v, want %v", err, runtimeapi.ErrClosed)
	}
}
