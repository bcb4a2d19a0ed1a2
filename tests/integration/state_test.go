//go:build integration

package integration

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"tidemark/infra/local/mapping"
	"tidemark/shared/dynamostate"
	"tidemark/shared/watermark/watermarktest"
)

// TestStateStore has a second emulator keep to the rules of the state item.
func TestStateStore(t *testing.T) {
	t.Parallel()
	api := dynamodb.New(dynamodb.Options{
		BaseEndpoint: &aws.url, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}, dynamostate.Options)
	createTable(t, api, "state-"+t.Name())
	watermarktest.Run(t, dynamostate.New(api, "state-"+t.Name()))
}

// TestMirrorWithSecondEmulator keeps the watermarks there.
func TestMirrorWithSecondEmulator(t *testing.T) {
	t.Parallel()
	const partitions, records = 4, 2500
	topic := source.topic(t, partitions)
	o := newOdd()
	o.write(t, topic, partitions, records)
	f := newFlow(t, topic, settings{dynamoDB: aws.url, trigger: mapping.Options{
		BatchSize: 1000, Pollers: 2, Faults: mapping.Faults{Redeliver: 3, Overlap: 2, Twice: 4},
	}})
	f.caughtUp(t, partitions, 2*time.Minute)
	if got := f.same(t, partitions); got != partitions*records {
		t.Errorf("compared %d records, want %d", got, partitions*records)
	}
}
