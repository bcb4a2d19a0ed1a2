package template

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rights are the statements of a role as lines, sorted: "Allow action, action on resource, resource".
func rights(s *stack, role string) []string {
	s.t.Helper()
	documents := []object{}
	for _, inline := range s.properties(role)["Policies"].([]any) {
		documents = append(documents, at(inline.(object), "PolicyDocument"))
	}
	managed, _ := s.properties(role)["ManagedPolicyArns"].([]any)
	for _, id := range managed {
		documents = append(documents, at(s.properties(id.(string)), "PolicyDocument"))
	}
	var lines []string
	for _, d := range documents {
		for _, statement := range d["Statement"].([]any) {
			lines = append(lines, line(statement.(object)))
		}
	}
	slices.Sort(lines)
	return lines
}

func line(statement object) string {
	text := fmt.Sprintf("%s %s on %s", statement["Effect"], strings.Join(texts(statement["Action"]), ", "), strings.Join(texts(statement["Resource"]), ", "))
	if condition, ok := statement["Condition"]; ok {
		written, _ := json.Marshal(condition) // a map of strings
		text += " if " + string(written)
	}
	return strings.NewReplacer(
		sourceARN, "source", strings.Replace(sourceARN, ":cluster/", ":topic/", 1)+"/", "source topic ", strings.Replace(sourceARN, ":cluster/", ":group/", 1)+"/", "source group ",
		targetARN, "target", strings.Replace(targetARN, ":cluster/", ":topic/", 1)+"/", "target topic ", strings.Replace(targetARN, ":cluster/", ":group/", 1)+"/", "target group ",
	).Replace(text)
}

// texts are the elements of a list, sorted, or a text alone.
func texts(v any) []string {
	if text, ok := v.(string); ok {
		return []string{text}
	}
	var all []string
	for _, element := range v.([]any) {
		all = append(all, element.(string))
	}
	slices.Sort(all)
	return all
}

const noNetworkFromCode = `Deny ec2:* on * if {"Null":{"lambda:SourceFunctionArn":"false"}}`

// mirrorRights are the mirror function's between two MSK clusters with IAM.
func mirrorRights() []string {
	return []string{
		noNetworkFromCode,
		"Allow logs:CreateLogStream, logs:PutLogEvents on MirrorLog.Arn",
		"Allow dynamodb:GetItem, dynamodb:UpdateItem on StateTable.Arn",
		// The pollers.
		"Allow kafka:DescribeClusterV2 on source",
		"Allow kafka:GetBootstrapBrokers on *",
		"Allow ec2:CreateNetworkInterface, ec2:DeleteNetworkInterface, ec2:DescribeNetworkInterfaces, ec2:DescribeSecurityGroups, ec2:DescribeSubnets, ec2:DescribeVpcs on *",
		// The source: read only.
		"Allow kafka-cluster:Connect, kafka-cluster:DescribeCluster on source",
		"Allow kafka-cluster:DescribeTopic, kafka-cluster:ReadData on source topic *",
		"Allow kafka-cluster:AlterGroup, kafka-cluster:DescribeGroup on source group tidemark.us+eu.*",
		// The target: its own remote topics.
		"Allow kafka-cluster:Connect, kafka-cluster:WriteDataIdempotently on target",
		"Allow kafka-cluster:AlterCluster on target",
		"Allow kafka-cluster:AlterTopic, kafka-cluster:CreateTopic, kafka-cluster:DescribeTopic, kafka-cluster:DescribeTopicDynamicConfiguration, kafka-cluster:ReadData, kafka-cluster:WriteData on target topic us.*",
		"Allow kafka-cluster:AlterGroup, kafka-cluster:DescribeGroup on target group tidemark.us+eu.*",
	}
}

// checkpointRights are the checkpoint function's between two MSK clusters with IAM.
func checkpointRights() []string {
	return []string{
		noNetworkFromCode,
		"Allow logs:CreateLogStream, logs:PutLogEvents on CheckpointLog.Arn",
		"Allow dynamodb:GetItem, dynamodb:Scan, dynamodb:UpdateItem on StateTable.Arn",
		"Allow lambda:InvokeFunction on MirrorFunction.Arn",
		// The source: read only.
		"Allow kafka-cluster:Connect, kafka-cluster:DescribeCluster on source",
		"Allow kafka-cluster:DescribeTopic, kafka-cluster:ReadData on source topic *",
		"Allow kafka-cluster:DescribeGroup on source group *",
		"Allow kafka-cluster:AlterGroup on source group tidemark.us+eu.*",
		// The target: the internal topics, and for the operator what MM2 left.
		"Allow kafka-cluster:Connect, kafka-cluster:DescribeCluster, kafka-cluster:WriteDataIdempotently on target",
		"Allow kafka-cluster:DescribeTopic, kafka-cluster:ReadData on target topic us.*",
		internalRights("mm2-offset-syncs.us.internal", "mm2-offsets.us.internal", "us.checkpoints.internal", "us.heartbeats"),
		"Allow kafka-cluster:AlterGroup, kafka-cluster:DescribeGroup on target group tidemark.us+eu.*",
	}
}

// internalRights are those on the internal topics of the target.
func internalRights(topics ...string) string {
	resources := []string{"target topic heartbeats"}
	for _, topic := range topics {
		resources = append(resources, "target topic "+topic)
	}
	slices.Sort(resources)
	return "Allow kafka-cluster:CreateTopic, kafka-cluster:DescribeTopic, kafka-cluster:DescribeTopicDynamicConfiguration, kafka-cluster:ReadData, kafka-cluster:WriteData on " + strings.Join(resources, ", ")
}

func TestRights(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := deploy(t, c.changes)
			for role, want := range map[string][]string{"MirrorRole": c.mirror(mirrorRights()), "CheckpointRole": c.checkpoint(checkpointRights())} {
				slices.Sort(want)
				if diff := cmp.Diff(want, rights(s, role)); diff != "" {
					t.Errorf("rights of %s (-want +got):\n%s", role, diff)
				}
			}
			if diff := cmp.Diff([]string{"Allow lambda:InvokeFunction on CheckpointFunction.Arn"}, rights(s, "ScheduleRole")); diff != "" {
				t.Errorf("rights of the schedule (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTrust wants each role to be its service's alone.
func TestTrust(t *testing.T) {
	t.Parallel()
	s := deploy(t, nil)
	for role, want := range map[string]string{
		"MirrorRole":     `[{"Action":"sts:AssumeRole","Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"}}]`,
		"CheckpointRole": `[{"Action":"sts:AssumeRole","Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"}}]`,
		"ScheduleRole":   `[{"Action":"sts:AssumeRole","Condition":{"StringEquals":{"aws:SourceAccount":"` + account + `"}},"Effect":"Allow","Principal":{"Service":"scheduler.amazonaws.com"}}]`,
	} {
		got, err := json.Marshal(at(s.properties(role), "AssumeRolePolicyDocument")["Statement"])
		if err != nil || string(got) != want {
			t.Errorf("%s may be taken by %s, %v, want %s", role, got, err, want)
		}
	}
}
