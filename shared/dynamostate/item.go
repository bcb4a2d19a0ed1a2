package dynamostate

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// version is the item format (attribute v), described in docs/formats.md.
const version = 1

func key(tp mm2.TopicPartition) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"partition": text(tp.String())}
}

// text is a string; nil when it is empty.
func text(s string) types.AttributeValue {
	if s == "" {
		return nil
	}
	return &types.AttributeValueMemberS{Value: s}
}

// binary is bytes; nil when there are none.
func binary(b []byte) types.AttributeValue {
	if len(b) == 0 {
		return nil
	}
	return &types.AttributeValueMemberB{Value: b}
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func numbers(ns []int64) types.AttributeValue {
	list := make([]types.AttributeValue, len(ns))
	for i, n := range ns {
		list[i] = number(n)
	}
	return &types.AttributeValueMemberL{Value: list}
}

// stallValue is a stall as a map; nil when there is none.
func stallValue(s *watermark.Stall) types.AttributeValue {
	if s == nil {
		return nil
	}
	m := map[string]types.AttributeValue{
		"offset": number(s.Offset), "since": number(s.Since.UnixMilli()), "reason": &types.AttributeValueMemberS{Value: s.Reason}, "attempts": number(s.Attempts),
	}
	if s.Kind != "" {
		m["kind"] = text(string(s.Kind))
	}
	if !s.RetryAt.IsZero() {
		m["retry_at"] = number(s.RetryAt.UnixMilli())
	}
	return &types.AttributeValueMemberM{Value: m}
}

// state reads an item; no item is a partition never claimed. A newer format, or an attribute of another type, is an error
// that names it: to guess would be to lose records.
func state(tp mm2.TopicPartition, item map[string]types.AttributeValue) (watermark.State, error) {
	s := watermark.New(tp)
	if len(item) == 0 {
		return s, nil
	}
	r := reader{item: item}
	if v := r.number("v", version); v > version {
		return s, fmt.Errorf("read item %s: its format %d is newer than this program's %d: update the function", tp, v, version)
	}
	s.Epoch, s.Owner, s.OwnerDeadline, s.Producers = r.number("epoch", 0), r.text("owner"), r.instant("owner_deadline"), r.numbers("producers")
	s.TopicID, s.Next, s.DownstreamNext = r.text("topic_id"), r.number("next", watermark.None), r.number("downstream_next", watermark.None)
	s.Origin, s.Wanted = r.number("origin", 0), r.number("wanted", 0)
	s.DownstreamLast, s.TrustFrom = r.number("downstream_last", watermark.None), r.number("trust_from", 0)
	s.Runs, s.Skips, s.Lost = r.binary("runs"), r.number("skips", 0), r.number("lost", 0)
	s.NextDigest, s.AdvancedAt, s.RecordTimestamp = r.binary("next_digest"), r.instant("advanced_at"), r.instant("record_timestamp")
	if stall := r.nested("stall"); stall.item != nil {
		s.Stall = &watermark.Stall{
			Offset: stall.number("offset", 0), Since: stall.instant("since"), Kind: watermark.Kind(stall.text("kind")), Reason: stall.text("reason"),
			Attempts: stall.number("attempts", 0), RetryAt: stall.instant("retry_at"),
		}
		r.fail(stall.err)
	}
	if r.err == nil {
		r.err = consistent(item, s)
	}
	if r.err != nil {
		return s, fmt.Errorf("read item %s: %w", tp, r.err)
	}
	return s, nil
}

// consistent refuses what no program of ours writes: the rules and the update expressions would read it differently.
func consistent(item map[string]types.AttributeValue, s watermark.State) error {
	for attribute, offset := range map[string]int64{"next": s.Next, "downstream_next": s.DownstreamNext, "downstream_last": s.DownstreamLast} {
		if _, ok := item[attribute]; ok && offset < 0 {
			return fmt.Errorf("attribute %q is %d: repair the item", attribute, offset)
		}
	}
	if _, owned := item["owner"]; owned && (s.Owner == "" || s.OwnerDeadline.IsZero()) {
		return errors.New(`attribute "owner" is empty or has no "owner_deadline": repair the item`)
	}
	return nil
}

// reader takes attributes out of an item and keeps the first that is not what it should be.
type reader struct {
	item map[string]types.AttributeValue
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) wrong(attribute string) {
	r.fail(fmt.Errorf("attribute %q is of type %T, or not in range: repair the item", attribute, r.item[attribute]))
}

func (r *reader) number(attribute string, absent int64) int64 {
	v, ok := r.item[attribute]
	if !ok {
		return absent
	}
	n, err := parse(v)
	if err != nil {
		r.wrong(attribute)
	}
	return n
}

func parse(v types.AttributeValue) (int64, error) {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("type %T is not a number", v)
	}
	return strconv.ParseInt(n.Value, 10, 64)
}

func (r *reader) instant(attribute string) time.Time {
	if _, ok := r.item[attribute]; !ok {
		return time.Time{}
	}
	return time.UnixMilli(r.number(attribute, 0))
}

// member takes an attribute of one type; false when it is absent, or of another type, which is kept as the fault.
func member[T types.AttributeValue](r *reader, attribute string) (v T, ok bool) {
	raw, present := r.item[attribute]
	if !present {
		return v, false
	}
	if v, ok = raw.(T); !ok {
		r.wrong(attribute)
	}
	return v, ok
}

func (r *reader) text(attribute string) string {
	if s, ok := member[*types.AttributeValueMemberS](r, attribute); ok {
		return s.Value
	}
	return ""
}

func (r *reader) binary(attribute string) []byte {
	if b, ok := member[*types.AttributeValueMemberB](r, attribute); ok {
		return b.Value
	}
	return nil
}

func (r *reader) numbers(attribute string) []int64 {
	l, ok := member[*types.AttributeValueMemberL](r, attribute)
	if !ok {
		return nil
	}
	ns := make([]int64, 0, len(l.Value))
	for _, v := range l.Value {
		n, err := parse(v)
		if err != nil {
			r.wrong(attribute)
		}
		ns = append(ns, n)
	}
	return ns
}

func (r *reader) nested(attribute string) reader {
	if m, ok := member[*types.AttributeValueMemberM](r, attribute); ok {
		return reader{item: m.Value}
	}
	return reader{}
}
