package invoke_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"tidemark/shared/invoke"
	"tidemark/shared/mm2"
)

type api struct {
	got *lambda.InvokeInput
	err error
}

func (a *api) Invoke(_ context.Context, in *lambda.InvokeInput, _ ...func(*lambda.Options)) (*lambda.InvokeOutput, error) {
	a.got = in
	return &lambda.InvokeOutput{}, a.err
}

func TestCatchUp(t *testing.T) {
	t.Parallel()
	a := &api{}
	if err := invoke.New(a, "mirror").CatchUp(t.Context(), mm2.TopicPartition{Topic: `or"ders`, Partition: 3}); err != nil {
		t.Fatal(err)
	}
	const want = `{"action":"catch-up","partition":3,"scheduled":true,"topic":"or\"ders"}`
	if got := string(a.got.Payload); got != want || *a.got.FunctionName != "mirror" || a.got.InvocationType != types.InvocationTypeEvent {
		t.Errorf("invoked %s with %s as %s, want %s", *a.got.FunctionName, got, a.got.InvocationType, want)
	}
	a.err = errors.New("throttled")
	if err := invoke.New(a, "mirror").CatchUp(t.Context(), mm2.TopicPartition{Topic: "t"}); !errors.Is(err, a.err) {
		t.Errorf("err = %v, want %v", err, a.err)
	}
}
