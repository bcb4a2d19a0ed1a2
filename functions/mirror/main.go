// Command mirror is the function behind the Kafka triggers: it mirrors one event.
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"tidemark/shared/config"
	"tidemark/shared/dynamostate"
	"tidemark/shared/emf"
	"tidemark/shared/kafkaclient"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/mirror"
)

func main() {
	log := lambdacontext.NewLogger()
	handler, err := setup(context.Background(), os.Getenv, log)
	if err != nil {
		log.ErrorContext(context.Background(), "start mirror", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

func setup(ctx context.Context, getenv config.Getenv, log *slog.Logger) (lambda.Handler, error) {
	c, err := config.LoadMirror(getenv)
	if err != nil {
		return nil, err
	}
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	source, target, err := kafkaclient.Open(c.Source, c.Target, c.ReplicationFactor, kafkaclient.NewAccess(sdk), log)
	if err != nil {
		return nil, err
	}
	state := dynamostate.New(dynamodb.NewFromConfig(sdk, dynamostate.Options), c.StateTable)
	metrics := emf.New(os.Stdout, c.MetricsNamespace, c.String())
	start := mirror.Start{At: c.Start.At}
	if c.Start.Latest {
		start.Seen = state.Wait
	}
	task := mirror.NewTask(source, target, state, c.Remote, mirror.Options{
		Metrics: metrics, Log: log, Wait: c.Wait, Start: start, DeadLetter: c.DeadLetterTopic,
	})
	flush := func() { _ = metrics.Flush(time.Now()) } // standard output is Lambda's: nobody to tell
	triggers := kafkaevent.NewHandler(task, log, kafkaevent.Options{Report: kafkaevent.Report(c.DeliveryReport), Flush: flush})
	return entry{triggers: triggers, task: task, log: log, flush: flush}, nil
}
