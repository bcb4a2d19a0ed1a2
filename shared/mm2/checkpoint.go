package mm2

import (
	"encoding/binary"
	"fmt"
)

// Checkpoint says where a consumer group stands, on both clusters (Checkpoint.java).
type Checkpoint struct {
	TopicPartition        // of the target: the remote topic
	Group          string // consumer group id
	Upstream       int64  // next offset that the group reads on the source
	Downstream     int64  // next offset to read on the target
	Metadata       string // as the group committed it; often empty
}

// Key returns the key of the record. Group and topic may be 32767 bytes long at most.
func (c Checkpoint) Key() ([]byte, error) {
	b, err := appendStrings(make([]byte, 0, 2+len(c.Group)+2+len(c.Topic)+4), c.Group, c.Topic)
	if err != nil {
		return nil, fmt.Errorf("encode checkpoint key: %w", err)
	}
	return binary.BigEndian.AppendUint32(b, uint32(c.Partition)), nil
}

// Value returns the value of the record, in version 0. The metadata may be 32767 bytes long at most.
func (c Checkpoint) Value() ([]byte, error) {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 2+8+8+2+len(c.Metadata)), version)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Upstream))
	b = binary.BigEndian.AppendUint64(b, uint64(c.Downstream))
	b, err := appendStrings(b, c.Metadata)
	if err != nil {
		return nil, fmt.Errorf("encode checkpoint value: %w", err)
	}
	return b, nil
}

// DecodeCheckpoint is the inverse of Key and Value. It checks the form, not the meaning: offsets may be negative. Bytes
// after the last field are ignored, as Java does. Another version than 0 and a nil value (a tombstone) are errors.
func DecodeCheckpoint(key, value []byte) (Checkpoint, error) {
	var c Checkpoint
	k := reader{rest: key}
	c.Group = k.string("group")
	c.Topic = k.string("topic")
	c.Partition = k.int32("partition")
	if k.err != nil {
		return Checkpoint{}, fmt.Errorf("decode checkpoint key: %w", k.err)
	}
	v := reader{rest: value}
	v.version()
	c.Upstream = v.int64("upstream offset")
	c.Downstream = v.int64("downstream offset")
	c.Metadata = v.string("metadata")
	if v.err != nil {
		return Checkpoint{}, fmt.Errorf("decode checkpoint value: %w", v.err)
	}
	return c, nil
}
