package kafkaevent

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

// Decode reads the event of a Kafka trigger: one delivery per entry of its map of partitions, in the event's order. An
// entry without records gives none.
//
// Payload is overwritten, and keys, values and header values of the records point into it: it must stay untouched while
// they are in use. All strings are copies. Of each record Decode sets key, value, headers and timestamp.
//
// A record is malformed when a field cannot be read for certain, when it belongs to another partition than the entry it
// stands in, or when its offset does not rise. It ends its delivery: Fault names partition, index (from 0) and offset,
// Unread lists the offsets from it on. The other deliveries are whole.
//
// An error means that nothing is to be delivered: the payload is no complete JSON, a partition's name is not
// <topic>-<partition> or appears twice, or the event is another function's. The error says which. No error contains
// bytes of a key, a value or a header.
func Decode(payload []byte) ([]mirror.Delivery, error) {
	d := decoder{scanner: scanner{text: payload}}
	if d.peek() != '{' {
		return nil, errors.New("decode event: the payload is not a JSON object" + expectation)
	}
	d.event()
	if d.peek(); d.at < len(d.text) {
		d.fail("more text behind the event")
	}
	if d.err != nil {
		return nil, fmt.Errorf("decode event: %w", d.err)
	}
	if err := d.top.check(); err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	return d.deliveries, nil
}

// decoder is one call of Decode.
type decoder struct {
	scanner
	top        topLevel
	deliveries []mirror.Delivery
	partitions map[string]struct{} // the names of the entries so far
	names      map[string]string   // the header names so far

	records  slab[kgo.Record]
	pointers slab[*kgo.Record]
	offsets  slab[int64]
	headers  slab[kgo.RecordHeader]
}

// event takes the top-level object.
func (d *decoder) event() {
	d.partitions = make(map[string]struct{})
	d.open('{')
	for first := true; d.more('}', first); first = false {
		switch name := d.name(); {
		case string(name) == "eventSource" && d.peek() == '"':
			d.top.sources++
			d.top.source = string(d.string())
		case string(name) == "records" && d.peek() == '{':
			d.top.maps++
			d.partitionMap()
		default:
			d.top.other(name)
			d.skip(0)
		}
	}
}

// partitionMap takes {"<topic>-<partition>":[record,...],...}.
func (d *decoder) partitionMap() {
	d.open('{')
	for first := true; d.more('}', first); first = false {
		key := string(d.name())
		tp, err := mm2.ParseTopicPartition(key)
		if err != nil || tp.String() != key || !utf8.ValidString(key) { // one spelling only: two would be two lists
			d.fail("the name of a partition is not <topic>-<partition>")
		}
		if _, twice := d.partitions[key]; twice { // which of its lists comes first is unknown
			d.fail("a partition appears twice")
		}
		d.partitions[key] = struct{}{}
		delivery := mirror.Delivery{Key: key, Partition: tp}
		d.partition(&delivery)
		if delivery.Records != nil || delivery.Fault != nil {
			d.deliveries = append(d.deliveries, delivery)
		}
	}
}

// partition takes one entry's list.
func (d *decoder) partition(delivery *mirror.Delivery) {
	if !d.open('[') {
		delivery.Fault = fmt.Errorf("records of %s: not an array", delivery.Key)
		delivery.Unread = []int64{noOffset}
		return
	}
	var r record
	last := int64(noOffset)
	for i, first := 0, true; d.more(']', first); i, first = i+1, false {
		d.record(&r)
		fault := r.check(delivery.Partition, last)
		if fault != "" && delivery.Fault == nil {
			delivery.Fault = malformed(delivery.Key, i, r.offset, fault)
		}
		if delivery.Fault != nil {
			delivery.Unread = append(delivery.Unread, r.offset)
			continue
		}
		last = r.offset
		d.keep(&r)
	}
	delivery.Records, delivery.Offsets = d.pointers.cut(), d.offsets.cut()
}

// keep appends the record to the delivery being built.
func (d *decoder) keep(r *record) {
	kept := d.records.next()
	d.records.cut() // a list of one, so that growing moves no record
	kept.Key, kept.Value, kept.Headers, kept.Timestamp = r.key, r.value, r.headers, r.timestamp
	*d.pointers.next() = kept
	*d.offsets.next() = r.offset
}

// malformed is a delivery's Fault.
func malformed(key string, index int, offset int64, reason string) error {
	if offset == noOffset {
		return fmt.Errorf("record %d of %s: %s", index, key, reason)
	}
	return fmt.Errorf("record %d of %s, offset %d: %s", index, key, offset, reason)
}
