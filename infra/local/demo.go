package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/infra/local/compare"
	"tidemark/infra/local/runtimeapi"
	"tidemark/infra/local/traffic"
)

const (
	demoLimit   = 58 * time.Second // it ends by itself within a minute
	demoTraffic = 8 * time.Second  // how long records are written
	demoKills   = 2                // that leave a partition claimed
	demoTick    = 2 * time.Second  // between two ticks of the schedule; their scheduled times are a minute apart
)

var errDifferent = errors.New("the copy is not right")

// demo writes records, kills the function twice while it carries them, waits until all have arrived, compares both logs, and fails consumer groups over. The
// kills come early and close together: a dead owner's claim has to run out before its partitions go on, and the two then run out
// side by side.
func demo(ctx context.Context, s *stack, t *table, records int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, demoLimit, fmt.Errorf("not done within %v", demoLimit))
	defer cancel()
	t.note("mirroring %s to %s: %d records", s.topic, s.remote(), records)

	running, stop := context.WithCancel(ctx)
	defer stop()
	background, running := errgroup.WithContext(running)
	background.Go(func() error { return s.run(running) })
	background.Go(func() error { return s.show(running, t) })

	work, working := errgroup.WithContext(running)
	work.Go(func() error {
		return traffic.Produce(working, s.bed.Source, s.topic, traffic.Load{Seed: 1, Records: records, Over: demoTraffic})
	})
	work.Go(func() error { return s.killTwice(working, t) })
	err := work.Wait()
	var rows []row
	if err == nil {
		rows, err = s.settle(running)
	}
	if err == nil {
		err = errors.Join(s.verdict(running, t, rows), s.failover(running, t, rows))
	}
	stop()
	// The cause of a cut-off is the background's fault, if there is one, or the limit.
	if fault := errors.Join(background.Wait(), context.Cause(ctx)); fault != nil {
		return fault
	}
	return err
}

// settle waits until every record has arrived, and returns what the table then shows.
func (s *stack) settle(ctx context.Context) ([]row, error) {
	for {
		rows, err := s.observer.look(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(rows, func(r row) bool { return !r.arrived() }) {
			return rows, nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// killTwice kills the function while it holds a claim, and again, on other partitions, while the first claim runs out.
func (s *stack) killTwice(ctx context.Context, t *table) error {
	ctx, cancel := context.WithTimeoutCause(ctx, demoTraffic, errors.New("no invocation could be caught in mid-flight: try more records"))
	defer cancel()
	dead := make(map[string]bool) // owners that were killed
	for range demoKills {
		if err := pause(ctx, demoTraffic/8); err != nil {
			return err
		}
		for left := ""; left == ""; {
			killed, err := s.kill(ctx, dead)
			if err == nil {
				left, err = s.left(ctx, dead)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return err
			}
			t.note("killed the function (process %d) %v into an invocation; left claimed: %s",
				killed.PID, killed.Ran.Round(time.Millisecond), cmp.Or(left, "nothing, so once more"))
		}
	}
	return nil
}

// kill waits until a living owner holds a partition's claim, and kills the invocation whose event holds that partition.
func (s *stack) kill(ctx context.Context, dead map[string]bool) (runtimeapi.Killed, error) {
	for {
		states, err := s.observer.states(ctx)
		if err != nil {
			return runtimeapi.Killed{}, err
		}
		for _, state := range states {
			if state.Owner == "" || dead[state.Owner] {
				continue
			}
			list := fmt.Appendf(nil, "%q:[", state.Partition)
			if killed, ok := s.function.KillWhere(func(event []byte) bool { return bytes.Contains(event, list) }); ok {
				return killed, nil
			}
		}
	}
}

// left says which partitions are held by an owner that gives no sign of life, and adds those owners to dead.
func (s *stack) left(ctx context.Context, dead map[string]bool) (string, error) {
	before, errBefore := s.observer.states(ctx)
	errPause := pause(ctx, 500*time.Millisecond)
	after, errAfter := s.observer.look(ctx)
	if err := errors.Join(errPause, errBefore, errAfter); err != nil {
		return "", err
	}
	var left []string
	for p, r := range after {
		if owner := r.state.Owner; owner != "" && owner == before[p].Owner && !dead[owner] {
			dead[owner] = true
			left = append(left, fmt.Sprintf("partition %d (%d records past its watermark are on the target)",
				p, r.target-max(r.state.DownstreamNext, 0)))
		}
	}
	return strings.Join(left, ", "), nil
}

// verdict compares both logs and each watermark with them, and prints what it finds.
func (s *stack) verdict(ctx context.Context, t *table, rows []row) error {
	report, err := compare.Topics(ctx, compare.NewHasher(),
		compare.Side{Brokers: s.bed.Source, Topic: s.topic}, compare.Side{Brokers: s.bed.Target, Topic: s.remote()})
	if err != nil {
		return err
	}
	right := report.Equal()
	t.note("all records have arrived; both logs, record by record:\n")
	t.print("partition  source  target    lost  duplicated  reordered  foreign  watermark: epoch    next  downstream")
	for p, c := range report {
		if p >= len(rows) {
			break
		}
		state := rows[p].state
		t.print("%9d  %6d  %6d  %6d  %10d  %9d  %7d  %16d  %6d  %10d", p, c.Source, c.Target,
			len(c.Lost), len(c.Duplicated), len(c.Reordered), len(c.Foreign), state.Epoch, state.Next, state.DownstreamNext)
	}
	for p, c := range report {
		if !c.Equal() {
			t.print("partition %d: %s", p, c.First)
		}
		if p >= len(rows) || rows[p].state.Next != rows[p].source || rows[p].state.DownstreamNext > rows[p].target {
			t.print("partition %d: the watermark is not at the ends of the logs", p)
			right = false
		}
	}
	if !right {
		return errDifferent
	}
	t.print("\nnothing lost, doubled, reordered or changed")
	return nil
}

// pause waits, or returns why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
