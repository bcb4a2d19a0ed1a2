package mm2

import "strings"

// Policy names remote topics and tells them from others (ReplicationPolicy.java). Where Java returns null, the second
// result is false.
type Policy interface {
	// Remote is what topic, mirrored from the cluster sourceAlias, is called on the target.
	Remote(sourceAlias, topic string) string
	// Source is the alias of the cluster that topic was mirrored from; false if topic is no remote topic.
	Source(topic string) (alias string, ok bool)
	// Upstream is topic's name on the cluster that it was mirrored from; false if topic is no remote topic.
	Upstream(topic string) (upstream string, ok bool)
	// IsInternal says whether topic belongs to Kafka or MirrorMaker and is therefore never mirrored.
	IsInternal(topic string) bool
	// IsCheckpoints says whether topic is a checkpoints topic, of whichever flow.
	IsCheckpoints(topic string) bool
}

var (
	_ Policy = DefaultPolicy{}
	_ Policy = IdentityPolicy{}
)

// InternalRules choose what [Policy.IsInternal] holds to be internal beside names that begin with "__" or ".". Under
// MM2's default topics.exclude both choices mirror the same topics.
type InternalRules uint8

const (
	// InternalByName is MM2's rule since KAFKA-17200: names that begin with "mm2" and end with <separator>internal, and
	// checkpoints topics. A user's own "billing.internal" is mirrored if the topic filter selects it.
	InternalByName InternalRules = iota
	// InternalBySuffix is the rule before: every name that ends with <separator>internal, ".internal" or "-internal".
	InternalBySuffix
)

// DefaultPolicy is DefaultReplicationPolicy.java: a remote topic is <alias><separator><topic>. Hence every topic whose
// name holds the separator looks remote. The zero value separates by ".".
type DefaultPolicy struct {
	Separator         string // empty means "."
	InternalSeparator bool   // as in [Names]
	Rules             InternalRules
}

// Remote implements [Policy].
func (p DefaultPolicy) Remote(sourceAlias, topic string) string {
	return sourceAlias + p.separator() + topic
}

// Source implements [Policy]: the part before the first separator. Java's String.split drops trailing empty parts, so
// "a." and "a.." have no source, while "a..b" has "a" and ".b" has the empty alias.
func (p DefaultPolicy) Source(topic string) (alias string, ok bool) {
	alias, rest, _ := strings.Cut(topic, p.separator())
	for strings.HasPrefix(rest, p.separator()) {
		rest = rest[len(p.separator()):]
	}
	if rest == "" {
		return "", false
	}
	return alias, true
}

// Upstream implements [Policy]: topic without its first alias and separator.
func (p DefaultPolicy) Upstream(topic string) (upstream string, ok bool) {
	alias, ok := p.Source(topic)
	if !ok {
		return "", false
	}
	return topic[len(alias)+len(p.separator()):], true
}

// IsInternal implements [Policy] by the rule that p.Rules chooses.
func (p DefaultPolicy) IsInternal(topic string) bool {
	if strings.HasPrefix(topic, "__") || strings.HasPrefix(topic, ".") {
		return true
	}
	suffix := internalSeparator(p.Separator, p.InternalSeparator) + "internal"
	if p.Rules == InternalBySuffix {
		return strings.HasSuffix(topic, suffix) || strings.HasSuffix(topic, ".internal") || strings.HasSuffix(topic, "-internal")
	}
	return strings.HasPrefix(topic, "mm2") && strings.HasSuffix(topic, suffix) || p.IsCheckpoints(topic)
}

// IsCheckpoints implements [Policy].
func (p DefaultPolicy) IsCheckpoints(topic string) bool {
	return strings.HasSuffix(topic, checkpointsSuffix(internalSeparator(p.Separator, p.InternalSeparator)))
}

func (p DefaultPolicy) separator() string {
	if p.Separator == "" {
		return "."
	}
	return p.Separator
}

// IdentityPolicy is IdentityReplicationPolicy.java: topics keep their names, except those that end with "heartbeats",
// which follow [DefaultPolicy]. It cannot see cycles of other topics: two opposite flows with it mirror for ever.
type IdentityPolicy struct {
	DefaultPolicy
	// SourceAlias is the source of every topic (source.cluster.alias). Empty: no topic has a source.
	SourceAlias string
}

// Remote implements [Policy].
func (p IdentityPolicy) Remote(sourceAlias, topic string) string {
	if endsWithHeartbeats(topic) {
		return p.DefaultPolicy.Remote(sourceAlias, topic)
	}
	return topic
}

// Source implements [Policy].
func (p IdentityPolicy) Source(topic string) (alias string, ok bool) {
	if endsWithHeartbeats(topic) {
		return p.DefaultPolicy.Source(topic)
	}
	return p.SourceAlias, p.SourceAlias != ""
}

// Upstream implements [Policy].
func (p IdentityPolicy) Upstream(topic string) (upstream string, ok bool) {
	if endsWithHeartbeats(topic) {
		return p.DefaultPolicy.Upstream(topic)
	}
	return topic, true
}

func endsWithHeartbeats(topic string) bool { return strings.HasSuffix(topic, heartbeats) }
