package template

import (
	"strings"
	"testing"
)

const secret = "arn:aws:secretsmanager:us-east-1:" + account + ":secret:AmazonMSK_"

// TestRules wants what cannot work refused before anything is deployed, and nothing else.
func TestRules(t *testing.T) {
	t.Parallel()
	type changes = map[string]string
	tests := []struct {
		name    string
		changes changes
		want    []string // what each refusal names, in the order of the rules' names
	}{
		{"IAM", nil, nil},
		{"IAM with trigger", changes{"TriggerTopic": "orders"}, nil},
		{"one alias twice", changes{"TargetClusterAlias": "us"}, []string{"TargetClusterAlias"}},
		{"IAM without cluster", changes{"SourceClusterArn": "", "TargetClusterArn": ""}, []string{"SourceClusterArn", "TargetClusterArn"}},
		{"IAM without TLS", changes{"SourceSecurityProtocol": "SASL_PLAINTEXT", "TargetSecurityProtocol": "SASL_PLAINTEXT"}, []string{"SourceSecurityProtocol", "TargetSecurityProtocol"}},
		{"plain text", changes{"SourceSecurityProtocol": "PLAINTEXT", "TargetSecurityProtocol": "PLAINTEXT", "SourceClusterArn": "", "TargetClusterArn": ""}, nil},
		{"client certificates", changes{"SourceSecurityProtocol": "SSL", "SourceSecretArn": secret + "a", "TriggerTopic": "orders"}, nil},
		{"password without secret", changes{"SourceSaslMechanism": "PLAIN", "TargetSaslMechanism": "SCRAM-SHA-256"}, []string{"SourceSecretArn", "TargetSecretArn"}},
		{"password", changes{"SourceSaslMechanism": "PLAIN", "SourceSecretArn": secret + "a", "SourceSecurityProtocol": "SASL_PLAINTEXT"}, nil},
		{"subnets without groups", changes{"SubnetIds": "subnet-0a"}, []string{"SecurityGroupIds"}},
		{"groups without subnets", changes{"SecurityGroupIds": "sg-0a"}, []string{"SubnetIds"}},
		{"network", changes{"SubnetIds": "subnet-0a", "SecurityGroupIds": "sg-0a"}, nil},
		{"trigger without MSK", changes{"TriggerTopic": "orders", "SourceSecurityProtocol": "SSL", "SourceClusterArn": ""}, []string{"SourceClusterArn"}},
		{"trigger with what MSK does not know", changes{"TriggerTopic": "orders", "SourceSaslMechanism": "SCRAM-SHA-256", "SourceSecretArn": secret + "a"}, []string{"SCRAM-SHA-512"}},
		{"trigger with SCRAM", changes{"TriggerTopic": "orders", "SourceSaslMechanism": "SCRAM-SHA-512", "SourceSecretArn": secret + "a"}, nil},
		{"items on demand", changes{"TriggerTopic": "orders", "DeliveryReport": "items"}, []string{"TriggerMaximumPollers"}},
		{"items, provisioned", changes{"TriggerTopic": "orders", "DeliveryReport": "items", "TriggerMaximumPollers": "2"}, nil},
		{"items for triggers made by hand", changes{"DeliveryReport": "items"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := deploy(t, tt.changes).refusals()
			if len(got) != len(tt.want) {
				t.Fatalf("refusals %q, want %d of them", got, len(tt.want))
			}
			for i, want := range tt.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("refusal %q, want one that names %s", got[i], want)
				}
			}
		})
	}
}
