package template

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/shared/config"
	"tidemark/shared/selector"
)

// known are the functions' variables.
func known() []string {
	names := []string{
		"TOPICS", "TOPICS_EXCLUDE", "GROUPS", "GROUPS_EXCLUDE",
		"REPLICATION_POLICY_CLASS", "REPLICATION_POLICY_SEPARATOR", "REPLICATION_POLICY_INTERNAL_TOPIC_SEPARATOR_ENABLED", "OFFSET_SYNCS_TOPIC_LOCATION",
		"REPLICATION_FACTOR", "OFFSET_SYNCS_TOPIC_REPLICATION_FACTOR", "CHECKPOINTS_TOPIC_REPLICATION_FACTOR", "HEARTBEATS_TOPIC_REPLICATION_FACTOR",
		"EMIT_CHECKPOINTS_ENABLED", "EMIT_CHECKPOINTS_INTERVAL_SECONDS", "SYNC_GROUP_OFFSETS_ENABLED", "SYNC_GROUP_OFFSETS_INTERVAL_SECONDS",
		"EMIT_HEARTBEATS_ENABLED", "EMIT_HEARTBEATS_INTERVAL_SECONDS", "CONSUMER_AUTO_OFFSET_RESET", "ERRORS_TOLERANCE", "ERRORS_DEADLETTERQUEUE_TOPIC_NAME",
		"STATE_TABLE", "MIRROR_FUNCTION_NAME", "STALL_SECONDS", "FENCING", "DELIVERY_REPORT", "METRICS_NAMESPACE",
	}
	for _, name := range []string{"CLUSTER_ALIAS", "BOOTSTRAP_SERVERS", "SECURITY_PROTOCOL", "SASL_MECHANISM", "SECRET_ARN", "CA_SECRET_ARN"} {
		names = append(names, "SOURCE_"+name, "TARGET_"+name)
	}
	return names
}

// variable is the environment variable that a parameter is named after.
func variable(parameter string) string {
	return strings.ToUpper(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(parameter, "${1}_${2}"))
}

// TestVariables wants each to be one that the functions know, named as its parameter, and no such parameter without effect.
func TestVariables(t *testing.T) {
	t.Parallel()
	template := load(t)
	set := map[string]bool{}
	for _, place := range []object{at(template, "Globals", "Function"), at(template, "Resources", "MirrorFunction", "Properties"), at(template, "Resources", "CheckpointFunction", "Properties")} {
		variables := at(place, "Environment", "Variables")
		if len(variables) == 0 {
			t.Error("no variables where there should be some")
		}
		for name := range variables {
			set[name] = true
			if !slices.Contains(known(), name) {
				t.Errorf("no function knows %s", name)
			}
			parameter, ok := at(variables, name)["Ref"].(string)
			if _, resource := at(template, "Resources")[parameter]; ok && !resource && variable(parameter) != name {
				t.Errorf("%s comes from parameter %s", name, parameter)
			}
		}
	}
	for parameter := range at(template, "Parameters") {
		if name := variable(parameter); slices.Contains(known(), name) && !set[name] {
			t.Errorf("parameter %s does not set %s", parameter, name)
		}
	}
}

// read reads a function's environment as the function does. The checkpoint function's is what both share of mirror's.
func read(t *testing.T, s *stack, id string) config.Mirror {
	t.Helper()
	variables := at(s.properties(id), "Environment", "Variables")
	getenv := func(name string) string { text, _ := variables[name].(string); return text }
	if id == "CheckpointFunction" {
		c, err := config.LoadCheckpoint(getenv)
		if err != nil {
			t.Fatalf("%s refuses its environment: %v", id, err)
		}
		if !c.EmitCheckpoints || !c.EmitHeartbeats || c.CheckpointInterval != time.Minute || c.HeartbeatInterval != time.Minute {
			t.Errorf("%s: emits %+v, want checkpoints and heartbeats each minute", id, c)
		}
		return config.Mirror{Flow: c.Flow}
	}
	c, err := config.LoadMirror(getenv)
	if err != nil {
		t.Fatalf("%s refuses its environment: %v", id, err)
	}
	return c
}

