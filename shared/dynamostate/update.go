package dynamostate

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"tidemark/shared/watermark"
)

// update is one conditional UpdateItem under construction.
type update struct {
	condition, expression string
	names                 map[string]string
	values                map[string]types.AttributeValue

	set, remove []string
}

// newUpdate returns an update under a condition. The condition refers to attributes by #name and to values by :value.
func newUpdate(condition string) *update {
	return &update{condition: condition, names: make(map[string]string), values: make(map[string]types.AttributeValue)}
}

// name declares attributes for use as #name: some of them (owner) are reserved words.
func (u *update) name(attributes ...string) *update {
	for _, a := range attributes {
		u.names["#"+a] = a
	}
	return u
}

// value declares a value for use as :name.
func (u *update) value(name string, v types.AttributeValue) *update {
	u.values[":"+name] = v
	return u
}

// assign sets an attribute, or removes it when v is nil.
func (u *update) assign(attribute string, v types.AttributeValue) *update {
	u.name(attribute)
	if v == nil {
		u.remove = append(u.remove, "#"+attribute)
		return u
	}
	u.set = append(u.set, "#"+attribute+" = :"+attribute)
	return u.value(attribute, v)
}

func (u *update) done() update {
	var parts []string
	if len(u.set) > 0 {
		parts = append(parts, "SET "+strings.Join(u.set, ", "))
	}
	if len(u.remove) > 0 {
		parts = append(parts, "REMOVE "+strings.Join(u.remove, ", "))
	}
	u.expression = strings.Join(parts, " ")
	return *u
}

// claim is watermark.State.Take as an update: nobody holds the partition, or somebody else whose time is over.
func claim(c watermark.Claim) update {
	u := newUpdate("(attribute_not_exists(#v) OR #v <= :v) AND (attribute_not_exists(#owner) OR (#owner <> :owner AND #owner_deadline <= :now))")
	u.value("now", number(c.Now.UnixMilli()))
	u.assign("owner", owner(c.Owner)).assign("owner_deadline", instant(c.Deadline)).assign("v", number(version))
	u.name("epoch").value("zero", number(0)).value("one", number(1))
	u.set = append(u.set, "#epoch = if_not_exists(#epoch, :zero) + :one")
	if c.Producer != watermark.None {
		u.name("producers").value("none", numbers(nil)).value("producer", numbers([]int64{c.Producer}))
		u.set = append(u.set, "#producers = list_append(if_not_exists(#producers, :none), :producer)")
	}
	return u.done()
}

// held is the condition that the claim is still the caller's.
const held = "#epoch = :epoch AND #owner = :owner AND "

// begin is watermark.State.Begin as an update.
func begin(b watermark.Begin) update {
	u := newUpdate(held+"attribute_not_exists(#downstream_next)").name("epoch", "owner").
		value("epoch", number(b.Epoch)).value("owner", owner(b.Owner))
	u.assign("next", number(b.Next)).assign("downstream_next", number(b.DownstreamNext)).assign("topic_id", text(b.TopicID)).assign("origin", count(b.Next))
	return u.done()
}

// commit is watermark.State.Commit as an update.
func commit(c watermark.Commit) update {
	from, to := "#next = :from", c.State
	if c.From == watermark.None {
		from = "attribute_not_exists(#next)"
	}
	u := newUpdate(held+from).name("epoch", "owner", "next").value("epoch", number(to.Epoch)).value("owner", owner(c.Owner))
	if c.From != watermark.None {
		u.value("from", number(c.From))
	}
	if to.Owner == "" {
		u.remove = append(u.remove, "#owner")
		u.unseen(c.Seen).assign("wanted", count(to.Wanted))
	}
	u.assign("owner_deadline", instant(to.OwnerDeadline)).assign("producers", list(to.Producers))
	u.assign("next", offset(to.Next)).assign("downstream_next", offset(to.DownstreamNext)).assign("downstream_last", offset(to.DownstreamLast))
	u.assign("next_digest", binary(to.NextDigest)).assign("topic_id", text(to.TopicID)).assign("origin", count(to.Origin)).assign("trust_from", count(to.TrustFrom))
	u.assign("runs", binary(to.Runs)).assign("skips", count(to.Skips)).assign("lost", count(to.Lost)).assign("stall", stallValue(to.Stall))
	u.assign("advanced_at", instant(to.AdvancedAt)).assign("record_timestamp", instant(to.RecordTimestamp))
	return u.done()
}

// leave is watermark.State.Leave as an update.
func leave(l watermark.Leave) update {
	u := newUpdate("#owner = :owner").name("owner").value("owner", owner(l.Owner)).unseen(l.Seen)
	return u.assign("wanted", number(l.Wanted)).done()
}

// unseen adds the condition that nobody has left records since wanted was seen.
func (u *update) unseen(seen int64) *update {
	u.name("wanted")
	if seen == 0 {
		u.condition += " AND attribute_not_exists(#wanted)"
		return u
	}
	u.condition += " AND #wanted = :seen"
	return u.value("seen", number(seen))
}

// owner is a nonce to compare with. An empty one is nobody's: no item has it.
func owner(nonce string) types.AttributeValue {
	return &types.AttributeValueMemberS{Value: nonce}
}

// offset is an offset that may be unset.
func offset(n int64) types.AttributeValue {
	if n == watermark.None {
		return nil
	}
	return number(n)
}

// count is a number whose absence means 0.
func count(n int64) types.AttributeValue {
	if n == 0 {
		return nil
	}
	return number(n)
}

// list is a list of numbers; nil when there are none.
func list(ns []int64) types.AttributeValue {
	if len(ns) == 0 {
		return nil
	}
	return numbers(ns)
}

// instant is a time in milliseconds; nil when it is not set.
func instant(t time.Time) types.AttributeValue {
	if t.IsZero() {
		return nil
	}
	return number(t.UnixMilli())
}
