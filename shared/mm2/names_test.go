package mm2_test

import (
	"testing"

	"tidemark/shared/mm2"
)

func TestNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                    string
		names                   mm2.Names
		offsetSyncs, checkpoint string
	}{
		{"on the target", mm2.Names{}, "mm2-offset-syncs.us-east.internal", "us-east.checkpoints.internal"},
		{"on the source", mm2.Names{Location: mm2.OnSource}, "mm2-offset-syncs.eu-west.internal", "us-east.checkpoints.internal"},
		{
			"dot, spelt out",
			mm2.Names{Separator: ".", InternalSeparator: true},
			"mm2-offset-syncs.us-east.internal", "us-east.checkpoints.internal",
		},
		{
			"own separator everywhere",
			mm2.Names{Separator: "__", InternalSeparator: true},
			"mm2-offset-syncs__us-east__internal", "us-east__checkpoints__internal",
		},
		{
			"own separator everywhere, on the source",
			mm2.Names{Separator: "__", InternalSeparator: true, Location: mm2.OnSource},
			"mm2-offset-syncs__eu-west__internal", "us-east__checkpoints__internal",
		},
		{
			"own separator, not in internal names (KIP-949)",
			mm2.Names{Separator: "__"},
			"mm2-offset-syncs.us-east.internal", "us-east.checkpoints.internal",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := tt.names
			n.Source, n.Target = "us-east", "eu-west"
			if got := n.OffsetSyncs(); got != tt.offsetSyncs {
				t.Errorf("OffsetSyncs() = %s, want %s", got, tt.offsetSyncs)
			}
			if got := n.Checkpoints(); got != tt.checkpoint {
				t.Errorf("Checkpoints() = %s, want %s", got, tt.checkpoint)
			}
			if got := n.Heartbeats(); got != "heartbeats" {
				t.Errorf("Heartbeats() = %s, want heartbeats", got)
			}
			if got, want := n.ConnectOffsets(), "mm2-offsets.us-east.internal"; got != want {
				t.Errorf("ConnectOffsets() = %s, want %s", got, want)
			}
		})
	}
}

// The policy recognises what Names gives out, in every mode and under both rules.
func TestNamesAreInternal(t *testing.T) {
	t.Parallel()
	for _, separator := range []string{"", ".", "__", "_", "-"} {
		for _, internal := range []bool{true, false} {
			for _, location := range []mm2.Location{mm2.OnTarget, mm2.OnSource} {
				for _, rules := range []mm2.InternalRules{mm2.InternalByName, mm2.InternalBySuffix} {
					n := mm2.Names{Source: "a", Target: "b", Separator: separator, InternalSeparator: internal, Location: location}
					p := mm2.DefaultPolicy{Separator: separator, InternalSeparator: internal, Rules: rules}
					if topic := n.OffsetSyncs(); !p.IsInternal(topic) {
						t.Errorf("%+v: IsInternal(%s) = false, want true", p, topic)
					}
					if topic := n.Checkpoints(); !p.IsInternal(topic) || !p.IsCheckpoints(topic) {
						t.Errorf("%+v: IsInternal(%s) and IsCheckpoints = %t, %t, want true", p, topic, p.IsInternal(topic), p.IsCheckpoints(topic))
					}
					if topic := n.Heartbeats(); p.IsInternal(topic) || !mm2.IsHeartbeats(p, topic) {
						t.Errorf("%+v: %s is internal or no heartbeats topic", p, topic)
					}
				}
			}
		}
	}
}
