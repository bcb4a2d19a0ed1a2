package runtimeapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
)

// routes are the Runtime API's four paths.
func (e *environment) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", e.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", e.serveResponse)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", e.serveError)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", e.serveInitError)
	return mux
}

// serveNext parks the process until there is an event. That it asks says that it is done with the one before.
func (e *environment) serveNext(w http.ResponseWriter, r *http.Request) {
	select {
	case e.ready <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	select {
	case inv := <-e.events:
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", arn(e.function))
		h.Set("Lambda-Runtime-Trace-Id", "Root=1-00000000-000000000000000000000000;Sampled=0")
		_, _ = w.Write(inv.payload) // a process that is gone is noticed by its exit
	case <-r.Context().Done():
	}
}

// serveResponse takes the answer. A runtime that streams it announces a failure on the way in a trailer.
func (e *environment) serveResponse(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	id := r.PathValue("id")
	var fault *FunctionError
	if kind := r.Trailer.Get("Lambda-Runtime-Function-Error-Type"); kind != "" {
		fault = &FunctionError{RequestID: id, Type: kind, Message: "response broke off"}
	}
	accept(w, e.answer(id, body, fault))
}

func (e *environment) serveError(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	id := r.PathValue("id")
	accept(w, e.answer(id, nil, functionError(id, body)))
}

func (e *environment) serveInitError(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f := functionError("", body)
	e.mu.Lock()
	e.initFault = errors.New(f.Type + ": " + f.Message)
	e.mu.Unlock()
	accept(w, true)
}

// accept answers a post: 202, or 400 for a request id that is not the running one, as Lambda does.
func accept(w http.ResponseWriter, ok bool) {
	w.Header().Set("Content-Type", "application/json")
	if ok {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(report{Type: "InvalidRequestID", Message: "Invalid request ID"})
}
