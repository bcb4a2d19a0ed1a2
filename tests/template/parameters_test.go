package template

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outside says why a value is out of a parameter's bounds; empty if it is not.
func outside(parameter object, value string) string {
	bound := func(name string, standard int) int {
		if text, ok := parameter[name].(string); ok {
			standard, _ = strconv.Atoi(text)
		}
		return standard
	}
	if pattern, ok := parameter["AllowedPattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(value) {
		return "does not match " + pattern
	}
	if values, ok := parameter["AllowedValues"].([]any); ok && !slices.Contains(values, any(value)) {
		return "is none of the allowed values"
	}
	const most = 4096 // characters of any parameter
	if n := len(value); n < bound("MinLength", 0) || n > bound("MaxLength", most) {
		return "is too long or too short"
	}
	if parameter["Type"] == "Number" {
		if n, err := strconv.Atoi(value); err != nil || n < bound("MinValue", n) || n > bound("MaxValue", n) {
			return "is too large or too small"
		}
	}
	return ""
}

// TestParameters wants each one described, bounded and in one group.
func TestParameters(t *testing.T) {
	t.Parallel()
	template := load(t)
	var grouped []string
	for _, group := range at(template, "Metadata", "AWS::CloudFormation::Interface")["ParameterGroups"].([]any) {
		for _, name := range group.(object)["Parameters"].([]any) {
			grouped = append(grouped, name.(string))
		}
	}
	var all []string
	for name := range at(template, "Parameters") {
		all = append(all, name)
		p := at(template, "Parameters", name)
		if p["Description"] == nil {
			t.Errorf("parameter %s has no description", name)
		}
		pattern, _ := p["AllowedPattern"].(string)
		bounded := p["AllowedValues"] != nil || p["MinValue"] != nil && p["MaxValue"] != nil || p["MinLength"] != nil && p["MaxLength"] != nil
		if pattern == "" && !bounded {
			t.Errorf("parameter %s has no bounds", name)
		}
		if pattern != "" && (!strings.HasPrefix(pattern, "^") || !strings.HasSuffix(pattern, "$")) {
			t.Errorf("parameter %s: the pattern %s is not anchored", name, pattern)
		}
	}
	slices.Sort(all)
	slices.Sort(grouped)
	if diff := cmp.Diff(all, grouped); diff != "" {
		t.Errorf("parameters, and those in groups (-want +got):\n%s", diff)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	parameters := at(load(t), "Parameters")
	tests := []struct {
		parameter string
		good, bad []string
	}{
		{"SourceClusterAlias", []string{"us", "us-west_2.b"}, []string{"", "u s", "us/2", strings.Repeat("a", 41)}},
		{"TargetBootstrapServers", []string{"a:1", "a:9092,b:9092"}, []string{"", "a", "a:9092, b:9092", "a:9092,"}},
		{"SourceClusterArn", []string{"", sourceARN}, []string{"west", "arn:aws:kafka:us-east-1:1:topic/west/1/t"}},
		{"TargetSecretArn", []string{"", "arn:aws:secretsmanager:us-east-1:1:secret:AmazonMSK_a"}, []string{"hunter2"}},
		{"SubnetIds", []string{"", "subnet-0a", "subnet-0a,subnet-0b"}, []string{"subnet-0a, subnet-0b", "sg-0a"}},
		{"SecretsKmsKeyArns", []string{"", "arn:aws:kms:r:1:key/a,arn:aws:kms:r:1:key/b"}, []string{"alias/a", "arn:aws:kms:r:1:alias/a"}},
		{"TriggerTopic", []string{"", "orders", "_x.y-z"}, []string{".orders", "a b", "o"}}, // Lambda wants two characters
		{"SourceEventSourceArn", []string{"", "arn:aws:kafka:us-east-1:1:vpc-connection/1/west/a"}, []string{sourceARN}},
		{"TriggerBatchingWindowSeconds", []string{"0", "30"}, []string{"31", "-1", "x"}},
		{"StateTableName", []string{"", "flow"}, []string{"ab", "a/b"}},
		{"StallSeconds", []string{"60", "86400"}, []string{"59", "86401"}},
		{"MetricsNamespace", []string{"Tidemark", "a/b c"}, []string{"", ":a", "a,b"}},
		{"LogLevel", []string{"DEBUG", "INFO"}, []string{"WARN", "ERROR"}}, // they would drop the metrics
	}
	for _, tt := range tests {
		for _, value := range tt.good {
			if fault := outside(at(parameters, tt.parameter), value); fault != "" {
				t.Errorf("%s=%q %s, want it allowed", tt.parameter, value, fault)
			}
		}
		for _, value := range tt.bad {
			if outside(at(parameters, tt.parameter), value) == "" {
				t.Errorf("%s=%q is allowed", tt.parameter, value)
			}
		}
	}
}

// TestLongestGroup wants the trigger's consumer group within the 200 characters that Lambda allows.
func TestLongestGroup(t *testing.T) {
	t.Parallel()
	alias, topic := strings.Repeat("a", 40), strings.Repeat("t", 109)
	p := deploy(t, map[string]string{"SourceClusterAlias": alias, "TargetClusterAlias": alias, "TriggerTopic": topic}).properties("TopicTrigger")
	group := at(p, "AmazonManagedKafkaEventSourceConfig")["ConsumerGroupId"].(string)
	if !regexp.MustCompile(`^[a-zA-Z0-9\-/*:_+=.@]{1,200}$`).MatchString(group) {
		t.Errorf("group %s of %d characters", group, len(group))
	}
}
