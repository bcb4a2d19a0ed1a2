package dynamostate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/google/go-cmp/cmp"

	"tidemark/infra/local/dynamo"
	"tidemark/shared/checkpoint"
	"tidemark/shared/dynamostate"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

type bed struct {
	api   *dynamodb.Client
	table string
	store *dynamostate.Store
}

var tp = mm2.TopicPartition{Topic: "orders"}

func newBed(t *testing.T) bed {
	t.Helper()
	e := dynamo.Start()
	t.Cleanup(e.Close)
	api := open(t, e.URL)
	name := table(t, api)
	return bed{api, name, dynamostate.New(api, name)}
}

func n(i int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(i, 10)}
}
func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

func (b bed) put(t *testing.T, item map[string]types.AttributeValue) {
	t.Helper()
	item["partition"] = s("orders-0")
	if _, err := b.api.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.table, Item: item}); err != nil {
		t.Fatal(err)
	}
}

func (b bed) raw(t *testing.T) map[string]types.AttributeValue {
	t.Helper()
	out, err := b.api.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &b.table, ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{"partition": s("orders-0")}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

func claimAt(owner string, ms int64) watermark.Claim {
	return watermark.Claim{Partition: tp, Owner: owner, Producer: 7, Now: time.UnixMilli(ms), Deadline: time.UnixMilli(ms + 20_000)}
}

// The claim writes v = 1 over a newer format before it has looked at it. The next claim takes the item for its own.
func TestNewerFormatIsNotClaimed(t *testing.T) {
	b := newBed(t)
	b.put(t, map[string]types.AttributeValue{"v": n(2), "epoch": n(9), "next": n(100), "downstream_next": n(100)})
	_, err := b.store.Claim(t.Context(), claimAt("a", 1_000_000))
	t.Logf("first claim: %v; item v = %v", err, b.raw(t)["v"].(*types.AttributeValueMemberN).Value)
	if g, err := b.store.Claim(t.Context(), claimAt("b", 1_100_000)); err == nil {
		t.Errorf("second claim granted on an item of format 2: %+v", g.State)
	}
}

// The rules and the update expressions would read such an item differently: it is named and left alone.
func TestBrokenItemIsRefused(t *testing.T) {
	for name, item := range map[string]map[string]types.AttributeValue{
		"owner without deadline": {"owner": s("x"), "epoch": n(1)},
		"empty owner":            {"owner": s(""), "epoch": n(1)},
		"negative offsets":       {"v": n(1), "epoch": n(9), "next": n(-1), "downstream_next": n(-1)},
		"offset of another type": {"next": s("100")},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.put(t, item)
			_, errGet := b.store.Get(t.Context(), tp)
			_, errClaim := b.store.Claim(t.Context(), claimAt("a", 1_000_000))
			for _, err := range []error{errGet, errClaim} {
				if err == nil || !strings.Contains(err.Error(), "orders-0") || !strings.Contains(err.Error(), "repair the item") {
					t.Errorf("err = %v, want one that names the item and what to do", err)
				}
			}
		})
	}
}

// throttling answers every request so.
type throttling struct{ requests atomic.Int64 }

func (c *throttling) Do(*http.Request) (*http.Response, error) {
	c.requests.Add(1)
	const body = `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"slow down"}`
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// The SDK's retry quota (500 tokens a client, 5 a retry) ends retrying long before the invocation's time does.
func TestThrottlingIsRetriedWithinTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &throttling{}
		store := dynamostate.New(dynamodb.New(dynamodb.Options{
			Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		}, dynamostate.Options, func(o *dynamodb.Options) { o.HTTPClient = c }), "t")
		for invocation := range 6 {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			start, before := time.Now(), c.requests.Load()
			var wg sync.WaitGroup
			var last atomic.Value
			for i := range int32(8) {
				wg.Go(func() {
					claim := claimAt("a", 1_000_000)
					claim.Partition.Partition = i
					_, err := store.Claim(ctx, claim)
					last.Store(fmt.Sprint(err))
				})
			}
			wg.Wait()
			cancel()
			took, n := time.Since(start), c.requests.Load()-before
			t.Logf("invocation %d: %d requests in %v: %.160s", invocation, n, took, last.Load())
			if took < 20*time.Second {
				t.Errorf("invocation %d gave up after %v of 30 s", invocation, took)
			}
		}
	})
}

func TestLeaseFollowsItsRules(t *testing.T) {
	b := newBed(t)
	tick := func(minute int64) time.Time { return time.UnixMilli(minute * 60_000) }
	take := func(owner string, minute, epoch int64, want error) {
		t.Helper()
		got, err := b.store.TakeLease(t.Context(), owner, tick(minute))
		if !errors.Is(err, want) || err == nil && got != epoch {
			t.Errorf("TakeLease(%s, %d) = %d, %v, want %d, %v", owner, minute, got, err, epoch, want)
		}
	}
	take("a", 1, 1, nil)
	take("a", 1, 1, nil) // its answer was lost
	take("b", 1, 0, checkpoint.ErrServed)
	take("b", 2, 2, nil) // a dead holder
	take("a", 1, 0, checkpoint.ErrServed)
	if err := b.store.RenewLease(t.Context(), "a", 1); !errors.Is(err, checkpoint.ErrSuperseded) {
		t.Errorf("RenewLease of the one before: %v, want ErrSuperseded", err)
	}
	if err := b.store.RenewLease(t.Context(), "b", 2); err != nil {
		t.Errorf("RenewLease: %v", err)
	}
}

func TestScanLeavesTheFlowsOwnItemsOut(t *testing.T) {
	b := newBed(t)
	if _, err := b.store.TakeLease(t.Context(), "a", time.UnixMilli(1)); err != nil {
		t.Fatal(err)
	}
	want := map[mm2.TopicPartition]int64{}
	for i := range int32(30) {
		c := claimAt("owner", 1_000_000)
		c.Partition = mm2.TopicPartition{Topic: "scan-me", Partition: i}
		if _, err := b.store.Claim(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want[c.Partition] = 1
	}
	got := map[mm2.TopicPartition]int64{}
	for state, err := range b.store.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got[state.Partition] = state.Epoch
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("epochs by partition (-want +got):\n%s", diff)
	}
	b.put(t, map[string]types.AttributeValue{"next": s("x")})
	var failed error
	for _, err := range b.store.All(t.Context()) {
		failed = errors.Join(failed, err)
	}
	if failed == nil || !strings.Contains(failed.Error(), "orders-0") {
		t.Errorf("All over a broken item: %v, want an error that names it", failed)
	}
}
