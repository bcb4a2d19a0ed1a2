// Package bed is the ground a flow stands on: a source cluster, a target cluster and a DynamoDB with the state table. Each is
// embedded, on loopback, unless an address of one that runs is given.
//
// Embedded clusters hold everything in memory. What is given is reached in plaintext by the wire protocol alone, and kept.
package bed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/dynamo"
	"tidemark/shared/dynamostate"
)

// Options say what is there already. The zero value embeds everything.
type Options struct {
	Source, Target []string // brokers, host:port; nil: an embedded cluster
	DynamoDB       string   // URL; empty: an embedded one
	Table          string   // made if missing; empty: "tidemark"
}

// Bed is a running bed.
type Bed struct {
	Source, Target []string // brokers, host:port
	DynamoDB       string   // URL
	Table          string
	State          *dynamostate.Store // of Table

	stops []func()
}

// Start starts what is not given and makes the state table. Close the bed in the end, also after an error.
func Start(ctx context.Context, o Options) (*Bed, error) {
	b := &Bed{Source: o.Source, Target: o.Target, DynamoDB: o.DynamoDB, Table: o.Table}
	if b.Table == "" {
		b.Table = "tidemark"
	}
	var errSource, errTarget error
	if len(b.Source) == 0 {
		b.Source, errSource = b.cluster("source")
	}
	if len(b.Target) == 0 {
		b.Target, errTarget = b.cluster("target")
	}
	if err := errors.Join(errSource, errTarget); err != nil {
		return b, err
	}
	if b.DynamoDB == "" {
		server := dynamo.Start()
		b.stops = append(b.stops, server.Close)
		b.DynamoDB = server.URL
	}
	api := dynamodb.New(dynamodb.Options{
		BaseEndpoint: &b.DynamoDB, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}, dynamostate.Options)
	b.State = dynamostate.New(api, b.Table)
	return b, makeTable(ctx, api, b.Table)
}

// cluster embeds a cluster. Three brokers, so that what is sent to the wrong one shows.
func (b *Bed) cluster(id string) ([]string, error) {
	const brokers = 3
	c, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.ClusterID(id))
	if err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", id, err)
	}
	b.stops = append(b.stops, c.Close)
	return c.ListenAddrs(), nil
}

// makeTable makes the state table unless it is there, and waits until it can be used.
func makeTable(ctx context.Context, api *dynamodb.Client, table string) error {
	key := "partition"
	made, err := api.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            &table,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &key, AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: &key, KeyType: types.KeyTypeHash}},
	})
	if _, exists := errors.AsType[*types.ResourceInUseException](err); exists {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create table %s: %w", table, err)
	}
	if made.TableDescription.TableStatus != types.TableStatusCreating { // emulators are done at once
		return nil
	}
	const limit = time.Minute
	if err := dynamodb.NewTableExistsWaiter(api).Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table}, limit); err != nil {
		return fmt.Errorf("await table %s: %w", table, err)
	}
	return nil
}

// CreateTopic makes a topic on the source. The brokers' defaults decide the rest, and a topic that is there is left as it is.
func (b *Bed) CreateTopic(ctx context.Context, topic string, partitions int32) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Source...))
	if err != nil {
		return fmt.Errorf("open source: %w", err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(ctx, partitions, -1, nil, topic); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	return nil
}

// Close stops what [Start] started.
func (b *Bed) Close() {
	for _, stop := range b.stops {
		stop()
	}
	b.stops = nil
}
