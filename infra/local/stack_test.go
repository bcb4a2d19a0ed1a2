package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/runtimeapi"
	"tidemark/infra/local/traffic"
)

// launch starts a stack with a function, made by the way of a flag.
func launch(t *testing.T, mirror string) (*stack, *table) {
	t.Helper()
	s, err := parse([]string{"-mirror", mirror, "-partitions", "2", "-pollers", "2"})
	if err != nil {
		t.Fatal(err)
	}
	output, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { output.Close() })
	stack, err := start(t.Context(), s, output, slog.New(slog.DiscardHandler))
	t.Cleanup(stack.close)
	if err != nil {
		t.Fatal(err)
	}
	return stack, newTable(output)
}

func TestStackMirrorsThroughTheBuiltFunction(t *testing.T) {
	t.Parallel()
	mirror := filepath.Join(t.TempDir(), "mirror")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", mirror, "tidemark/functions/mirror")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build mirror: %v\n%s", err, out)
	}
	s, table := launch(t, mirror)
	if err := traffic.Produce(t.Context(), s.bed.Source, s.topic, traffic.Load{Seed: 3, Records: 1000}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	rows, err := s.settle(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("run = %v", err)
	}
	if err := s.verdict(t.Context(), table, rows); err != nil {
		t.Errorf("verdict = %v", err)
	}
	for p, r := range rows {
		if r.next() != 500 || r.target != 500 || r.state.Epoch == 0 {
			t.Errorf("partition %d: watermark %d, target end %d, epoch %d, want 500, 500, some", p, r.next(), r.target, r.state.Epoch)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	s, table := launch(t, "unused")
	target, err := kgo.NewClient(kgo.SeedBrokers(s.bed.Target...))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	if _, err := kadm.NewClient(target).CreateTopic(t.Context(), 2, -1, nil, s.remote()); err != nil {
		t.Fatal(err)
	}
	want := func(what string, rows []row, want error) {
		t.Helper()
		if got := s.verdict(t.Context(), table, rows); !errors.Is(got, want) {
			t.Errorf("verdict on %s = %v, want %v", what, got, want)
		}
	}
	rows := make([]row, 2)
	want("two empty logs", rows, nil)
	rows[1].source = 1
	want("a watermark behind the source's end", rows, errDifferent)
	rows[1].source, rows[1].state.DownstreamNext = 0, 1
	want("a watermark past the target's end", rows, errDifferent)
	want("a partition without a watermark", rows[:1], errDifferent)
	if err := traffic.Produce(t.Context(), s.bed.Source, s.topic, traffic.Load{Records: 1}); err != nil {
		t.Fatal(err)
	}
	want("a lost record", make([]row, 2), errDifferent)
}

func TestRunEndsWhenTheFunctionDoesNotStart(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("false"); err != nil {
		t.Skip("no program called false on this machine")
	}
	program, _ := exec.LookPath("false")
	s, _ := launch(t, program)
	if err := traffic.Produce(t.Context(), s.bed.Source, s.topic, traffic.Load{Records: 1}); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*runtimeapi.InitError](s.run(t.Context())); !ok {
		t.Error("run with a function that does not start = no InitError")
	}
}
