package mm2_test

import (
	"testing"

	"pgregory.net/rapid"

	"tidemark/shared/mm2"
)

func TestParseTopicPartition(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want mm2.TopicPartition // zero: an error
	}{
		{"orders-0", partition("orders", 0)},
		{"orders-2147483647", partition("orders", 2147483647)},
		{"my-orders-12", partition("my-orders", 12)},
		{"orders--1", partition("orders-", 1)},
		{"--0", partition("-", 0)},
		{"", mm2.TopicPartition{}},
		{"orders", mm2.TopicPartition{}},
		{"orders-", mm2.TopicPartition{}},
		{"-3", mm2.TopicPartition{}},
		{"orders-x", mm2.TopicPartition{}},
		{"orders-2147483648", mm2.TopicPartition{}},
		{"orders-+1", mm2.TopicPartition{}},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got, err := mm2.ParseTopicPartition(tt.in)
			if got != tt.want || (err == nil) != (tt.want != mm2.TopicPartition{}) {
				t.Errorf("ParseTopicPartition(%q) = %v, %v, want %v", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestTopicPartitionRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := partition(rapid.StringMatching(`[a-zA-Z0-9._-]{1,249}`).Draw(t, "topic"), rapid.Int32Min(0).Draw(t, "partition"))
		if got, err := mm2.ParseTopicPartition(want.String()); err != nil || got != want {
			t.Fatalf("ParseTopicPartition(%q) = %v, %v, want %v", want.String(), got, err, want)
		}
	})
}
