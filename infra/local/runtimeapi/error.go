package runtimeapi

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrClosed is returned by [Function.Invoke] once [Function.Close] was called.
var ErrClosed = errors.New("function closed")

// The values of [FunctionError.Type] that the environment itself sets, spelt as Lambda spells them. Every other value is the
// function's own.
const (
	TypeTimeout = "Sandbox.Timedout"  // the invocation was running at its deadline; the process was killed
	TypeExit    = "Runtime.ExitError" // the process ended, or was killed, before it answered
)

// FunctionError is an invocation that the function, or the loss of its process, failed. A trigger delivers the event again.
type FunctionError struct {
	RequestID string
	Type      string // [TypeTimeout], [TypeExit], or the name of the function's error type
	Message   string
	Output    string // the end of what the process printed, when it is gone; else empty
}

// Error names the invocation, the type and the function's message.
func (e *FunctionError) Error() string {
	return fmt.Sprintf("invoke %s: %s: %s", e.RequestID, e.Type, e.Message)
}

// InitError is a process that ended, or hung, before it asked for its first event: mostly a wrong setting. Every further
// invocation is likely to end alike.
type InitError struct {
	Output string // the end of what the process printed
	Err    error  // how the process ended, or what it reported to the API's init error path
}

// Error gives the reason and what the process printed last.
func (e *InitError) Error() string {
	return fmt.Sprintf("start function: %v: %s", e.Err, e.Output)
}

// Unwrap returns Err.
func (e *InitError) Unwrap() error { return e.Err }

// report is the body that a runtime posts to an error path.
type report struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// functionError reads a posted report. One that is not JSON is kept whole as the message: it is all there is.
func functionError(requestID string, body []byte) *FunctionError {
	var r report
	if err := json.Unmarshal(body, &r); err != nil {
		r = report{Type: "Runtime.Unknown", Message: string(body)}
	}
	return &FunctionError{RequestID: requestID, Type: r.Type, Message: r.Message}
}
