package mm2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The records are Kafka protocol types, big-endian; a string is an int16 length and that many bytes. Java's schemas read
// a field from where the last one ended and ignore what follows the last, so trailing bytes are room for later versions.

// version is the only one that exists of Checkpoint and Heartbeat values; Java refuses others since KAFKA-20659.
const version = 0

var (
	errShort   = errors.New("too few bytes")
	errLength  = errors.New("negative string length")
	errVersion = errors.New("unknown version")
	errTooLong = errors.New("string is longer than 32767 bytes")
)

// reader reads fields in order. After the first error every read returns zero, so that err need be looked at once.
type reader struct {
	rest []byte
	err  error
}

// take returns the next n bytes, nil after an error.
func (r *reader) take(n int, field string) []byte {
	if r.err == nil && len(r.rest) < n {
		r.err = fmt.Errorf("%s: %w", field, errShort)
	}
	if r.err != nil {
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) int16(field string) int16 {
	if b := r.take(2, field); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32(field string) int32 {
	if b := r.take(4, field); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64(field string) int64 {
	if b := r.take(8, field); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) string(field string) string {
	n := r.int16(field)
	if r.err == nil && n < 0 {
		r.err = fmt.Errorf("%s: %w", field, errLength)
	}
	if r.err != nil {
		return ""
	}
	return string(r.take(int(n), field))
}

func (r *reader) version() {
	if v := r.int16("version"); r.err == nil && v != version {
		r.err = fmt.Errorf("version %d: %w", v, errVersion)
	}
}

// appendStrings appends each string with its length. It is the only part of encoding that can be refused.
func appendStrings(b []byte, values ...string) ([]byte, error) {
	for _, s := range values {
		if len(s) > math.MaxInt16 {
			return nil, errTooLong
		}
		b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	return b, nil
}
