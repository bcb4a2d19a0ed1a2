package dynamostate_test

import (
	"context"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"tidemark/infra/local/dynamo"

	"tidemark/shared/dynamostate"
	"tidemark/shared/watermark/watermarktest"
)

// endpoint names the environment variable under which another emulator can be put to the same suite.
const endpoint = "TIDEMARK_TEST_DYNAMODB"

func TestConformance(t *testing.T) {
	t.Parallel()
	url := os.Getenv(endpoint)
	if url == "" {
		emulator := dynamo.Start()
		t.Cleanup(emulator.Close)
		url = emulator.URL
	}
	watermarktest.Run(t, dynamostate.New(open(t, url), table(t, open(t, url))))
}

func open(t *testing.T, url string) *dynamodb.Client {
	t.Helper()
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(url), Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}, dynamostate.Options)
}

// table makes a table of the contract's shape and returns its name.
func table(t *testing.T, api *dynamodb.Client) string {
	t.Helper()
	name := "state-" + t.Name()
	_, err := api.CreateTable(context.WithoutCancel(t.Context()), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("partition"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("partition"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		t.Fatalf("create table: %v", err)
	}
	return name
}
