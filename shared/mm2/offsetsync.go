package mm2

import (
	"encoding/binary"
	"fmt"
)

// OffsetSync says that a record of a source partition is a certain record of its remote partition (OffsetSync.java).
type OffsetSync struct {
	TopicPartition       // of the source
	Upstream       int64 // offset of the record on the source
	Downstream     int64 // offset of the same record on the target
}

// Key returns the key of the record. The topic may be 32767 bytes long at most.
func (s OffsetSync) Key() ([]byte, error) {
	b, err := appendStrings(make([]byte, 0, 2+len(s.Topic)+4), s.Topic)
	if err != nil {
		return nil, fmt.Errorf("encode offset sync key: %w", err)
	}
	return binary.BigEndian.AppendUint32(b, uint32(s.Partition)), nil
}

// Value returns the value of the record: 16 bytes, without a version.
func (s OffsetSync) Value() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 16), uint64(s.Upstream))
	return binary.BigEndian.AppendUint64(b, uint64(s.Downstream))
}

// DecodeOffsetSync is the inverse of Key and Value. It checks the form, not the meaning: offsets may be negative. Bytes
// after the last field are ignored, as Java does. A nil value (a tombstone) is an error.
func DecodeOffsetSync(key, value []byte) (OffsetSync, error) {
	var s OffsetSync
	k := reader{rest: key}
	s.Topic = k.string("topic")
	s.Partition = k.int32("partition")
	if k.err != nil {
		return OffsetSync{}, fmt.Errorf("decode offset sync key: %w", k.err)
	}
	v := reader{rest: value}
	s.Upstream = v.int64("upstream offset")
	s.Downstream = v.int64("downstream offset")
	if v.err != nil {
		return OffsetSync{}, fmt.Errorf("decode offset sync value: %w", v.err)
	}
	return s, nil
}
