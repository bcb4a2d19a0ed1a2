// Package invoke is the adapter to Lambda's own API: it has the mirror function catch a partition up.
package invoke

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"tidemark/shared/mm2"
)

// API is the part of *lambda.Client in use.
type API interface {
	Invoke(context.Context, *lambda.InvokeInput, ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
}

// Mirror is the mirror function of a flow. It is safe for concurrent use.
type Mirror struct {
	api      API
	function string
}

// New returns the function of that name or ARN.
func New(api API, function string) *Mirror { return &Mirror{api: api, function: function} }

// CatchUp asks for a catch-up of a source partition and returns once Lambda has queued it: the function runs later, and
// what becomes of it shows in the partition's state.
func (m *Mirror) CatchUp(ctx context.Context, tp mm2.TopicPartition) error {
	payload, err := json.Marshal(map[string]any{"action": "catch-up", "topic": tp.Topic, "partition": tp.Partition, "scheduled": true})
	if err != nil {
		return fmt.Errorf("encode catch-up of %s: %w", tp, err)
	}
	_, err = m.api.Invoke(ctx, &lambda.InvokeInput{FunctionName: &m.function, InvocationType: types.InvocationTypeEvent, Payload: payload})
	if err != nil {
		return fmt.Errorf("invoke %s to catch %s up: %w", m.function, tp, err)
	}
	return nil
}
