// Command local runs a whole flow on this machine: two Kafka clusters, the state table, the built functions under a Lambda Runtime
// API, the trigger that feeds one and the schedule that ticks the other.
//
//	go run ./infra/local            keeps it running and prints how to produce and consume
//	go run ./infra/local -demo      mirrors some records, kills the function twice on the way, compares both logs,
//	                                fails consumer groups over, and ends
//	go run ./infra/local produce    writes records to a topic
//	go run ./infra/local consume    lists a topic's records
//	go run ./infra/local status     shows a topic's partitions
//
// The clusters and the table are embedded, unless -source-brokers, -target-brokers or -dynamodb name others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "local:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out *os.File) error {
	if len(args) > 0 {
		switch args[0] {
		case "produce":
			return produce(ctx, args[1:], out)
		case "consume":
			return consume(ctx, args[1:], out)
		case "status":
			return status(ctx, args[1:], out)
		}
	}
	s, err := parse(args)
	if err != nil {
		return err
	}
	log, err := os.CreateTemp("", "tidemark-*.log")
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	if err := s.serve(ctx, out, log); err != nil {
		return fmt.Errorf("%w\nwhat the stack and the function logged: %s", err, log.Name())
	}
	return os.Remove(log.Name())
}

// settings are what the command line says.
type settings struct {
	source, target, dynamoDB string
	topic                    string
	partitions               int
	pollers, batch           int
	mirror, checkpoint       string
	demo                     bool
	records                  int
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("local", flag.ContinueOnError)
	flags.StringVar(&s.source, "source-brokers", "", "comma list of host:port; empty: an embedded cluster")
	flags.StringVar(&s.target, "target-brokers", "", "comma list of host:port; empty: an embedded cluster")
	flags.StringVar(&s.dynamoDB, "dynamodb", "", "URL of a DynamoDB; empty: an embedded one")
	flags.StringVar(&s.topic, "topic", "orders", "the topic to mirror; made on the source if missing")
	flags.IntVar(&s.partitions, "partitions", 6, "partitions of the topic if it is made")
	flags.IntVar(&s.pollers, "pollers", 3, "invocations at a time")
	flags.IntVar(&s.batch, "batch", 100, "records an invocation")
	flags.StringVar(&s.mirror, "mirror", "", "the built function; empty: build it into bin/mirror")
	flags.StringVar(&s.checkpoint, "checkpoint", "", "the built function; empty: build it into bin/checkpoint")
	flags.BoolVar(&s.demo, "demo", false, "mirror some records, kill the function twice, compare both logs, fail groups over, end")
	flags.IntVar(&s.records, "records", 20_000, "records of the demo")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	if flags.NArg() > 0 {
		return settings{}, fmt.Errorf("unknown command %q: want produce, consume, status or flags", flags.Arg(0))
	}
	return s, nil
}

// serve starts the stack and runs the demo on it, or keeps it running until it is interrupted.
func (s settings) serve(ctx context.Context, out, log *os.File) error {
	stack, err := start(ctx, s, log, slog.New(slog.NewJSONHandler(log, nil)))
	defer stack.close()
	if err != nil {
		return err
	}
	table := newTable(out)
	if s.demo {
		return demo(ctx, stack, table, s.records)
	}
	printUse(out, stack, log.Name())
	return stack.watch(ctx, table)
}

func printUse(out io.Writer, s *stack, log string) {
	fmt.Fprintf(out, `source    %[1]s   topic %[3]s
target    %[2]s   topic %[4]s
dynamodb  %[5]s   table %[6]s
log       %[7]s

Any Kafka client will do. To produce records with everything odd in them, and to list what arrived:

  go run ./infra/local produce -brokers %[1]s -topic %[3]s
  go run ./infra/local consume -brokers %[2]s -topic %[4]s

To see how far each partition is, and what to do about one that does not get on:

  go run ./infra/local status -source-brokers %[1]s -target-brokers %[2]s -dynamodb %[5]s

Each minute the checkpoint function writes offset syncs, and checkpoints of the source's consumer groups (us.checkpoints.internal).

Ctrl-C ends it.

`, strings.Join(s.bed.Source, ","), strings.Join(s.bed.Target, ","), s.topic, s.remote(), s.bed.DynamoDB, s.bed.Table, log)
}
