package template

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTrigger compares every setting. What is not listed must not be there: a filter, a bound on retries or on a record's
// age would drop records.
func TestTrigger(t *testing.T) {
	t.Parallel()
	const connection = "arn:aws:kafka:us-east-1:" + account + ":vpc-connection/444455556666/west/a-1"
	access := func(kind string) object {
		return object{"SourceAccessConfigurations": []any{object{"Type": kind, "URI": secret + "a"}}}
	}
	tests := []struct {
		name    string
		changes map[string]string
		want    object // beyond what all have
	}{
		{"IAM, on demand", nil, nil},
		{"another account's", map[string]string{"SourceEventSourceArn": connection}, object{"EventSourceArn": connection}},
		{"SCRAM", map[string]string{"SourceSaslMechanism": "SCRAM-SHA-512", "SourceSecretArn": secret + "a"}, access("SASL_SCRAM_512_AUTH")},
		{"certificate", map[string]string{"SourceSecurityProtocol": "SSL", "SourceSecretArn": secret + "a"}, access("CLIENT_CERTIFICATE_TLS_AUTH")},
		{
			"provisioned",
			map[string]string{"TriggerMinimumPollers": "2", "TriggerMaximumPollers": "6", "TriggerBatchSize": "500", "TriggerBatchingWindowSeconds": "0"},
			object{"ProvisionedPollerConfig": object{"MinimumPollers": "2", "MaximumPollers": "6"}, "BatchSize": "500", "MaximumBatchingWindowInSeconds": "0"},
		},
		{
			"provisioned, failed records by name",
			map[string]string{"TriggerMaximumPollers": "1", "DeliveryReport": "items"},
			object{"ProvisionedPollerConfig": object{"MinimumPollers": "1", "MaximumPollers": "1"}, "FunctionResponseTypes": []any{"ReportBatchItemFailures"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := object{
				"FunctionName": "MirrorFunction.Arn", "EventSourceArn": sourceARN, "Topics": []any{"orders"}, "StartingPosition": "TRIM_HORIZON",
				"AmazonManagedKafkaEventSourceConfig": object{"ConsumerGroupId": "tidemark.us+eu.orders"},
				"BatchSize":                           "10000", "MaximumBatchingWindowInSeconds": "5",
			}
			maps.Copy(want, tt.want)
			changes := map[string]string{"TriggerTopic": "orders"}
			maps.Copy(changes, tt.changes)
			s := deploy(t, changes)
			if refused := s.refusals(); refused != nil {
				t.Errorf("refused: %q", refused)
			}
			if diff := cmp.Diff(want, s.properties("TopicTrigger")); diff != "" {
				t.Errorf("trigger (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConditions wants them on resources only, for SAM silently ignores one on an event inside a function.
func TestConditions(t *testing.T) {
	t.Parallel()
	template := load(t)
	for id := range at(template, "Resources") {
		if at(template, "Resources", id, "Properties")["Events"] != nil {
			t.Errorf("%s has events: make them resources of their own", id)
		}
	}
	walk(template, func(o object) {
		if _, ok := o["ReservedConcurrentExecutions"]; ok {
			t.Error("a function reserves concurrency")
		}
	})
}
