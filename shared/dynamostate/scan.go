package dynamostate

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// own begins the keys of the flow's own items: no topic has a "#" in its name.
const own = "#"

// All implements checkpoint.States by a strongly consistent scan.
func (s *Store) All(ctx context.Context) iter.Seq2[watermark.State, error] {
	return func(yield func(watermark.State, error) bool) {
		consistent := true
		pages := dynamodb.NewScanPaginator(s.api, &dynamodb.ScanInput{TableName: &s.table, ConsistentRead: &consistent})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(watermark.State{}, fmt.Errorf("scan table %s: %w", s.table, err))
				return
			}
			for _, item := range page.Items {
				state, ok, err := partitionState(item)
				if ok && !yield(state, err) || err != nil {
					return
				}
			}
		}
	}
}

// partitionState reads the item of a partition; false for one of the flow's own.
func partitionState(item map[string]types.AttributeValue) (watermark.State, bool, error) {
	r := reader{item: item}
	name := r.text("partition")
	if strings.HasPrefix(name, own) {
		return watermark.State{}, false, nil
	}
	tp, err := mm2.ParseTopicPartition(name)
	if err != nil {
		return watermark.State{}, true, fmt.Errorf("read item %q: %w", name, err)
	}
	s, err := state(tp, item)
	return s, true, err
}
