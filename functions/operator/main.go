// Command operator is what a person invokes: status, release and set-position of a flow's partitions.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"tidemark/shared/config"
	"tidemark/shared/dynamostate"
	"tidemark/shared/kafkaclient"
	"tidemark/shared/mm2"
	"tidemark/shared/operate"
)

func main() {
	log := lambdacontext.NewLogger()
	handler, err := setup(context.Background(), os.Getenv, log)
	if err != nil {
		log.ErrorContext(context.Background(), "start operator", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler.serve)
}

func setup(ctx context.Context, getenv config.Getenv, log *slog.Logger) (operator, error) {
	c, err := config.LoadCheckpoint(getenv)
	if err != nil {
		return operator{}, err
	}
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return operator{}, err
	}
	access := kafkaclient.NewAccess(sdk)
	source, errSource := kafkaclient.OpenSource(c.Source, access, log)
	target, errTarget := kafkaclient.OpenTarget(c.Target, access, log)
	if err := errors.Join(errSource, errTarget); err != nil {
		return operator{}, err
	}
	state := dynamostate.New(dynamodb.NewFromConfig(sdk, dynamostate.Options), c.StateTable)
	filter := mm2.TopicFilter{Policy: c.Policy, TargetAlias: c.Names.Target, Selected: c.Topics.Match}
	return operator{
		flow: operate.Flow{Source: source.Admin, Target: target.Admin, States: state, Topics: filter.ShouldReplicate, Remote: c.Remote},
		task: operate.NewTask(state, audit(log)),
	}, nil
}
