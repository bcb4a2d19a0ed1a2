// Command operator is what a person invokes: status, release and set-position of a flow's partitions, and its change of
// hands from and to MirrorMaker 2.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"tidemark/shared/config"
	"tidemark/shared/dynamostate"
	"tidemark/shared/handover"
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
	source, target, err := kafkaclient.Open(c.Source, c.Target, c.ReplicationFactor, kafkaclient.NewAccess(sdk), log)
	if err != nil {
		return operator{}, err
	}
	writer, err := target.Writer()
	if err != nil {
		return operator{}, err
	}
	state := dynamostate.New(dynamodb.NewFromConfig(sdk, dynamostate.Options), c.StateTable)
	topics := mm2.TopicFilter{Policy: c.Policy, TargetAlias: c.Names.Target, Selected: c.Topics.Match}.ShouldReplicate
	return operator{
		flow: operate.Flow{Source: source.Admin(), Target: target.Admin(), States: state, Topics: topics, Remote: c.Remote},
		task: operate.NewTask(state, audit(log)),
		hands: handover.Flow{
			Source: source, SourceAdmin: source.Admin(), Target: target, TargetAdmin: target.Admin(), Writer: writer, States: state,
			Names: c.Names, Topics: topics, Remote: c.Remote, Replication: c.OffsetSyncsReplicationFactor,
		},
		log: log,
	}, nil
}
