package main

import (
	"strings"

	"tidemark/shared/selector"
)

// rule says what becomes of properties. The first that fits counts.
type rule struct {
	key       string // the whole name of a property that is carried over, the beginning of any other's
	fate      fate
	parameter string                                // carried over: of the template; with "*" for the side
	why       string                                // else
	check     func(value string) (say string)       // why a value cannot be carried over; nil: any can
	change    func(value string) (parameter string) // nil: as it is
	skip      bool                                  // whether a value that cannot be carried over is left out
	only      func(value string) bool               // the values that it is about; nil: all
}

// rules are MM2's properties (MirrorConnectorConfig, MirrorSourceConfig, MirrorCheckpointConfig, MirrorHeartbeatConfig) and
// those of Connect and the clients that files have.
func rules() []rule {
	carry := func(key, parameter string) rule { return rule{key: key, fate: carried, parameter: parameter} }
	not := func(key, why string) rule { return rule{key: key, fate: needless, why: why} }
	never := func(key, why string) rule { return rule{key: key, fate: unsupported, why: why} }
	list := func(key, parameter string) rule {
		return rule{key: key, fate: carried, parameter: parameter, check: expressions}
	}
	const worker, settings = "there is no Connect worker", "settings of topics are not synced: set them on the remote topics"
	const bounds, verbatim = "requests have bounds of their own", "records are mirrored as they are: a flow with transformations stays with MM2"
	return []rule{
		{key: "bootstrap.servers", fate: carried, parameter: "*BootstrapServers", change: compact},
		{key: "security.protocol", fate: carried, parameter: "*SecurityProtocol"},
		{key: "sasl.mechanism", fate: carried, parameter: "*SaslMechanism", check: mechanism},
		list("topics", "Topics"), list("topics.exclude", "TopicsExclude"), list("topics.blacklist", "TopicsExclude"),
		list("groups", "Groups"), list("groups.exclude", "GroupsExclude"), list("groups.blacklist", "GroupsExclude"),
		{key: "replication.policy.class", fate: carried, parameter: "ReplicationPolicyClass", check: policy, change: short},
		carry("replication.policy.separator", "ReplicationPolicySeparator"),
		carry("replication.policy.internal.topic.separator.enabled", "ReplicationPolicyInternalTopicSeparatorEnabled"),
		carry("replication.factor", "ReplicationFactor"),
		carry("offset-syncs.topic.location", "OffsetSyncsTopicLocation"),
		carry("offset-syncs.topic.replication.factor", "OffsetSyncsTopicReplicationFactor"),
		carry("checkpoints.topic.replication.factor", "CheckpointsTopicReplicationFactor"),
		carry("heartbeats.topic.replication.factor", "HeartbeatsTopicReplicationFactor"),
		carry("emit.checkpoints.enabled", "EmitCheckpointsEnabled"),
		{key: "emit.checkpoints.interval.seconds", fate: carried, parameter: "EmitCheckpointsIntervalSeconds", check: interval, skip: true},
		carry("sync.group.offsets.enabled", "SyncGroupOffsetsEnabled"),
		{key: "sync.group.offsets.interval.seconds", fate: carried, parameter: "SyncGroupOffsetsIntervalSeconds", check: interval, skip: true},
		carry("emit.heartbeats.enabled", "EmitHeartbeatsEnabled"),
		{key: "emit.heartbeats.interval.seconds", fate: carried, parameter: "EmitHeartbeatsIntervalSeconds", check: interval, skip: true},
		{key: "consumer.auto.offset.reset", fate: carried, parameter: "ConsumerAutoOffsetReset"},
		{key: "auto.offset.reset", fate: carried, parameter: "ConsumerAutoOffsetReset"},

		{key: "sasl.", fate: needless, why: "IAM is built in", only: iam},
		never("sasl.jaas.config", "credentials do not belong into a file: put username and password into a secret and name it in SourceSecretArn or TargetSecretArn"),
		never("ssl.keystore", "put certificate and private key (PEM) into a secret and name it in SourceSecretArn or TargetSecretArn"),
		never("ssl.key.password", "it goes into the same secret, as privateKeyPassword"),
		never("ssl.truststore", "a private authority goes into a secret (PEM): SourceCaSecretArn or TargetCaSecretArn. Public ones are known"),
		not("ssl.", "TLS is Go's: its protocols and its check of host names"),
		never("sasl.login.callback.handler.class", "IAM, SCRAM and PLAIN are built in; other handlers are not"),
		never("sasl.client.callback.handler.class", "IAM, SCRAM and PLAIN are built in; other handlers are not"),
		never("sasl.", "only AWS_MSK_IAM, SCRAM and PLAIN with a secret are supported"),

		never("transforms", verbatim),
		never("predicates", verbatim),
		not("key.converter", "keys are mirrored byte by byte"), not("value.converter", "values are mirrored byte by byte"), not("header.converter", "headers are mirrored byte by byte"),
		never("topic.filter.class", "topics are chosen by lists of expressions"), never("group.filter.class", "groups are chosen by lists of expressions"),
		never("config.property.filter.class", settings),
		never("config.properties.", settings), never("sync.topic.configs.", settings),
		never("use.defaults.from", settings), never("use.incremental.alter.configs", settings),
		never("sync.topic.acls.", "ACLs are not synced: grant them on the remote topics"),
		never("forwarding.admin.class", "topics are made by the target's own admin requests"),
		never("emit.offset-syncs.enabled", "offset syncs are always written: a record a partition and minute"),
		not("offset.lag.max", "translation is exact, and syncs follow the scheduled pass"),
		not("exactly.once.source.support", "a record is mirrored effectively once, without transactions"), not("transaction.boundary", "a record is mirrored effectively once, without transactions"),
		not("heartbeats.replication.enabled", "the topic heartbeats is mirrored if Topics selects it"),
		not("consumer.isolation.level", "committed records are mirrored, always"), not("isolation.level", "committed records are mirrored, always"),
		not("offset.", "there is no Connect worker: positions are in the state table"), not("config.storage.", worker), not("status.storage.", worker),
		not("offsets.", worker), not("tasks.max", "partitions are spread by the trigger"), not("refresh.topics.", "each pass lists the topics"), not("refresh.groups.", "each pass lists the groups"),
		not("poll.timeout", "the trigger polls"), not("group.id", "the trigger has a group of its own"), not("plugin.path", worker), not("dedicated.mode.", worker),
		not("listeners", worker), not("rest.", worker), not("connector.client.", worker),
		not("enabled", "one stack is one flow"), not("clusters", "the aliases are the flow's"), not("name", "the stack has a name"), not("connector.class", worker),
		not("source.cluster.alias", "the alias is the flow's"), not("target.cluster.alias", "the alias is the flow's"), not("add.source.alias.to.metrics", "metrics have the flow as their dimension"),
		not("metric", "metrics go to CloudWatch"), not("client.id", "clients are told apart by function"), not("worker.", worker), not("scheduled.rebalance", worker),
		never("errors.deadletterqueue.topic.name", "Connect ignores it for source connectors; here ErrorsTolerance=all with ErrorsDeadletterqueueTopicName sends there what the target refuses"),
		never("errors.tolerance", "Connect skips what fails; here ErrorsTolerance=all wants ErrorsDeadletterqueueTopicName, so that nothing is lost"), not("errors.", "failures are logged, counted and alarmed"),
		not("producer.", "batches are what the trigger brings; acks=all, idempotent, always"), not("consumer.", "the trigger consumes; its batch size and window are TriggerBatchSize and TriggerBatchingWindowSeconds"),
		not("admin.", bounds), not("acks", "acks=all, idempotent, always"), not("compression.type", "the remote topic's compression.type decides what is kept"), not("max.request.size", "the remote topic's max.message.bytes is asked for"),
		not("min.insync.replicas", "it is the target's"), not("client.", "clients are configured by the function"), not("request.timeout.ms", bounds), not("retries", "whatever fails is tried again"), not("retry.backoff", "whatever fails is tried again"),
	}
}

