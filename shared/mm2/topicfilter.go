package mm2

import "strings"

// TopicFilter decides which topics of the source are mirrored (MirrorSourceConnector.shouldReplicateTopic).
type TopicFilter struct {
	Policy Policy
	// TargetAlias is the flow's target: what has passed it before is not sent there again.
	TargetAlias string
	// Selected is the users' choice (topics, topics.exclude). It has no say over heartbeats, internal topics and cycles.
	Selected func(topic string) bool
	// SkipHeartbeats leaves heartbeats topics to Selected (heartbeats.replication.enabled=false, KIP-1089). Without it
	// they are mirrored always, for MirrorClient counts hops by them.
	SkipHeartbeats bool
}

// ShouldReplicate says whether topic is mirrored.
func (f TopicFilter) ShouldReplicate(topic string) bool {
	wanted := f.Selected(topic) || !f.SkipHeartbeats && IsHeartbeats(f.Policy, topic)
	return wanted && !f.Policy.IsInternal(topic) && !IsCycle(f.Policy, topic, f.TargetAlias)
}

// IsCycle says whether topic has passed the cluster targetAlias before, so that mirroring it there would loop
// (MirrorSourceConnector.isCycle). Java compares the part before the first separator, and so mirrors for ever between
// clusters whose aliases hold the separator ("us.east"); here such an alias is recognised too.
func IsCycle(p Policy, topic, targetAlias string) bool {
	prefix := strings.TrimSuffix(p.Remote(targetAlias, heartbeats), heartbeats)
	for {
		source, ok := p.Source(topic)
		if !ok {
			return false
		}
		rest, fromTarget := strings.CutPrefix(topic, prefix)
		if source == targetAlias || fromTarget && p.Remote(targetAlias, rest) == topic {
			return true
		}
		upstream, ok := p.Upstream(topic)
		if !ok || upstream == topic {
			return false
		}
		topic = upstream
	}
}

// Original is the name under which topic was first produced: topic with the alias of every hop removed.
func Original(p Policy, topic string) string {
	for {
		upstream, ok := p.Upstream(topic)
		if !ok || upstream == topic {
			return topic
		}
		topic = upstream
	}
}

// IsHeartbeats says whether topic is a heartbeats topic, after however many hops.
func IsHeartbeats(p Policy, topic string) bool { return Original(p, topic) == heartbeats }
