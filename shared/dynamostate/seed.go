package dynamostate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"tidemark/shared/checkpoint"
	"tidemark/shared/mm2"
)

var _ checkpoint.Seeds = (*Store)(nil)

// flow is the key of the item that says when the flow was first seen.
const flow = own + "flow"

// Seen implements checkpoint.Seeds.
func (s *Store) Seen(ctx context.Context) (bool, error) {
	consistent := true
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.table, Key: map[string]types.AttributeValue{"partition": text(flow)}, ConsistentRead: &consistent,
	})
	if err != nil {
		return false, fmt.Errorf("get item %s of table %s: %w", flow, s.table, advised(err))
	}
	return len(out.Item) > 0, nil
}

// ErrUnseen says that nobody has noted yet where partitions begin.
var ErrUnseen = errors.New("the flow starts at the latest records, and its first pass has not noted yet which those are: is the checkpoint function scheduled?")

// Wait is nil once the flow was seen, ErrUnseen before.
func (s *Store) Wait(ctx context.Context) error {
	seen, err := s.Seen(ctx)
	if err == nil && !seen {
		err = ErrUnseen
	}
	return err
}

// Seed implements checkpoint.Seeds.
func (s *Store) Seed(ctx context.Context, tp mm2.TopicPartition, next int64) error {
	u := newUpdate("attribute_not_exists(#next)").assign("next", number(next)).assign("v", number(version))
	if _, _, err := s.apply(ctx, key(tp), u.done()); err != nil {
		return fmt.Errorf("seed item %s of table %s: %w", tp, s.table, err)
	}
	return nil
}

// See implements checkpoint.Seeds.
func (s *Store) See(ctx context.Context, at time.Time) error {
	u := newUpdate("attribute_not_exists(#seen_at)").assign("seen_at", number(at.UnixMilli())).assign("v", number(version))
	if _, _, err := s.apply(ctx, map[string]types.AttributeValue{"partition": text(flow)}, u.done()); err != nil {
		return fmt.Errorf("update item %s of table %s: %w", flow, s.table, err)
	}
	return nil
}
