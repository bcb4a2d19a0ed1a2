package kafkaclient

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"tidemark/shared/mirror"
)

// limit is what a topic's brokers refuse, as asked at the time at.
type limit struct {
	mirror.Limits
	at time.Time
}

// limitAge is how long an answer about a topic's configuration is used.
const limitAge = 5 * time.Minute

// standardMaxMessageBytes is the broker's default of max.message.bytes.
const standardMaxMessageBytes = 1048588

// Limits implements mirror.Target; an answer is kept for five minutes. Producers know a topic's limit from the first time
// they wrote to it, so a change does away with the idle ones.
func (t *Target) Limits(ctx context.Context, topic string) (mirror.Limits, error) {
	t.configs.Lock()
	known, ok := t.limits[topic]
	t.configs.Unlock()
	if ok && time.Since(known.at) < limitAge {
		return known.Limits, nil
	}
	configs, err := t.topicConfigs(ctx, topic)
	if err != nil {
		return mirror.Limits{}, fmt.Errorf("describe configs of target topic %s: %w", topic, denied(t.fault(err), describeConfigs, topic))
	}
	asked := limitsOf(configs)
	t.configs.Lock()
	t.limits[topic] = limit{Limits: asked, at: time.Now()}
	t.configs.Unlock()
	if ok && asked.MaxMessageBytes != known.MaxMessageBytes {
		t.closeIdle()
	}
	return asked, nil
}

// ForgetLimits implements mirror.Target.
func (t *Target) ForgetLimits(topic string) {
	t.configs.Lock()
	defer t.configs.Unlock()
	if known, ok := t.limits[topic]; ok {
		t.limits[topic] = limit{Limits: known.Limits} // of no age: what producers know is compared with the next answer
	}
}

func (t *Target) topicConfigs(ctx context.Context, topic string) (map[string]string, error) {
	answer, err := t.Admin().DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, err
	}
	described, err := answer.On(topic, nil)
	if err == nil {
		err = described.Err
	}
	if err != nil {
		return nil, err
	}
	configs := make(map[string]string, len(described.Configs))
	for _, c := range described.Configs {
		configs[c.Key] = c.MaybeValue()
	}
	return configs, nil
}

// limitsOf reads a topic's configuration. Brokers before 3.6 have one bound for both sides (KIP-937), and brokers that
// stamp records themselves look at no timestamp (Java: LogValidator.validateTimestamp).
func limitsOf(configs map[string]string) mirror.Limits {
	limits := mirror.Limits{MaxMessageBytes: standardMaxMessageBytes}
	if n, err := strconv.ParseInt(configs["max.message.bytes"], 10, 32); err == nil {
		limits.MaxMessageBytes = int(n)
	}
	if configs["message.timestamp.type"] == "LogAppendTime" {
		return limits
	}
	either := milliseconds(configs["message.timestamp.difference.max.ms"])
	limits.Before = cmp.Or(milliseconds(configs["message.timestamp.before.max.ms"]), either)
	limits.After = cmp.Or(milliseconds(configs["message.timestamp.after.max.ms"]), either)
	return limits
}

// milliseconds is a bound in ms; 0, none, where there is no number or a duration cannot hold it (the default is
// Long.MAX_VALUE).
func milliseconds(s string) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// maxMessageBytes is how large a batch to topic may be, for the producers: what Limits found, else the broker's default.
func (t *Target) maxMessageBytes(topic string) int32 {
	t.configs.Lock()
	defer t.configs.Unlock()
	if known, ok := t.limits[topic]; ok {
		return int32(known.MaxMessageBytes)
	}
	return standardMaxMessageBytes
}
