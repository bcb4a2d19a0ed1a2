// Command checkpoint is the function behind the schedule: it writes offset syncs and checkpoints and measures watermarks.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	lambdaapi "github.com/aws/aws-sdk-go-v2/service/lambda"

	"tidemark/shared/checkpoint"
	"tidemark/shared/config"
	"tidemark/shared/dynamostate"
	"tidemark/shared/emf"
	"tidemark/shared/invoke"
	"tidemark/shared/kafkaclient"
)

func main() {
	log := lambdacontext.NewLogger()
	handler, err := setup(context.Background(), os.Getenv, log)
	if err != nil {
		log.ErrorContext(context.Background(), "start checkpoint", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

func setup(ctx context.Context, getenv config.Getenv, log *slog.Logger) (func(context.Context, checkpoint.Tick) error, error) {
	c, err := config.LoadCheckpoint(getenv)
	if err != nil {
		return nil, err
	}
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	source, target, err := kafkaclient.OpenForCheckpoints(c.Source, c.Target, kafkaclient.NewAccess(sdk), log)
	if err != nil {
		return nil, err
	}
	state := dynamostate.New(dynamodb.NewFromConfig(sdk, dynamostate.Options), c.StateTable)
	metrics := emf.New(os.Stdout, c.MetricsNamespace, c.String())
	words := flow(c)
	if c.MirrorFunction != "" {
		words.CatchUp = invoke.New(lambdaapi.NewFromConfig(sdk), c.MirrorFunction).CatchUp
	}
	if c.Start.Latest {
		words.Seeds = state
	}
	task := checkpoint.NewTask(words, source, target, state, state, metrics, log)
	return func(ctx context.Context, tick checkpoint.Tick) error {
		err := task.Run(ctx, tick.At(time.Now()))
		return errors.Join(err, metrics.Flush(time.Now()))
	}, nil
}
