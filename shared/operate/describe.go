package operate

import (
	"fmt"
	"time"

	"tidemark/shared/watermark"
)

// describe puts one partition into words.
func describe(s watermark.State, start, end, target int64, unknown error, now time.Time) Partition {
	p := Partition{
		Topic: s.Partition.Topic, Partition: s.Partition.Partition,
		SourceStart: start, SourceEnd: end, Next: s.Next, Lag: max(end-max(s.Next, start), 0), TargetEnd: target,
		Epoch: s.Epoch, Owner: s.Owner, AdvancedAt: when(s.AdvancedAt), Skips: s.Skips, Lost: s.Lost,
	}
	if unknown != nil {
		p.Lag, p.Error = watermark.None, unknown.Error()
	}
	if s.Owner != "" && now.Before(s.OwnerDeadline) {
		p.ClaimedUntil = when(s.OwnerDeadline)
	} else {
		p.Unsettled = s.Owner != "" || len(s.Producers) > 0
	}
	if stall := s.Stall; stall != nil {
		p.Stall = &Stall{
			Offset: stall.Offset, Since: stall.Since, Kind: string(stall.Kind), Reason: stall.Reason, Attempts: stall.Attempts, RetryAt: when(stall.RetryAt),
		}
	}
	p.Do = advice(p)
	return p
}

// when is a time, or nil where there is none.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// advice says what to do next about a partition that does not get on. Each command is an event to invoke a function with.
func advice(p Partition) string {
	where := fmt.Sprintf(`"topic":%q,"partition":%d`, p.Topic, p.Partition)
	catchUp := fmt.Sprintf(`invoke mirror with {"action":"catch-up",%s}`, where)
	retry := fmt.Sprintf(`invoke operator with {"action":"release","how":"retry",%s,"epoch":%d}`, where, p.Epoch)
	switch {
	case p.Error != "":
		return "look at the source: its offsets are not known"
	case p.Stall != nil && p.Stall.Kind == string(watermark.NeedsPerson):
		return fmt.Sprintf(`do what the reason says (grant the right, make the topic), then %s; or, where the source was truncated, `+
			`compare the logs and invoke operator with {"action":"set-position",%s,"offset":N,"epoch":%d}`, retry, where, p.Epoch)
	case p.Unsettled:
		return "nothing, if records arrive: the next delivery settles it; else " + catchUp
	case p.Stall == nil && p.Lag > 0 && p.ClaimedUntil == nil:
		return "nothing, if it moves; else look at the trigger, or " + catchUp
	case p.Stall == nil:
		return ""
	case p.Stall.Kind == string(watermark.Refused):
		return fmt.Sprintf(`raise the limit that the reason names (max.message.bytes of the remote topic, if it is the size) and %s; `+
			`or leave the record out for good: invoke operator with {"action":"release","how":"skip",%s,"offset":%d,"epoch":%d}`,
			retry, where, p.Stall.Offset, p.Epoch)
	}
	return "it is tried again by itself; at once: " + retry
}
