package mm2_test

import (
	"testing"

	"tidemark/shared/mm2"
)

func TestDefaultPolicy(t *testing.T) {
	t.Parallel()
	const none = "(none)"
	tests := []struct {
		separator, topic           string
		source, upstream, original string
	}{
		{"", "topic1", none, none, "topic1"},
		{"", "source.topic1", "source", "topic1", "topic1"},
		{"", "target.source.topic1", "target", "source.topic1", "topic1"},
		{"", "heartbeats", none, none, "heartbeats"},
		// Java's split drops trailing empty parts.
		{"", "", none, none, ""},
		{"", "a.", none, none, "a."},
		{"", "a..", none, none, "a.."},
		{"", "a...", none, none, "a..."},
		{"", ".", none, none, "."},
		{"", "..", none, none, ".."},
		{"", ".b", "", "b", "b"},
		{"", "..b", "", ".b", "b"},
		{"", "a..b", "a", ".b", "b"},
		{"", "a.b.", "a", "b.", "b."},
		// The separator is a literal, not an expression.
		{".", "a.b", "a", "b", "b"},
		{"_", "us-west.heartbeats", none, none, "us-west.heartbeats"},
		{"_", "a_b.c", "a", "b.c", "b.c"},
		{"-", "a-b", "a", "b", "b"},
		{"__", "a_b", none, none, "a_b"},
		{"__", "a__b", "a", "b", "b"},
		{"__", "a___b", "a", "_b", "_b"},
		{"__", "a_____", "a", "___", "_"},
	}
	for _, tt := range tests {
		t.Run(tt.separator+" "+tt.topic, func(t *testing.T) {
			t.Parallel()
			p := mm2.DefaultPolicy{Separator: tt.separator}
			source, ok := p.Source(tt.topic)
			if !ok {
				source = none
			}
			upstream, okUpstream := p.Upstream(tt.topic)
			if !okUpstream {
				upstream = none
			}
			if source != tt.source || upstream != tt.upstream || ok != okUpstream {
				t.Errorf("Source(%q), Upstream = %q, %q, want %q, %q", tt.topic, source, upstream, tt.source, tt.upstream)
			}
			if got := mm2.Original(p, tt.topic); got != tt.original {
				t.Errorf("Original(%q) = %q, want %q", tt.topic, got, tt.original)
			}
			if source, ok := p.Source(p.Remote("alias", "topic")); !ok || source != "alias" {
				t.Errorf("Source(Remote(alias, topic)) = %q, %t, want alias", source, ok)
			}
		})
	}
}

func TestIdentityPolicy(t *testing.T) {
	t.Parallel()
	p := mm2.IdentityPolicy{SourceAlias: "source"}
	unset := mm2.IdentityPolicy{}
	tests := []struct {
		topic, remote, source, upstream, original string
	}{
		{"topic1", "topic1", "source", "topic1", "topic1"},
		{"target.topic1", "target.topic1", "source", "target.topic1", "target.topic1"},
		{"heartbeats", "backup.heartbeats", "", "", "heartbeats"},
		{"backup.heartbeats", "backup.backup.heartbeats", "backup", "heartbeats", "heartbeats"},
		{"my-heartbeats", "backup.my-heartbeats", "", "", "my-heartbeats"},
		{"heartbeats2", "heartbeats2", "source", "heartbeats2", "heartbeats2"},
	}
	for _, tt := range tests {
		t.Run(tt.topic, func(t *testing.T) {
			t.Parallel()
			if got := p.Remote("backup", tt.topic); got != tt.remote {
				t.Errorf("Remote(backup, %s) = %s, want %s", tt.topic, got, tt.remote)
			}
			if got, ok := p.Source(tt.topic); got != tt.source || ok != (tt.source != "") {
				t.Errorf("Source(%s) = %q, %t, want %q", tt.topic, got, ok, tt.source)
			}
			if got, ok := p.Upstream(tt.topic); got != tt.upstream || ok != (tt.upstream != "") {
				t.Errorf("Upstream(%s) = %q, %t, want %q", tt.topic, got, ok, tt.upstream)
			}
			if got := mm2.Original(p, tt.topic); got != tt.original {
				t.Errorf("Original(%s) = %s, want %s", tt.topic, got, tt.original)
			}
		})
	}
	if alias, ok := unset.Source("topic1"); ok {
		t.Errorf("without an alias, Source(topic1) = %q, want none", alias)
	}
}

