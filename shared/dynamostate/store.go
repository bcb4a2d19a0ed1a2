// Package dynamostate keeps watermark states in DynamoDB, one item a partition, by conditional updates only: no read, no
// transaction. The conditions are those of package watermark's rules; a refused update brings the item back
// (ReturnValuesOnConditionCheckFailure), and the rules themselves say what it means.
package dynamostate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

var _ mirror.StateStore = (*Store)(nil)

// API is the part of *dynamodb.Client in use.
type API interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Store is one table. It is safe for concurrent use.
type Store struct {
	api   API
	table string
}

// New returns the store of a table whose partition key is the string "partition".
func New(api API, table string) *Store { return &Store{api: api, table: table} }

// Options tunes a client for the store: throttling is retried as long as the invocation has time, and an attempt whose
// connection died while the environment was frozen is given up soon.
func Options(o *dynamodb.Options) {
	const attempts, attempt = 12, 5 * time.Second
	o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) { r.MaxAttempts, r.RateLimiter = attempts, ratelimit.None })
	o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(attempt)
}

// Claim implements mirror.StateStore.
func (s *Store) Claim(ctx context.Context, c watermark.Claim) (watermark.Grant, error) {
	before, refused, err := s.update(ctx, c.Partition, claim(c))
	if err != nil {
		return watermark.Grant{}, err
	}
	grant, err := before.Take(c)
	if won := err == nil; won && refused && grant.State.Epoch != before.Epoch {
		return watermark.Grant{}, fmt.Errorf("claim %s in table %s: refused, though nobody holds it", c.Partition, s.table)
	}
	return grant, err
}

// Begin implements mirror.StateStore.
func (s *Store) Begin(ctx context.Context, b watermark.Begin) error {
	return s.change(ctx, b.Partition, begin(b), func(before watermark.State) (watermark.State, error) { return before.Begin(b) })
}

// Commit implements mirror.StateStore.
func (s *Store) Commit(ctx context.Context, c watermark.Commit) error {
	return s.change(ctx, c.State.Partition, commit(c), func(before watermark.State) (watermark.State, error) { return before.Commit(c) })
}

// Leave implements mirror.StateStore.
func (s *Store) Leave(ctx context.Context, l watermark.Leave) error {
	return s.change(ctx, l.Partition, leave(l), func(before watermark.State) (watermark.State, error) { return before.Leave(l) })
}

// change makes an update. One that the table refused is for the rule to judge: it may have been applied before.
func (s *Store) change(ctx context.Context, tp mm2.TopicPartition, u update, rule func(before watermark.State) (watermark.State, error)) error {
	before, refused, err := s.update(ctx, tp, u)
	if err == nil && refused {
		_, err = rule(before)
	}
	return err
}

// Get returns a state, strongly consistent; a blank one if the partition was never claimed.
func (s *Store) Get(ctx context.Context, tp mm2.TopicPartition) (watermark.State, error) {
	consistent := true
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: key(tp), ConsistentRead: &consistent})
	if err != nil {
		return watermark.State{}, fmt.Errorf("get item %s of table %s: %w", tp, s.table, advised(err))
	}
	return state(tp, out.Item)
}

// update applies an update and returns the state as it was before, or, when the condition refused it, as it is.
func (s *Store) update(ctx context.Context, tp mm2.TopicPartition, u update) (before watermark.State, refused bool, err error) {
	item, refused, err := s.apply(ctx, key(tp), u)
	if err != nil {
		return watermark.State{}, false, fmt.Errorf("update item %s of table %s: %w", tp, s.table, err)
	}
	before, err = state(tp, item)
	return before, refused, err
}

// apply makes a conditional update and returns the item as it was before, or, when the condition refused it, as it is.
func (s *Store) apply(ctx context.Context, key map[string]types.AttributeValue, u update) (item map[string]types.AttributeValue, refused bool, err error) {
	out, err := s.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.table, Key: key,
		ConditionExpression: &u.condition, UpdateExpression: &u.expression,
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
		ReturnValues:                        types.ReturnValueAllOld,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if failed := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &failed) {
		return failed.Item, true, nil
	}
	if err != nil {
		return nil, false, advised(err)
	}
	return out.Attributes, false, nil
}

// advised says what to check where an operator can.
func advised(err error) error {
	if missing := (*types.ResourceNotFoundException)(nil); errors.As(err, &missing) {
		return fmt.Errorf("%w (check STATE_TABLE and the region)", err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w (does the function's network reach DynamoDB, or is the table throttled?)", err)
	}
	return err
}