// find is the rule about a property; false if there is none.
func find(all []rule, key, value string) (rule, bool) {
	for _, r := range all {
		if r.only != nil && !r.only(value) {
			continue
		}
		if key == r.key || r.fate != carried && strings.HasPrefix(key, r.key) {
			return r, true
		}
	}
	return rule{}, false
}

// expressions checks a list of regular expressions: Go knows less than Java.
func expressions(value string) string {
	if _, err := selector.ParseList(value); err != nil {
		return err.Error()
	}
	return ""
}

// iam knows the classes of the MSK library for IAM.
func iam(value string) bool { return strings.HasPrefix(value, "software.amazon.msk.auth.iam.") }

func mechanism(value string) string {
	switch value {
	case "AWS_MSK_IAM", "SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN":
		return ""
	}
	return "only AWS_MSK_IAM, SCRAM-SHA-256, SCRAM-SHA-512 and PLAIN are supported"
}

const (
	standard = "DefaultReplicationPolicy"
	identity = "IdentityReplicationPolicy"
)

// short is a policy's class without its package.
func short(value string) string { return value[strings.LastIndexByte(value, '.')+1:] }

func policy(value string) string {
	if s := short(value); s == standard || s == identity {
		return ""
	}
	return "only " + standard + " and " + identity + " are supported: another policy's remote topics would get other names. Keep MM2"
}

// interval refuses MM2's way of switching off.
func interval(value string) string {
	if value == "0" || strings.HasPrefix(value, "-") {
		return "it switches off: set the parameter that ends with Enabled to false"
	}
	return ""
}

// compact takes the blanks out of a list.
func compact(value string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(value, ",", " ")), ",")
}