func TestIsInternal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		topic            string
		policy           mm2.DefaultPolicy
		byName, bySuffix bool
	}{
		// Kafka's ReplicationPolicyTest; its third and fourth are Connect's topics in dedicated and distributed mode.
		{"__consumer_offsets", mm2.DefaultPolicy{}, true, true},
		{".hiddentopic", mm2.DefaultPolicy{}, true, true},
		{"mm2-offsets.CLUSTER.internal", mm2.DefaultPolicy{}, true, true},
		{"mm2-offsets-CLUSTER-internal", mm2.DefaultPolicy{}, false, true},
		{"mm2-offsets_CLUSTER_internal", mm2.DefaultPolicy{}, false, false},
		// What KAFKA-17200 is about.
		{"billing.internal", mm2.DefaultPolicy{}, false, true},
		{"billing-internal", mm2.DefaultPolicy{}, false, true},
		{"internal", mm2.DefaultPolicy{}, false, false},
		{"mm2internal", mm2.DefaultPolicy{}, false, false},
		{"orders", mm2.DefaultPolicy{}, false, false},
		{"a.checkpoints.internal", mm2.DefaultPolicy{}, true, true},
		{"mm2-offset-syncs__a__internal", mm2.DefaultPolicy{Separator: "__", InternalSeparator: true}, true, true},
		{"mm2-offset-syncs__a__internal", mm2.DefaultPolicy{Separator: "__"}, false, false},
		{"a__checkpoints__internal", mm2.DefaultPolicy{Separator: "__", InternalSeparator: true}, true, true},
		{"mm2-offset-syncs.a.internal", mm2.DefaultPolicy{Separator: "__"}, true, true},
		{"mm2-offset-syncs.a.internal", mm2.DefaultPolicy{Separator: "__", InternalSeparator: true}, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.topic+" "+tt.policy.Separator, func(t *testing.T) {
			t.Parallel()
			if got := tt.policy.IsInternal(tt.topic); got != tt.byName {
				t.Errorf("by name: IsInternal(%s) = %t, want %t", tt.topic, got, tt.byName)
			}
			p := tt.policy
			p.Rules = mm2.InternalBySuffix
			if got := p.IsInternal(tt.topic); got != tt.bySuffix {
				t.Errorf("by suffix: IsInternal(%s) = %t, want %t", tt.topic, got, tt.bySuffix)
			}
			identity := mm2.IdentityPolicy{DefaultPolicy: p, SourceAlias: "source"}
			if got := identity.IsInternal(tt.topic); got != tt.bySuffix {
				t.Errorf("identity, by suffix: IsInternal(%s) = %t, want %t", tt.topic, got, tt.bySuffix)
			}
		})
	}
}

// The topics of Kafka's MirrorClientTest.
func TestHeartbeatsAndCheckpointsTopics(t *testing.T) {
	t.Parallel()
	p := mm2.DefaultPolicy{}
	for topic, want := range map[string]bool{
		"heartbeats": true, "source1.heartbeats": true, "source2.source1.heartbeats": true,
		"heartbeats!": false, "!heartbeats": false, "source1heartbeats": false, "source1-heartbeats": false,
	} {
		if got := mm2.IsHeartbeats(p, topic); got != want {
			t.Errorf("IsHeartbeats(%s) = %t, want %t", topic, got, want)
		}
	}
	for topic, want := range map[string]bool{
		"source1.checkpoints.internal": true,
		"checkpoints.internal":         false, "checkpoints-internal": false, "checkpoints.internal!": false,
		"!checkpoints.internal": false, "source1checkpointsinternal": false,
	} {
		if got := p.IsCheckpoints(topic); got != want {
			t.Errorf("IsCheckpoints(%s) = %t, want %t", topic, got, want)
		}
	}
}
