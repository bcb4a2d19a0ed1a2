package mirror

import (
	"crypto/sha256"
	"encoding/binary"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
)

// digest identifies a source record by everything that mirroring keeps: 16 bytes of SHA-256 over timestamp, key, value
// and headers, each with its length, -1 for null. docs/formats.md states the coding; it is part of the state item.
func digest(r *kgo.Record) []byte {
	h := sha256.New()
	number(h, r.Timestamp.UnixMilli())
	field(h, r.Key)
	field(h, r.Value)
	number(h, int64(len(r.Headers)))
	for _, header := range r.Headers {
		field(h, []byte(header.Key))
		field(h, header.Value)
	}
	return h.Sum(nil)[:16]
}

func field(w io.Writer, b []byte) {
	if b == nil {
		number(w, -1)
		return
	}
	number(w, int64(len(b)))
	_, _ = w.Write(b) // a hash never fails
}

func number(w io.Writer, n int64) {
	_, _ = w.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) // a hash never fails
}
