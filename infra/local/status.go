package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/bed"
	"tidemark/shared/operate"
)

// status is the subcommand that shows the partitions of a topic, as the operator function does.
func status(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("status", flag.ContinueOnError)
	from := flags.String("source-brokers", "", "comma list of host:port")
	to := flags.String("target-brokers", "", "comma list of host:port")
	dynamoDB := flags.String("dynamodb", "", "URL of the DynamoDB")
	table := flags.String("table", "", "the state table; empty: the local stack's")
	topic := flags.String("topic", "orders", "the source topic")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *from == "" || *to == "" || *dynamoDB == "" {
		return errors.New("status needs -source-brokers, -target-brokers and -dynamodb, as the running stack prints them")
	}
	ground, err := bed.Start(ctx, bed.Options{Source: brokers(*from), Target: brokers(*to), DynamoDB: *dynamoDB, Table: *table})
	if err != nil {
		return err
	}
	defer ground.Close()
	source, err := kgo.NewClient(kgo.SeedBrokers(ground.Source...))
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := kgo.NewClient(kgo.SeedBrokers(ground.Target...))
	if err != nil {
		return err
	}
	defer target.Close()
	flow := operate.Flow{
		Source: kadm.NewClient(source), Target: kadm.NewClient(target), States: ground.State,
		Remote: func(topic string) (string, error) { return sourceAlias + "." + topic, nil },
	}
	partitions, err := flow.Status(ctx, *topic)
	if err != nil {
		return err
	}
	return printStatus(out, partitions)
}

func printStatus(out io.Writer, partitions []operate.Partition) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "partition\tsource\twatermark\tlag\ttarget end\tepoch\tstate")
	for _, p := range partitions {
		state := "idle"
		switch {
		case p.Error != "":
			state = "not known: " + p.Error
		case p.Stall != nil:
			state = fmt.Sprintf("stalled at %d since %s (%s): %s", p.Stall.Offset, p.Stall.Since.Format("15:04:05"), p.Stall.Kind, p.Stall.Reason)
		case p.ClaimedUntil != nil:
			state = "claimed until " + p.ClaimedUntil.Format("15:04:05") + " by " + p.Owner
		case p.Unsettled:
			state = "unsettled"
		}
		fmt.Fprintf(w, "%s-%d\t%d to %d\t%d\t%d\t%d\t%d\t%s\n", p.Topic, p.Partition, p.SourceStart, p.SourceEnd, p.Next, p.Lag, p.TargetEnd, p.Epoch, state)
		if p.Do != "" {
			fmt.Fprintf(w, "\t%s\n", p.Do)
		}
	}
	return w.Flush()
}
