package template

import (
	"slices"
	"strings"
	"testing"
)

// rightsCase is a set of parameters and how it changes the rights.
type rightsCase struct {
	name               string
	changes            map[string]string
	mirror, checkpoint func(usual []string) []string
}

func same(usual []string) []string { return usual }

// plus adds lines.
func plus(lines ...string) func([]string) []string {
	return func(usual []string) []string { return append(usual, lines...) }
}

// without removes the lines that contain any of the texts.
func without(parts ...string) func([]string) []string {
	return func(usual []string) []string {
		return slices.DeleteFunc(usual, func(line string) bool {
			return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(line, part) })
		})
	}
}

// instead replaces texts in the lines: old, new, old, new.
func instead(pairs ...string) func([]string) []string {
	return func(usual []string) []string {
		for i := range usual {
			usual[i] = strings.NewReplacer(pairs...).Replace(usual[i])
		}
		return usual
	}
}

// both applies one change after the other.
func both(first, second func([]string) []string) func([]string) []string {
	return func(usual []string) []string { return second(first(usual)) }
}

func cases() []rightsCase {
	type changes = map[string]string
	const (
		network    = "Allow ec2:AssignPrivateIpAddresses, ec2:CreateNetworkInterface, ec2:DeleteNetworkInterface, ec2:DescribeNetworkInterfaces, ec2:DescribeSubnets, ec2:UnassignPrivateIpAddresses on *"
		tracing    = "Allow xray:PutTelemetryRecords, xray:PutTraceSegments on *"
		decrypt    = `Allow kms:Decrypt on arn:aws:kms:us-east-1:1:key/a, arn:aws:kms:us-east-1:1:key/b if {"StringEquals":{"kms:ViaService":"secretsmanager.us-east-1.amazonaws.com"}}`
		connection = "arn:aws:kafka:us-east-1:" + account + ":vpc-connection/444455556666/west/a-1"
	)
	secrets := plus("Allow secretsmanager:GetSecretValue on "+secret+"a, "+secret+"b, "+secret+"c, "+secret+"d", decrypt)
	adopted := instead("StateTable.Arn", "arn:aws:dynamodb:us-east-1:"+account+":table/adopted")
	identity := instead("target topic us.*", "target topic *")
	return []rightsCase{
		{"IAM", nil, same, same},
		{"trigger", changes{"TriggerTopic": "orders"}, same, same},
		{"adopted table", changes{"StateTableName": "adopted"}, adopted, adopted},
		{"never fencing", changes{"Fencing": "wait"}, without("AlterCluster"), same},
		{
			"dead letters",
			changes{"ErrorsTolerance": "all", "ErrorsDeadletterqueueTopicName": "dead"},
			plus("Allow kafka-cluster:CreateTopic, kafka-cluster:DescribeTopic, kafka-cluster:WriteData on target topic dead"), same,
		},
		{"VPC", changes{"SubnetIds": "subnet-0a", "SecurityGroupIds": "sg-0a"}, plus(network), plus(network)},
		{"tracing", changes{"Tracing": "Active"}, plus(tracing), plus(tracing)},
		{"source of another account", changes{"SourceEventSourceArn": connection}, plus("Allow kafka:DescribeVpcConnection on " + connection), same},
		{
			"passwords",
			changes{
				"SourceSaslMechanism": "SCRAM-SHA-512", "SourceSecretArn": secret + "a", "SourceCaSecretArn": secret + "b",
				"TargetSaslMechanism": "SCRAM-SHA-512", "TargetSecretArn": secret + "c", "TargetCaSecretArn": secret + "d",
				"SecretsKmsKeyArns": "arn:aws:kms:us-east-1:1:key/a,arn:aws:kms:us-east-1:1:key/b",
			},
			both(without("kafka-cluster:"), secrets), both(without("kafka-cluster:"), secrets),
		},
		{
			"certificate of one side",
			changes{"TargetSecurityProtocol": "SSL", "TargetSecretArn": secret + "c"},
			both(without(" on target"), plus("Allow secretsmanager:GetSecretValue on "+secret+"c")),
			both(without(" on target"), plus("Allow secretsmanager:GetSecretValue on "+secret+"c")),
		},
		{
			"source that is not MSK",
			changes{"SourceClusterArn": "", "SourceSecurityProtocol": "PLAINTEXT"},
			without(" on source", "kafka:", "Allow ec2:"), without(" on source"),
		},
		{"identity policy", changes{"ReplicationPolicyClass": "IdentityReplicationPolicy"}, identity, identity},
		{
			"separator",
			changes{"ReplicationPolicySeparator": "__"},
			instead("us.*", "us__*"),
			instead("us.*", "us__*", "mm2-offset-syncs.us.internal", "mm2-offset-syncs__us__internal", "us.checkpoints.internal", "us__checkpoints__internal", "us.heartbeats", "us__heartbeats"),
		},
		{
			"separator outside internal names",
			changes{"ReplicationPolicySeparator": "__", "ReplicationPolicyInternalTopicSeparatorEnabled": "false"},
			instead("us.*", "us__*"), instead("us.*", "us__*", "us.heartbeats", "us__heartbeats"),
		},
		{
			"group offsets",
			changes{"SyncGroupOffsetsEnabled": "true"},
			same, plus("Allow kafka-cluster:AlterGroup, kafka-cluster:DescribeGroup on target group *"),
		},
		{
			"offset syncs on the source",
			changes{"OffsetSyncsTopicLocation": "source"},
			same,
			plus("Allow kafka-cluster:WriteDataIdempotently on source", "Allow kafka-cluster:CreateTopic, kafka-cluster:DescribeTopicDynamicConfiguration, kafka-cluster:WriteData on source topic mm2-offset-syncs.eu.internal"),
		},
	}
}

// everywhere are the actions allowed on every resource, and why.
func everywhere() map[string]string {
	const (
		describe  = "EC2's describing actions know no resources"
		interfac  = "the interfaces are made later, by Lambda; code cannot use the right"
		untouched = "the action knows no resources"
	)
	return map[string]string{
		"ec2:AssignPrivateIpAddresses": interfac, "ec2:CreateNetworkInterface": interfac, "ec2:DeleteNetworkInterface": interfac, "ec2:UnassignPrivateIpAddresses": interfac,
		"ec2:DescribeNetworkInterfaces": describe, "ec2:DescribeSecurityGroups": describe, "ec2:DescribeSubnets": describe, "ec2:DescribeVpcs": describe,
		"kafka:GetBootstrapBrokers": untouched, "xray:PutTelemetryRecords": untouched, "xray:PutTraceSegments": untouched,
	}
}

// TestNothingEverywhere wants every right bound to a resource, but for the listed actions, and no action by pattern.
func TestNothingEverywhere(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		s := deploy(t, c.changes)
		for id, r := range s.resources() {
			walk(r, func(o object) {
				if o["Effect"] != "Allow" || o["Action"] == nil || o["Resource"] == nil {
					return
				}
				for _, action := range texts(o["Action"]) {
					if strings.Contains(action, "*") {
						t.Errorf("%s, %s: %s is a pattern", c.name, id, action)
					}
					if slices.Contains(texts(o["Resource"]), "*") && everywhere()[action] == "" {
						t.Errorf("%s, %s: %s is allowed on everything", c.name, id, action)
					}
				}
			})
		}
	}
}
