//go:build integration

package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// moto is the second emulator: DynamoDB and Secrets Manager.
type moto struct {
	*process
	url string
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
	m := &moto{process: p, url: "http://127.0.0.1:" + strconv.Itoa(port)}
	const limit = time.Minute
	if err := p.await(ctx, limit, func() error {
		answer, err := http.Get(m.url + "/moto-api/")
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}); err != nil {
		return nil, fmt.Errorf("start moto: %w", err)
	}
	return m, nil
}
