package offsetsync

import (
	"encoding/binary"
	"fmt"
)

// HeaderKey is the name of the record header in which an offset sync carries a [Header]. Java's readers ignore headers.
const HeaderKey = "tidemark-runs"

// Header is what a sync of ours carries beside MM2's fields: all that is known of where the partition's records stand. The
// newest sync of a partition holds the whole list, so that it outlives compaction, which leaves one record a partition, and
// the loss of the source's region.
type Header struct {
	TopicID string // the source topic's id that the stretches belong to; empty where brokers have none
	Epoch   int64  // of the state item that the list was merged from last: of two headers the one with the higher epoch is newer
	Runs    Runs
}

// headerVersion is the first byte of the coding. docs/formats.md describes it.
const headerVersion = 1

// mostTopicID bounds the id, which is 22 characters long as Kafka writes it.
const mostTopicID = 255

// AppendBinary implements encoding.BinaryAppender. It fails on a topic id that no broker has.
func (h *Header) AppendBinary(b []byte) ([]byte, error) {
	if len(h.TopicID) > mostTopicID {
		return nil, fmt.Errorf("topic id of %d bytes: want %d at most", len(h.TopicID), mostTopicID)
	}
	b = append(b, headerVersion)
	b = binary.AppendUvarint(b, uint64(h.Epoch))
	b = binary.AppendUvarint(b, uint64(len(h.TopicID)))
	b = append(b, h.TopicID...)
	return h.Runs.AppendBinary(b)
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. It reads what AppendBinary writes and nothing else. After an error,
// which is [ErrCoding], the header is as it was.
func (h *Header) UnmarshalBinary(b []byte) error {
	if len(b) == 0 || b[0] != headerVersion {
		return fmt.Errorf("%w: header of another version", ErrCoding)
	}
	d := decoder{rest: b[1:]}
	decoded := Header{Epoch: d.number(0, maxOffset)}
	n := d.number(0, mostTopicID)
	if d.bad || n > int64(len(d.rest)) {
		return fmt.Errorf("%w: header of %d bytes", ErrCoding, len(b))
	}
	decoded.TopicID = string(d.rest[:n])
	if err := decoded.Runs.UnmarshalBinary(d.rest[n:]); err != nil {
		return err
	}
	*h = decoded
	return nil
}
