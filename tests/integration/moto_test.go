//go:build integration

package integration

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// moto is the second emulator: DynamoDB and Secrets Manager. Behind url, requests are served one at a time: moto serves them
// on threads, and two conditional updates that meet can both see the old item.
type moto struct {
	*process
	*httptest.Server
	url string
}

// stop stops both.
func (m *moto) stop() {
	m.Close()
	m.kill()
}

// oneAtATime is a way to a server that takes one request after the other.
func oneAtATime(server *url.URL) http.Handler {
	var mu sync.Mutex
	proxy := httputil.NewSingleHostReverseProxy(server)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		proxy.ServeHTTP(w, r)
	})
}

func startMoto(ctx context.Context, dir string, port int) (*moto, error) {
	port, err := freePort(port)
	if err != nil {
		return nil, err
	}
	p, err := run(filepath.Join(dir, "moto.log"), []string{"PYTHONPATH=" + os.Getenv("TIDEMARK_MOTO")},
		"python3", "-m", "moto.server", "-H", "127.0.0.1", "-p", strconv.Itoa(port))
	if err != nil {
		return nil, err
	}
	server := &url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(port)}
	const limit = time.Minute
	if err := p.await(ctx, limit, func() error {
		answer, err := http.Get(server.String() + "/moto-api/")
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}); err != nil {
		p.kill()
		return nil, fmt.Errorf("start moto: %w", err)
	}
	proxy := httptest.NewServer(oneAtATime(server))
	return &moto{process: p, Server: proxy, url: proxy.URL}, nil
}
