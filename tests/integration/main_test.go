//go:build integration

package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

var seed = flag.Uint64("seed", 1, "of everything random in the tests")

// The servers that the tests share.
var (
	source, target *broker
	aws            *moto
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "set up:", err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (int, error) {
	for _, name := range []string{"TIDEMARK_KAFKA", "TIDEMARK_MOTO", "TIDEMARK_MIRROR", "TIDEMARK_CHECKPOINT", "TIDEMARK_OPERATOR"} {
		if os.Getenv(name) == "" {
			return 0, fmt.Errorf("%s is not set: run make integration", name)
		}
	}
	dir, err := os.MkdirTemp("", "tidemark")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	defer stopAll()
	if err := startAll(context.Background(), dir); err != nil {
		return 0, err
	}
	fmt.Printf("two brokers and moto are up after %v, seed %d\n", time.Since(began).Round(time.Millisecond), *seed)
	return m.Run(), nil
}

func startAll(ctx context.Context, dir string) error {
	// Apart, so that no two look for the same, and neither do two runs at once: a port that was free may be gone when its
	// server wants it.
	ours := os.Getpid() % 200 * 5
	sourcePort, targetPort, motoPort := 21000+ours, 22000+ours, 23000+ours
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		if source, err = newBroker(dir, "source", sourcePort); err == nil {
			err = source.start(ctx)
		}
		return err
	})
	group.Go(func() (err error) {
		if target, err = newBroker(dir, "target", targetPort); err == nil {
			err = target.start(ctx)
		}
		return err
	})
	group.Go(func() (err error) {
		aws, err = startMoto(ctx, dir, motoPort)
		return err
	})
	return group.Wait()
}

func stopAll() {
	for _, b := range []*broker{source, target} {
		if b != nil {
			b.stop()
		}
	}
	if aws != nil {
		aws.stop()
	}
}
