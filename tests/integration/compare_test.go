//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
)

// compare reads both logs of a partition from the start and wants the target's to be the source's, record by record.
// It returns how many records that are.
func compare(t *testing.T, upstream, downstream mm2.TopicPartition) int {
	t.Helper()
	want, got := source.log(t, upstream), target.log(t, downstream)
	if len(want) != len(got) {
		t.Errorf("%s has %d records, %s has %d", upstream, len(want), downstream, len(got))
	}
	const most = 5
	differences := 0
	for i := range min(len(want), len(got)) {
		if difference := differ(want[i], got[i]); difference != "" && differences < most {
			differences++
			t.Errorf("%s offset %d, %s offset %d: %s", upstream, want[i].Offset, downstream, got[i].Offset, difference)
		}
	}
	return len(want)
}

// log is everything that a consumer of committed records gets of a partition.
func (b *broker) log(t *testing.T, tp mm2.TopicPartition) []*kgo.Record {
	t.Helper()
	from := map[string]map[int32]kgo.Offset{tp.Topic: {tp.Partition: kgo.NewOffset().AtStart()}}
	client := b.client(t, kgo.ConsumePartitions(from), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	defer client.Close()
	var records []*kgo.Record
	for next, end := int64(0), b.end(t, tp); next < end; {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatalf("read %s on %s: %v", tp, b.name, err)
		}
		for _, r := range fetches.Records() {
			next = r.Offset + 1
			if !r.Attrs.IsControl() {
				records = append(records, r)
			}
		}
	}
	return records
}

// differ names the first thing in which two records differ; empty when they are the same.
func differ(want, got *kgo.Record) string {
	switch {
	case want.Partition != got.Partition:
		return fmt.Sprintf("partitions %d and %d", want.Partition, got.Partition)
	case !want.Timestamp.Equal(got.Timestamp):
		return fmt.Sprintf("timestamps %d and %d", want.Timestamp.UnixMilli(), got.Timestamp.UnixMilli())
	case !same(want.Key, got.Key):
		return "keys"
	case !same(want.Value, got.Value):
		return "values"
	case len(want.Headers) != len(got.Headers):
		return fmt.Sprintf("%d and %d headers", len(want.Headers), len(got.Headers))
	}
	for i, h := range want.Headers {
		if h.Key != got.Headers[i].Key || !same(h.Value, got.Headers[i].Value) {
			return fmt.Sprintf("header %d", i)
		}
	}
	return ""
}

// same tells null from empty.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
