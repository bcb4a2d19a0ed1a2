package template

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResources(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"MirrorFunction": "AWS::Serverless::Function", "MirrorLog": "AWS::Logs::LogGroup", "MirrorRole": "AWS::IAM::Role",
		"CheckpointFunction": "AWS::Serverless::Function", "CheckpointLog": "AWS::Logs::LogGroup", "CheckpointRole": "AWS::IAM::Role",
		"OperatorFunction": "AWS::Serverless::Function",
		"FunctionPolicy":   "AWS::IAM::ManagedPolicy", "Schedule": "AWS::Scheduler::Schedule", "ScheduleRole": "AWS::IAM::Role",
		"StateTable": "AWS::DynamoDB::Table", "TopicTrigger": "AWS::Lambda::EventSourceMapping",
		"StalledPartitionsAlarm": "AWS::CloudWatch::Alarm", "WatermarkAgeAlarm": "AWS::CloudWatch::Alarm", "PassSucceededAlarm": "AWS::CloudWatch::Alarm",
	}
	types := func(changes map[string]string) map[string]string {
		got := make(map[string]string)
		for id, r := range deploy(t, changes).resources() {
			got[id] = r["Type"].(string)
		}
		return got
	}
	if diff := cmp.Diff(want, types(map[string]string{"TriggerTopic": "orders"})); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	delete(want, "TopicTrigger")
	delete(want, "StateTable")
	if diff := cmp.Diff(want, types(map[string]string{"StateTableName": "adopted"})); diff != "" {
		t.Errorf("resources without trigger, with an adopted table (-want +got):\n%s", diff)
	}
}

// settings are those that both functions share, with changes.
func settings(changes object) object {
	common := object{
		"Handler": "bootstrap", "Runtime": "provided.al2023", "Architectures": []any{"arm64"}, "MemorySize": "512", "Tracing": "PassThrough",
	}
	maps.Copy(common, changes)
	return common
}

// TestFunctions compares every setting but code, text and environment. What is not listed must not be there: no reserved
// concurrency, which new accounts cannot have, and no events, on which SAM ignores a Condition.
func TestFunctions(t *testing.T) {
	t.Parallel()
	vpc := object{"SubnetIds": []any{"subnet-0a", "subnet-0b"}, "SecurityGroupIds": []any{"sg-0c"}}
	logs := func(group, level string) object {
		return object{"LogFormat": "JSON", "ApplicationLogLevel": level, "LogGroup": group}
	}
	once := object{"MaximumRetryAttempts": "0", "MaximumEventAgeInSeconds": "60"}
	soon := object{"MaximumRetryAttempts": "0", "MaximumEventAgeInSeconds": "300"}
	tests := []struct {
		name               string
		changes            map[string]string
		mirror, checkpoint object
	}{
		{
			"as it is", nil,
			settings(object{"Timeout": "60", "Role": "MirrorRole.Arn", "LoggingConfig": logs("MirrorLog", "INFO"), "EventInvokeConfig": soon}),
			settings(object{"Timeout": "55", "Role": "CheckpointRole.Arn", "LoggingConfig": logs("CheckpointLog", "INFO"), "EventInvokeConfig": once}),
		},
		{
			"with everything",
			map[string]string{
				"SubnetIds": "subnet-0a,subnet-0b", "SecurityGroupIds": "sg-0c", "Tracing": "Active", "LogLevel": "DEBUG",
				"MirrorMemorySize": "1769", "CheckpointMemorySize": "1024",
			},
			settings(object{"Timeout": "60", "Role": "MirrorRole.Arn", "LoggingConfig": logs("MirrorLog", "DEBUG"), "EventInvokeConfig": soon, "VpcConfig": vpc, "Tracing": "Active", "MemorySize": "1769"}),
			settings(object{"Timeout": "55", "Role": "CheckpointRole.Arn", "LoggingConfig": logs("CheckpointLog", "DEBUG"), "EventInvokeConfig": once, "VpcConfig": vpc, "Tracing": "Active", "MemorySize": "1024"}),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := deploy(t, tt.changes)
			operator := maps.Clone(tt.checkpoint)
			delete(operator, "EventInvokeConfig")
			operator["MemorySize"], operator["Timeout"] = "512", "300"
			for id, want := range map[string]object{"MirrorFunction": tt.mirror, "CheckpointFunction": tt.checkpoint, "OperatorFunction": operator} {
				got := s.properties(id)
				for _, elsewhere := range []string{"CodeUri", "Description", "Environment"} {
					delete(got, elsewhere)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", id, diff)
				}
				if method := at(s.template, "Resources", id, "Metadata")["BuildMethod"]; method != "makefile" {
					t.Errorf("%s: build method %v, want makefile", id, method)
				}
			}
		})
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	want := object{
		"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "RetainExceptOnCreate", "UpdateReplacePolicy": "Retain",
		"Properties": object{
			"BillingMode":                      "PAY_PER_REQUEST",
			"AttributeDefinitions":             []any{object{"AttributeName": "partition", "AttributeType": "S"}},
			"KeySchema":                        []any{object{"AttributeName": "partition", "KeyType": "HASH"}},
			"PointInTimeRecoverySpecification": object{"PointInTimeRecoveryEnabled": "true"},
			"DeletionProtectionEnabled":        "true",
		},
	}
	got := deploy(t, map[string]string{"StateTableDeletionProtection": "true"}).resources()["StateTable"]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// TestSchedule wants no name among its properties: the replacement of a schedule with one would collide with it.
func TestSchedule(t *testing.T) {
	t.Parallel()
	want := object{
		"ScheduleExpression": "rate(1 minute)", "State": "ENABLED", "FlexibleTimeWindow": object{"Mode": "OFF"},
		"Target": object{
			"Arn": "CheckpointFunction.Arn", "RoleArn": "ScheduleRole.Arn", "Input": `{"time":"<aws.scheduler.scheduled-time>"}`,
			"RetryPolicy": object{"MaximumRetryAttempts": "0", "MaximumEventAgeInSeconds": "60"},
		},
	}
	got := deploy(t, nil).properties("Schedule")
	delete(got, "Description")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schedule (-want +got):\n%s", diff)
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	s := deploy(t, map[string]string{"LogRetentionDays": "7"})
	for _, id := range []string{"MirrorLog", "CheckpointLog"} {
		if diff := cmp.Diff(object{"RetentionInDays": "7"}, s.properties(id)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

// TestNamesAreFree wants no fixed name on anything, so that a stack can stand twice in an account, and anything can be
// replaced.
func TestNamesAreFree(t *testing.T) {
	t.Parallel()
	for id := range at(load(t), "Resources") {
		for property := range at(load(t), "Resources", id, "Properties") {
			switch {
			case property == "MetricName", property == "FunctionName": // of something else
			case strings.HasSuffix(property, "Name"):
				t.Errorf("%s has a %s of its own", id, property)
			}
		}
	}
}
