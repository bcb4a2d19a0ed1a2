package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"tidemark/infra/local/runtimeapi"
)

// lambdaAPI is the part of Lambda's own API that the checkpoint function uses: an asynchronous Invoke, answered with 202 at
// once and never repeated, as the template has it. There is one function to invoke, whatever name is asked for.
type lambdaAPI struct {
	server *http.Server
	url    string
}

// serveLambda serves invocations of function until close.
func serveLambda(ctx context.Context, function *runtimeapi.Function, log *slog.Logger) (*lambdaAPI, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /2015-03-31/functions/{name}/invocations", func(w http.ResponseWriter, r *http.Request) {
		payload, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		go func() {
			if _, err := function.Invoke(ctx, payload); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "asynchronous invocation failed", "error", err)
			}
		}()
	})
	a := &lambdaAPI{server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}, url: "http://" + listener.Addr().String()}
	go func() { _ = a.server.Serve(listener) }() // ends with close
	return a, nil
}

func (a *lambdaAPI) close() { _ = a.server.Close() }
