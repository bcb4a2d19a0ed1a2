// Package config reads the functions' environment once. Every fault is reported, with variable, value and what to set.
//
// The variables are MirrorMaker 2's and Kafka's property names, upper-cased, with "_" for "." and "-"; what belongs to one
// cluster begins with SOURCE_ or TARGET_.
package config

import (
	"fmt"
	"strings"
	"time"

	"tidemark/shared/mm2"
	"tidemark/shared/selector"
)

// Flow is what every function of a flow shares.
type Flow struct {
	Source, Target Cluster
	Names          mm2.Names
	Policy         mm2.Policy
	Topics, Groups selector.Selector

	// Replication factors of remote topics and of the three internal ones; -1 is the broker's default.
	ReplicationFactor, OffsetSyncsReplicationFactor, CheckpointsReplicationFactor, HeartbeatsReplicationFactor int16

	Start            Start         // where partitions begin that were never mirrored
	StateTable       string        // in DynamoDB
	StallAfter       time.Duration // how long a partition may stand still before it counts as stalled
	MetricsNamespace string        // in CloudWatch
}

// String names the flow: "us->eu".
func (f Flow) String() string { return f.Source.Alias + "->" + f.Target.Alias }

// Remote returns the remote topic of a source topic. Topics that the flow does not mirror have none, and the error says
// why: to mirror what nobody watches for stalls would be to lose it silently.
func (f Flow) Remote(topic string) (string, error) {
	switch {
	case !f.Topics.Match(topic) && !mm2.IsHeartbeats(f.Policy, topic):
		return "", fmt.Errorf("topic %s is not selected by TOPICS and TOPICS_EXCLUDE: select it, or remove its trigger", topic)
	case f.Policy.IsInternal(topic):
		return "", fmt.Errorf("topic %s is internal to Kafka or MirrorMaker and is never mirrored: remove its trigger", topic)
	case mm2.IsCycle(f.Policy, topic, f.Target.Alias):
		return "", fmt.Errorf("topic %s came from %s, to mirror it there would loop: remove its trigger", topic, f.Target.Alias)
	}
	return f.Policy.Remote(f.Source.Alias, topic), nil
}

func (r *reader) flow() Flow {
	f := Flow{
		Source: r.cluster("SOURCE_"), Target: r.cluster("TARGET_"),
		Topics: r.selector("TOPICS", selector.DefaultTopics, selector.DefaultTopicsExclude),
		Groups: r.selector("GROUPS", selector.DefaultGroups, selector.DefaultGroupsExclude),

		ReplicationFactor:            r.factor("REPLICATION_FACTOR", -1),
		OffsetSyncsReplicationFactor: r.factor("OFFSET_SYNCS_TOPIC_REPLICATION_FACTOR", 3),
		CheckpointsReplicationFactor: r.factor("CHECKPOINTS_TOPIC_REPLICATION_FACTOR", 3),
		HeartbeatsReplicationFactor:  r.factor("HEARTBEATS_TOPIC_REPLICATION_FACTOR", 3),

		Start:            r.start(),
		StateTable:       r.required("STATE_TABLE", "want the name of the DynamoDB table"),
		StallAfter:       r.seconds("STALL_SECONDS", 120, 1, 86400),
		MetricsNamespace: r.namespace("METRICS_NAMESPACE", "Tidemark"),
	}
	if f.Source.Alias != "" && f.Source.Alias == f.Target.Alias {
		r.fault("TARGET_CLUSTER_ALIAS", f.Target.Alias, "want another alias than the source's")
	}
	r.names(&f)
	return f
}

// names reads what the topics of the flow are called.
func (r *reader) names(f *Flow) {
	separator := r.topicPart("REPLICATION_POLICY_SEPARATOR", r.text("REPLICATION_POLICY_SEPARATOR", "."))
	internal := r.boolean("REPLICATION_POLICY_INTERNAL_TOPIC_SEPARATOR_ENABLED", true)
	location := mm2.OnTarget
	if r.oneOf("OFFSET_SYNCS_TOPIC_LOCATION", "target", "source") == "source" {
		location = mm2.OnSource
	}
	f.Names = mm2.Names{Source: f.Source.Alias, Target: f.Target.Alias, Separator: separator, InternalSeparator: internal, Location: location}
	byAlias := mm2.DefaultPolicy{Separator: separator, InternalSeparator: internal}
	const class, java = "REPLICATION_POLICY_CLASS", "org.apache.kafka.connect.mirror."
	switch name := r.text(class, "DefaultReplicationPolicy"); strings.TrimPrefix(name, java) {
	case "DefaultReplicationPolicy":
		f.Policy = byAlias
	case "IdentityReplicationPolicy":
		f.Policy = mm2.IdentityPolicy{DefaultPolicy: byAlias, SourceAlias: f.Source.Alias}
	default:
		f.Policy = byAlias
		r.fault(class, name, "want DefaultReplicationPolicy or IdentityReplicationPolicy")
	}
}

// factor reads a replication factor; -1 is the broker's default.
func (r *reader) factor(variable string, standard int64) int16 {
	n := r.number(variable, standard, -1, 32767)
	if n == 0 {
		r.fault(variable, "0", "want 1 or more, or -1 for the broker's default")
	}
	return int16(n)
}

// selector reads an include list and its exclude list.
func (r *reader) selector(variable, include, exclude string) selector.Selector {
	return selector.Selector{Include: r.patterns(variable, include), Exclude: r.patterns(variable+"_EXCLUDE", exclude)}
}

func (r *reader) patterns(variable, standard string) selector.List {
	value := r.text(variable, standard)
	list, err := selector.ParseList(value)
	if err != nil { // one line for each bad expression
		r.fault(variable, value, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return list
}

// namespace reads a CloudWatch namespace; under an illegal one no metric would ever appear, nor any error.
func (r *reader) namespace(variable, standard string) string {
	value := r.text(variable, standard)
	illegal := func(c rune) bool { return !isAlphanumeric(c) && !strings.ContainsRune(".-_/#: ", c) }
	if len(value) > 255 || strings.ContainsFunc(value, illegal) || strings.HasPrefix(value, ":") || strings.HasPrefix(value, "AWS/") {
		r.fault(variable, value, "want at most 255 letters, digits, blanks and .-_/#: that begin neither with a colon nor with AWS/")
	}
	return value
}
