//go:build integration

package integration

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"tidemark/infra/local/dynamo"
	"tidemark/infra/local/mapping"
	"tidemark/infra/local/runtimeapi"
	"tidemark/shared/dynamostate"
	"tidemark/shared/mm2"
)

// settings are what a test may want of a flow. The zero value is a function, its trigger and an embedded state table.
type settings struct {
	dynamoDB string   // the state table's URL; empty: an embedded one
	env      []string // of the function; wins
	trigger  mapping.Options
}

// flow mirrors a topic from the source to the target: trigger, built function and state table.
type flow struct {
	topic, remote string
	function      *runtimeapi.Function
	trigger       *mapping.Mapping
	store         *dynamostate.Store
	printed       string // the file with what the function printed

	mu       sync.Mutex
	failures []error // of invocations, in order
}

// newFlow starts to mirror a topic; it ends with the test.
func newFlow(t *testing.T, topic string, s settings) *flow {
	t.Helper()
	if s.dynamoDB == "" {
		emulator := dynamo.Start()
		t.Cleanup(emulator.Close)
		s.dynamoDB = emulator.URL
	}
	f := &flow{topic: topic, remote: "source." + topic, printed: filepath.Join(t.TempDir(), "function.log")}
	api := dynamodb.New(dynamodb.Options{
		BaseEndpoint: &s.dynamoDB, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}, dynamostate.Options)
	table := "state-" + topic
	createTable(t, api, table)
	f.store = dynamostate.New(api, table)

	output, err := os.Create(f.printed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { output.Close() })
	f.function = runtimeapi.New(os.Getenv("TIDEMARK_MIRROR"), runtimeapi.Options{
		Name: "mirror", Concurrency: max(s.trigger.Pollers, 1), Output: output,
		Env: append([]string{
			"SOURCE_CLUSTER_ALIAS=source", "TARGET_CLUSTER_ALIAS=target", "STATE_TABLE=" + table,
			"SOURCE_BOOTSTRAP_SERVERS=" + source.addr, "TARGET_BOOTSTRAP_SERVERS=" + target.addr,
			"AWS_ENDPOINT_URL_DYNAMODB=" + s.dynamoDB,
		}, s.env...),
	})
	t.Cleanup(f.function.Close)
	f.trigger = mapping.New([]string{source.addr}, topic, f.invoke, s.trigger)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := f.trigger.Run(ctx); err != nil {
			t.Errorf("trigger of %s: %v", topic, err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return f
}

func createTable(t *testing.T, api *dynamodb.Client, name string) {
	t.Helper()
	_, err := api.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: awssdk.String("partition"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: awssdk.String("partition"), AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		t.Fatalf("create table %s: %v", name, err)
	}
}

// invoke is what the trigger calls; it keeps how invocations failed.
func (f *flow) invoke(ctx context.Context, payload []byte) ([]byte, error) {
	answer, err := f.function.Invoke(ctx, payload)
	if err != nil && ctx.Err() == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.failures = append(f.failures, err)
	}
	return answer, err
}

// failed waits for a failed invocation that pick accepts, and returns its error.
func (f *flow) failed(t *testing.T, limit time.Duration, pick func(error) bool) error {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		f.mu.Lock()
		failures := f.failures
		f.mu.Unlock()
		for _, err := range failures {
			if pick(err) {
				return err
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no such failure within %v, but %d: %v", limit, len(failures), errors.Join(failures...))
		}
	}
}

// caughtUp waits until every partition's watermark stands at the source's end and its claim is released, and checks that
// the downstream position is the target's end. partitions are counted from 0.
func (f *flow) caughtUp(t *testing.T, partitions int32, limit time.Duration) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for p := range partitions {
		upstream, downstream := f.partition(p)
		end := source.end(t, upstream)
		for {
			state, err := f.store.Get(t.Context(), upstream)
			if err != nil {
				t.Fatal(err)
			}
			if state.Next == end && state.Owner == "" {
				if got := target.end(t, downstream); got != state.DownstreamNext {
					t.Errorf("downstream position of %s = %d, the target ends at %d", upstream, state.DownstreamNext, got)
				}
				break
			}
			if time.Now().After(deadline) {
				f.mu.Lock()
				defer f.mu.Unlock()
				t.Fatalf("%s is not caught up within %v: next %d, end %d, owner %q, stall %+v\ntrigger %+v\nfailures %v\nfunction: %s",
					upstream, limit, state.Next, end, state.Owner, state.Stall, f.trigger.Stats(), errors.Join(f.failures...), f.tail())
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// same compares both logs of every partition and returns the number of records.
func (f *flow) same(t *testing.T, partitions int32) (records int) {
	t.Helper()
	for p := range partitions {
		upstream, downstream := f.partition(p)
		records += compare(t, upstream, downstream)
	}
	return records
}

// partition names a partition on both sides.
func (f *flow) partition(p int32) (upstream, downstream mm2.TopicPartition) {
	return mm2.TopicPartition{Topic: f.topic, Partition: p}, mm2.TopicPartition{Topic: f.remote, Partition: p}
}

// tail is the end of what the function printed.
func (f *flow) tail() string {
	return (&process{logPath: f.printed}).tail()
}
