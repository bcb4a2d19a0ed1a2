package mm2_test

import (
	"testing"

	"tidemark/shared/mm2"
)

func everything(string) bool { return true }
func nothing(string) bool    { return false }

// The cases of Kafka's MirrorSourceConnectorTest, flow source -> target.
func TestShouldReplicate(t *testing.T) {
	t.Parallel()
	byDefault := mm2.TopicFilter{Policy: mm2.DefaultPolicy{}, Selected: everything}
	identity := mm2.TopicFilter{Policy: mm2.IdentityPolicy{SourceAlias: "source"}, Selected: everything}
	tests := []struct {
		name   string
		filter mm2.TopicFilter
		topics []string
		want   bool
	}{
		{"cycles", byDefault, []string{
			"target.topic1", "target.source.topic1", "source.target.topic1",
			"target.source.target.topic1", "source.target.source.topic1",
		}, false},
		{"no cycles", byDefault, []string{"topic1", "source.topic1", "othersource.topic1"}, true},
		{"identity sees no cycles", identity, []string{
			"target.topic1", "target.source.topic1", "source.target.topic1",
			"target.source.target.topic1", "source.target.source.topic1", "topic1", "othersource.topic1",
		}, true},
		{"identity sees cycles of heartbeats", identity, []string{
			"target.heartbeats", "target.source.heartbeats", "source.target.heartbeats",
			"target.source.target.heartbeats", "source.target.source.heartbeats",
		}, false},
		{"identity, heartbeats", identity, []string{"heartbeats", "othersource.heartbeats"}, true},
		{
			"heartbeats that are not selected",
			mm2.TopicFilter{Policy: mm2.DefaultPolicy{}, Selected: nothing},
			[]string{"heartbeats", "us-west.heartbeats"},
			true,
		},
		{
			"heartbeats with another separator",
			mm2.TopicFilter{Policy: mm2.DefaultPolicy{Separator: "_"}, Selected: nothing},
			[]string{"heartbeats", "us-west_heartbeats"},
			true,
		},
		{
			"no heartbeats by that separator",
			mm2.TopicFilter{Policy: mm2.DefaultPolicy{Separator: "_"}, Selected: nothing},
			[]string{"us-west.heartbeats"},
			false,
		},
		{
			"heartbeats skipped and not selected",
			mm2.TopicFilter{Policy: mm2.DefaultPolicy{}, Selected: nothing, SkipHeartbeats: true},
			[]string{"heartbeats", "us-west.heartbeats"},
			false,
		},
		{
			"heartbeats skipped but selected",
			mm2.TopicFilter{Policy: mm2.DefaultPolicy{}, Selected: everything, SkipHeartbeats: true},
			[]string{"heartbeats", "us-west.heartbeats"},
			true,
		},
		{
			"not selected",
			mm2.TopicFilter{Policy: mm2.DefaultPolicy{}, Selected: nothing},
			[]string{"topic1", "source.topic1"},
			false,
		},
		{
			"internal", byDefault,
			[]string{"__consumer_offsets", "mm2-offset-syncs.source.internal", "source.checkpoints.internal", ".b"},
			false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			filter := tt.filter
			filter.TargetAlias = "target"
			for _, topic := range tt.topics {
				if got := filter.ShouldReplicate(topic); got != tt.want {
					t.Errorf("ShouldReplicate(%s) = %t, want %t", topic, got, tt.want)
				}
			}
		})
	}
}

// Aliases that hold the separator: with Java's rule both flows between us.east and us.west go round for ever.
func TestIsCycleKnowsAliasesWithSeparator(t *testing.T) {
	t.Parallel()
	byDefault, identity := mm2.DefaultPolicy{}, mm2.IdentityPolicy{SourceAlias: "us.west"}
	tests := []struct {
		policy mm2.Policy
		topic  string
		want   bool
	}{
		{byDefault, "us.east.orders", true},
		{byDefault, "us.west.us.east.orders", true},
		{byDefault, "us.east.heartbeats", true},
		{byDefault, "us.west.orders", false},
		{byDefault, "us.orders", false},
		{byDefault, "us.east", false},
		{byDefault, "us.eastern.orders", false},
		{identity, "us.east.orders", false},
		{identity, "us.east.heartbeats", true},
		{identity, "us.west.heartbeats", false},
	}
	for _, tt := range tests {
		if got := mm2.IsCycle(tt.policy, tt.topic, "us.east"); got != tt.want {
			t.Errorf("IsCycle(%T, %s, us.east) = %t, want %t", tt.policy, tt.topic, got, tt.want)
		}
	}
}

// A policy of which Java's counterpart returns a source but no upstream topic (isCycleWithNullUpstreamTopic).
type noUpstream struct{ mm2.DefaultPolicy }

func (noUpstream) Upstream(string) (string, bool) { return "", false }

func TestIsCycleWithoutUpstream(t *testing.T) {
	t.Parallel()
	if mm2.IsCycle(noUpstream{}, ".b", "target") {
		t.Error("IsCycle(.b) = true, want false")
	}
}
