package mm2

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Heartbeat says that the flow Source -> Target was alive at a time (Heartbeat.java).
type Heartbeat struct {
	Source, Target string    // cluster aliases
	At             time.Time // kept to the millisecond; decoded as UTC
}

// Key returns the key of the record. The aliases may be 32767 bytes long at most.
func (h Heartbeat) Key() ([]byte, error) {
	b, err := appendStrings(make([]byte, 0, 2+len(h.Source)+2+len(h.Target)), h.Source, h.Target)
	if err != nil {
		return nil, fmt.Errorf("encode heartbeat key: %w", err)
	}
	return b, nil
}

// Value returns the value of the record, in version 0.
func (h Heartbeat) Value() []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 2+8), version)
	return binary.BigEndian.AppendUint64(b, uint64(h.At.UnixMilli()))
}

// DecodeHeartbeat is the inverse of Key and Value. Bytes after the last field are ignored, as Java does. Another version
// than 0 and a nil value (a tombstone) are errors.
func DecodeHeartbeat(key, value []byte) (Heartbeat, error) {
	var h Heartbeat
	k := reader{rest: key}
	h.Source = k.string("source alias")
	h.Target = k.string("target alias")
	if k.err != nil {
		return Heartbeat{}, fmt.Errorf("decode heartbeat key: %w", k.err)
	}
	v := reader{rest: value}
	v.version()
	h.At = time.UnixMilli(v.int64("timestamp")).UTC()
	if v.err != nil {
		return Heartbeat{}, fmt.Errorf("decode heartbeat value: %w", v.err)
	}
	return h, nil
}
