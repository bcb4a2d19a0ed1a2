package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/traffic"
)

// produce is the subcommand that writes records.
func produce(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("produce", flag.ContinueOnError)
	to := flags.String("brokers", "", "comma list of host:port")
	topic := flags.String("topic", "orders", "the topic")
	records := flags.Int("records", 1000, "how many")
	over := flags.Duration("over", 0, "how long to take for it")
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "what decides the records")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := traffic.Produce(ctx, brokers(*to), *topic, traffic.Load{Seed: *seed, Records: *records, Over: *over}); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d records are on %s\n", *records, *topic)
	return nil
}

// consume is the subcommand that lists a topic's records from the start, and goes on until ctx ends. It shows what there is of a
// record, not what is in it.
func consume(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("consume", flag.ContinueOnError)
	from := flags.String("brokers", "", "comma list of host:port")
	topic := flags.String("topic", sourceAlias+".orders", "the topic")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers(*from)...), kgo.ConsumeTopics(*topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return fmt.Errorf("open consumer: %w", err)
	}
	defer client.Close()
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil // it was told to stop
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("read %s-%d: %w", errs[0].Topic, errs[0].Partition, errs[0].Err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Fprintf(out, "partition %d  offset %d  %s  key %s  value %s  headers %d\n", r.Partition, r.Offset,
				r.Timestamp.UTC().Format("2006-01-02T15:04:05.000Z"), size(r.Key), size(r.Value), len(r.Headers))
		})
	}
}

// size tells null from empty.
func size(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%d B", len(b))
}
