package kafkaevent

import (
	"time"

	"github.com/segmentio/asm/base64"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
)

// noOffset stands for an offset that the event does not tell.
const noOffset = -1

// field is one of a record's fields, as a bit. timestampType is not among them: the mirror's target decides it.
type field uint16

const (
	fieldTopic field = 1 << iota
	fieldPartition
	fieldOffset
	fieldTimestamp
	fieldKey
	fieldValue
	fieldHeaders
	fieldKeySchema
	fieldValueSchema
)

// fieldNamed returns 0 for a name that is no field's. Names are told apart by case.
func fieldNamed(name []byte) field {
	switch string(name) {
	case "topic":
		return fieldTopic
	case "partition":
		return fieldPartition
	case "offset":
		return fieldOffset
	case "timestamp":
		return fieldTimestamp
	case "key":
		return fieldKey
	case "value":
		return fieldValue
	case "headers":
		return fieldHeaders
	case "keySchemaMetadata":
		return fieldKeySchema
	case "valueSchemaMetadata":
		return fieldValueSchema
	}
	return 0
}

// record is what has been read of one record.
type record struct {
	seen       field
	topic      []byte
	partition  int64
	offset     int64 // noOffset until a valid one was read
	timestamp  time.Time
	key, value []byte
	headers    []kgo.RecordHeader
	fault      string // the first reason why the record is malformed, or empty
}

func (r *record) malformed(reason string) {
	if r.fault == "" {
		r.fault = reason
	}
}

// record takes one element of a partition's list. The record's headers are cut from the slab.
func (d *decoder) record(r *record) {
	*r = record{partition: -1, offset: noOffset}
	if !d.open('{') {
		r.malformed("not an object")
		return
	}
	for first := true; d.more('}', first); first = false {
		f := fieldNamed(d.name())
		if r.seen&f != 0 {
			r.repeated(f)
			f = 0
		}
		r.seen |= f
		d.field(r, f)
	}
	r.headers = d.headers.cut()
}

// repeated marks a record that has two values for one field: neither is to be believed.
func (r *record) repeated(f field) {
	r.malformed("a field appears twice")
	if f == fieldOffset {
		r.offset = noOffset
	}
}

// field takes the value of field f.
func (d *decoder) field(r *record, f field) {
	switch f {
	case fieldTopic:
		if d.peek() == '"' {
			r.topic = d.string()
		} else {
			d.skip(0)
		}
	case fieldPartition:
		if n, ok := parseInteger(d.quotedNumeral()); ok {
			r.partition = n
		}
	case fieldOffset:
		if n, ok := parseInteger(d.quotedNumeral()); ok && n >= 0 {
			r.offset = n
		} else {
			r.malformed("offset is not a whole number from 0 on")
		}
	case fieldTimestamp:
		d.timestamp(r)
	case fieldKey:
		r.key = d.blob(r, "key is neither base64 nor null")
	case fieldValue:
		r.value = d.blob(r, "value is neither base64 nor null")
	case fieldHeaders:
		d.headerList(r)
	case fieldKeySchema, fieldValueSchema:
		d.schema(r)
	default:
		d.skip(0)
	}
}

// schema refuses what a schema registry of the trigger has been at: it takes the schema's id off the bytes, or rewrites
// them as JSON (AWS Lambda Developer Guide, "Using schema registries with Kafka event sources"), and no mirror could tell
// what the source holds.
func (d *decoder) schema(r *record) {
	if d.peek() != 'n' {
		r.malformed("a schema registry has rewritten it: remove SchemaRegistryConfig from the trigger")
	}
	d.skip(0)
}

// timestamp takes milliseconds since 1970. 0 is a time like any other and -1 is Kafka's "no timestamp"
// (RecordBatch.NO_TIMESTAMP); both are kept. A missing or null one is malformed, not -1: Java's ConsumerRecord always has
// one, so its absence would mean that the event's format has changed.
func (d *decoder) timestamp(r *record) {
	ms, ok := parseMillis(d.quotedNumeral())
	if !ok {
		r.malformed("timestamp is not a whole number of milliseconds")
		return
	}
	r.timestamp = time.UnixMilli(ms)
	if r.timestamp.IsZero() {
		// kgo takes the zero time, 1 January of the year 1, for "not set" and writes the present.
		r.malformed("timestamp cannot be produced")
	}
}

// blob takes a key or a value and decodes it over its own text. Null gives nil and "" an empty slice that is not nil; an
// absent field leaves nil, for tombstones and records without a key arrive with the field left out or null.
func (d *decoder) blob(r *record, fault string) []byte {
	if d.null() {
		return nil
	}
	if d.peek() != '"' {
		d.skip(0)
		r.malformed(fault)
		return nil
	}
	text := d.longString()
	n, err := base64.StdEncoding.Decode(text, text)
	if err != nil {
		r.malformed(fault)
		return nil
	}
	return text[:n:n] // an append must not run into what is not read yet
}

// check decides whether the record continues partition tp behind offset last. It returns what the record's fault is, or
// an empty string.
func (r *record) check(tp mm2.TopicPartition, last int64) (fault string) {
	if string(r.topic) != tp.Topic || r.partition != int64(tp.Partition) {
		// The offset is then not one of this partition, and must not be reported as such.
		r.offset = noOffset
		r.malformed("topic and partition are not those of the list")
	}
	if r.seen&fieldOffset == 0 {
		r.malformed("offset is missing")
	}
	if r.seen&fieldTimestamp == 0 {
		r.malformed("timestamp is missing")
	}
	if r.offset <= last {
		r.malformed("offset does not rise")
	}
	return r.fault
}
