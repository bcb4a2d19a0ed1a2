package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/infra/local/bed"
	"tidemark/infra/local/mapping"
	"tidemark/infra/local/runtimeapi"
)

// The flow's aliases: the remote topic of "orders" is "us.orders".
const (
	sourceAlias = "us"
	targetAlias = "eu"
)

// stack is everything that runs.
type stack struct {
	bed      *bed.Bed
	topic    string
	function *runtimeapi.Function
	trigger  *mapping.Mapping
	lambda   *lambdaAPI
	schedule *scheduler
	observer *observer

	broken chan error // an [runtimeapi.InitError]: the function does not start
}

// start builds the function if need be and starts everything but the trigger. Close the stack in the end, also after an error.
func start(ctx context.Context, s settings, output io.Writer, log *slog.Logger) (*stack, error) {
	st := &stack{topic: s.topic, broken: make(chan error, 1)}
	mirror, err := build(ctx, "mirror", s.mirror)
	if err != nil {
		return st, err
	}
	checkpoint, err := build(ctx, "checkpoint", s.checkpoint)
	if err != nil {
		return st, err
	}
	st.bed, err = bed.Start(ctx, bed.Options{Source: brokers(s.source), Target: brokers(s.target), DynamoDB: s.dynamoDB})
	if err != nil {
		return st, err
	}
	if err := st.bed.CreateTopic(ctx, s.topic, int32(s.partitions)); err != nil {
		return st, err
	}
	env := []string{
		"SOURCE_CLUSTER_ALIAS=" + sourceAlias,
		"TARGET_CLUSTER_ALIAS=" + targetAlias,
		"SOURCE_BOOTSTRAP_SERVERS=" + strings.Join(st.bed.Source, ","),
		"TARGET_BOOTSTRAP_SERVERS=" + strings.Join(st.bed.Target, ","),
		"STATE_TABLE=" + st.bed.Table,
		"TOPICS=" + regexp.QuoteMeta(s.topic),
		"OFFSET_SYNCS_TOPIC_REPLICATION_FACTOR=-1", "CHECKPOINTS_TOPIC_REPLICATION_FACTOR=-1", "HEARTBEATS_TOPIC_REPLICATION_FACTOR=-1",
		"AWS_ENDPOINT_URL_DYNAMODB=" + st.bed.DynamoDB,
	}
	st.function = runtimeapi.New(mirror, runtimeapi.Options{Name: "mirror", Concurrency: s.pollers, Output: output, Log: log, Env: env})
	st.lambda, err = serveLambda(ctx, st.function, log)
	if err != nil {
		return st, err
	}
	env = append(env, "AWS_ENDPOINT_URL_LAMBDA="+st.lambda.url, "MIRROR_FUNCTION_NAME=mirror")
	st.schedule = &scheduler{
		function: runtimeapi.New(checkpoint, runtimeapi.Options{Name: "checkpoint", Concurrency: 1, Output: output, Log: log, Env: env}),
		every:    time.Minute, apart: time.Minute, log: log,
	}
	if s.demo {
		st.schedule.every = demoTick
	}
	st.trigger = mapping.New(st.bed.Source, s.topic, st.invoke, mapping.Options{BatchSize: s.batch, Pollers: s.pollers, Log: log})
	st.observer, err = newObserver(st.bed, s.topic, st.remote())
	return st, err
}

// build makes a function from this module's source, as it is deployed, and returns its path; given is used as it is.
func build(ctx context.Context, function, given string) (string, error) {
	path, err := filepath.Abs(given)
	if given != "" || err != nil {
		return path, err
	}
	if path, err = filepath.Abs(filepath.Join("bin", function)); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w", //nolint:gosec // fixed but for the working directory
		"-o", path, "tidemark/functions/"+function)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", path, err, out)
	}
	return path, nil
}

// brokers splits a comma list; empty is none.
func brokers(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// remote is the name of the topic's copy under MirrorMaker's default policy.
func (s *stack) remote() string { return sourceAlias + "." + s.topic }

// invoke is the trigger's way to the function. A function that does not start is no fault of the event: trying again is no use.
func (s *stack) invoke(ctx context.Context, payload []byte) ([]byte, error) {
	answer, err := s.function.Invoke(ctx, payload)
	if _, ok := errors.AsType[*runtimeapi.InitError](err); ok {
		select {
		case s.broken <- err:
		default:
		}
	}
	return answer, err
}

// run lets the trigger and the schedule work until ctx ends, and returns nil then.
func (s *stack) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.trigger.Run(ctx) })
	group.Go(func() error { return s.schedule.run(ctx) })
	group.Go(func() error {
		select {
		case err := <-s.broken:
			return err
		case <-ctx.Done():
			return nil
		}
	})
	return group.Wait()
}

// watch runs the trigger and shows the table until ctx ends.
func (s *stack) watch(ctx context.Context, t *table) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.run(ctx) })
	group.Go(func() error { return s.show(ctx, t) })
	return group.Wait()
}

// show keeps the table up to date until ctx ends.
func (s *stack) show(ctx context.Context, t *table) error {
	tick := time.NewTicker(t.every())
	defer tick.Stop()
	for {
		rows, err := s.observer.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // the look was cut off
		case err != nil:
			return err
		}
		t.draw(rows)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *stack) close() {
	if s.observer != nil {
		s.observer.close()
	}
	if s.lambda != nil {
		s.lambda.close()
	}
	if s.function != nil {
		s.function.Close()
	}
	if s.schedule != nil {
		s.schedule.function.Close()
	}
	if s.bed != nil {
		s.bed.Close()
	}
}
