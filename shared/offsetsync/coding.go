package offsetsync

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrCoding says that bytes are not a list of stretches that this program can read.
var ErrCoding = errors.New("not a list of stretches of a known version")

// codingVersion is the first byte of the coding, but for its highest bit. docs/formats.md describes it.
const (
	codingVersion = 1
	tornBit       = 1 << 7
)

const (
	explainedBit = 1 << iota
	gapsBit
	flagBits = 2
)

// AppendBinary implements encoding.BinaryAppender: the version, then each stretch as the upstream and downstream offsets
// that it leaves out since the one before, its upstream length with two flags, and its gaps if it has any. All of them are
// unsigned varints. An empty list is no bytes.
func (r *Runs) AppendBinary(b []byte) ([]byte, error) {
	first := byte(codingVersion)
	switch {
	case r.torn:
		first |= tornBit
	case len(r.list) == 0:
		return b, nil
	}
	b = append(b, first)
	var upstream, downstream int64
	for _, s := range r.list {
		b = s.append(b, upstream, downstream)
		upstream, downstream = s.upstreamEnd(), s.downstreamEnd()
	}
	return b, nil
}

// append adds one stretch that follows upstream and downstream ends.
func (s Stretch) append(b []byte, upstream, downstream int64) []byte {
	flags := uint64(0)
	if s.Explained {
		flags |= explainedBit
	}
	if !s.isRun() {
		flags |= gapsBit
	}
	b = binary.AppendUvarint(b, uint64(s.Upstream-upstream))
	b = binary.AppendUvarint(b, uint64(s.Downstream-downstream))
	b = binary.AppendUvarint(b, uint64(s.UpstreamLen)<<flagBits|flags)
	if !s.isRun() {
		b = binary.AppendUvarint(b, uint64(s.UpstreamGaps))
		b = binary.AppendUvarint(b, uint64(s.DownstreamGaps))
	}
	return b
}

// size is the length of the coding.
func (r *Runs) size() int {
	var buffer [5 * binary.MaxVarintLen64]byte
	n := 1
	var upstream, downstream int64
	for _, s := range r.list {
		n += len(s.append(buffer[:0], upstream, downstream))
		upstream, downstream = s.upstreamEnd(), s.downstreamEnd()
	}
	return n
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. After an error, which is [ErrCoding], the list is as it was.
func (r *Runs) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		*r = Runs{}
		return nil
	}
	if b[0]&^tornBit != codingVersion || len(b) == 1 && b[0]&tornBit == 0 {
		return fmt.Errorf("%w: version %d", ErrCoding, b[0])
	}
	d := decoder{rest: b[1:]}
	var list []Stretch
	var upstream, downstream int64
	for len(d.rest) > 0 && !d.bad {
		s := d.stretch(upstream, downstream)
		upstream, downstream = s.upstreamEnd(), s.downstreamEnd()
		list = append(list, s)
	}
	if d.bad {
		return fmt.Errorf("%w: stretch %d", ErrCoding, len(list))
	}
	r.list, r.torn = list, b[0]&tornBit != 0
	return nil
}

// decoder reads numbers and remembers the first that is none.
type decoder struct {
	rest []byte
	bad  bool
}

// number reads a varint of at most most.
func (d *decoder) number(most int64) int64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > uint64(most) || size > 1 && d.rest[size-1] == 0 { // the last: a longer way to write the same
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return int64(n)
}

// stretch reads one that follows upstream and downstream ends. No sum of what it returns overflows.
func (d *decoder) stretch(upstream, downstream int64) Stretch {
	const most = math.MaxInt64 >> flagBits
	s := Stretch{
		Upstream:   upstream + d.number(most-min(upstream, most)),
		Downstream: downstream + d.number(most-min(downstream, most)),
	}
	n := d.number(math.MaxInt64)
	s.Explained, s.UpstreamLen = n&explainedBit != 0, n>>flagBits
	if n&gapsBit != 0 {
		s.UpstreamGaps = d.number(s.UpstreamLen)
		s.DownstreamGaps = d.number(most)
		d.bad = d.bad || s.isRun()
	}
	s.DownstreamLen = s.UpstreamLen - s.UpstreamGaps + s.DownstreamGaps
	if s.UpstreamLen == s.UpstreamGaps || s.Upstream > most-s.UpstreamLen || s.Downstream > most-s.DownstreamLen {
		d.bad = true
	}
	return s
}