// TestEnvironment has the functions' own configuration read what the template sets.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := deploy(t, c.changes)
			for _, id := range []string{"MirrorFunction", "CheckpointFunction", "OperatorFunction"} {
				got := read(t, s, id)
				want := config.Cluster{
					Alias: "us", BootstrapServers: []string{"b-1.west:9098", "b-2.west:9098"},
					SecurityProtocol: config.SecurityProtocol(s.parameters["SourceSecurityProtocol"]),
					SASLMechanism:    config.SASLMechanism(s.parameters["SourceSaslMechanism"]),
					SecretARN:        s.parameters["SourceSecretArn"], CASecretARN: s.parameters["SourceCaSecretArn"],
				}
				if !want.SecurityProtocol.SASL() {
					want.SASLMechanism = ""
				}
				if diff := cmp.Diff(want, got.Source); diff != "" {
					t.Errorf("%s: source (-want +got):\n%s", id, diff)
				}
				if table := map[bool]string{true: "StateTable", false: "adopted"}[s.parameters["StateTableName"] == ""]; got.StateTable != table {
					t.Errorf("%s: table %s, want %s", id, got.StateTable, table)
				}
			}
			if m, c := read(t, s, "MirrorFunction"), read(t, s, "CheckpointFunction"); m.Policy != c.Policy || m.Names.Source != c.Names.Source || m.MetricsNamespace != c.MetricsNamespace {
				t.Error("the two functions disagree about their flow")
			}
		})
	}
}

// TestDefaults wants the template's defaults to be the functions'.
func TestDefaults(t *testing.T) {
	t.Parallel()
	s := deploy(t, nil)
	for parameter, want := range map[string]string{
		"Topics": selector.DefaultTopics, "TopicsExclude": selector.DefaultTopicsExclude,
		"Groups": selector.DefaultGroups, "GroupsExclude": selector.DefaultGroupsExclude,
	} {
		if got := s.parameters[parameter]; got != want {
			t.Errorf("%s is %q, want %q", parameter, got, want)
		}
	}
	least := minimal()
	standard, err := config.LoadMirror(func(name string) string {
		for parameter, value := range least {
			if variable(parameter) == name {
				return value
			}
		}
		return map[string]string{"STATE_TABLE": "StateTable"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"MirrorFunction", "CheckpointFunction"} {
		got := read(t, s, id)
		got.Source, got.Target = standard.Source, standard.Target // IAM is the template's default alone
		got.Topics, got.Groups = standard.Topics, standard.Groups // compared as text above
		want := standard
		if id == "CheckpointFunction" {
			want = config.Mirror{Flow: standard.Flow}
		}
		if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%s: defaults (-functions' own +template's):\n%s", id, diff)
		}
	}
}

// TestInternalTopics wants rights on the topics that the functions will ask for.
func TestInternalTopics(t *testing.T) {
	t.Parallel()
	for _, c := range cases() {
		s := deploy(t, c.changes)
		names := read(t, s, "CheckpointFunction").Names
		granted := strings.Join(rights(s, "CheckpointRole"), "\n") + "\n"
		for cluster, topics := range map[string][]string{"source": {names.OffsetSyncs()}, "target": {names.OffsetSyncs(), names.Checkpoints(), names.Heartbeats()}} {
			if !strings.Contains(granted, "kafka-cluster:WriteDataIdempotently on "+cluster+"\n") {
				continue // not an IAM cluster, or nothing is written there
			}
			for _, topic := range topics {
				onSource := s.parameters["OffsetSyncsTopicLocation"] == "source"
				if topic == names.OffsetSyncs() && onSource != (cluster == "source") {
					continue
				}
				if !regexp.MustCompile(`kafka-cluster:WriteData on .*\b` + cluster + ` topic ` + regexp.QuoteMeta(topic) + `[,\n]`).MatchString(granted) {
					t.Errorf("%s: no right to write %s on the %s", c.name, topic, cluster)
				}
			}
		}
	}
}
