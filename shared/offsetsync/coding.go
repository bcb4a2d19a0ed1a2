package offsetsync

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrCoding says that bytes are not a list of stretches that this program can read.
var ErrCoding = errors.New("not a list of stretches of a known version")

// The first byte of the coding is its version and two flags that say what follows. docs/formats.md describes it.
const (
	codingVersion = 1
	cutBit        = 1 << 6
	tornBit       = 1 << 7
)

// minStretch is the length of the shortest coding of a stretch.
const minStretch = 3

// The lowest bits of an upstream length are flags.
const (
	explainedBit = 1 << iota
	gapsBit
	flagBits = 2
)

// AppendBinary implements encoding.BinaryAppender: the version, what was forgotten, and each stretch by its distance from the
// one before. An empty list is no bytes. It never fails.
func (r *Runs) AppendBinary(b []byte) ([]byte, error) {
	b = r.appendHead(b)
	var upstream, downstream int64
	for _, s := range r.list {
		b = s.append(b, upstream, downstream)
		upstream, downstream = s.upstreamEnd(), s.downstreamEnd()
	}
	return b, nil
}

// appendHead adds what precedes the stretches.
func (r *Runs) appendHead(b []byte) []byte {
	if len(r.list) == 0 && !r.torn && r.cuts.count == 0 {
		return b
	}
	first := byte(codingVersion)
	if r.torn {
		first |= tornBit
	}
	if r.cuts.count == 0 {
		return append(b, first)
	}
	b = append(b, first|cutBit)
	for _, n := range []int64{
		r.cuts.count, r.cuts.lowest.upstream, r.cuts.lowest.downstream, r.cuts.left.upstream, r.cuts.left.downstream,
	} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
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

// size is the length of the coding of one stretch.
func (s Stretch) size(upstream, downstream int64) int {
	var buffer [5 * binary.MaxVarintLen64]byte
	return len(s.append(buffer[:0], upstream, downstream))
}

// size is the length of the coding.
func (r *Runs) size() int {
	var buffer [1 + 5*binary.MaxVarintLen64]byte
	n := len(r.appendHead(buffer[:0]))
	var upstream, downstream int64
	for _, s := range r.list {
		n += s.size(upstream, downstream)
		upstream, downstream = s.upstreamEnd(), s.downstreamEnd()
	}
	return n
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. It reads what AppendBinary writes and nothing else: every list has
// one coding. After an error, which is [ErrCoding], the list is as it was.
func (r *Runs) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		*r = Runs{}
		return nil
	}
	if b[0]&^(tornBit|cutBit) != codingVersion {
		return fmt.Errorf("%w: version %d", ErrCoding, b[0]&^(tornBit|cutBit))
	}
	d := decoder{rest: b[1:]}
	decoded := d.head(b[0])
	if len(d.rest) > 0 {
		decoded.list = make([]Stretch, 0, len(d.rest)/minStretch+1)
	}
	var upstream, downstream int64
	for len(d.rest) > 0 {
		s := d.stretch(upstream, downstream)
		d.bad = d.bad || s.Explained && len(decoded.list) == 0
		upstream, downstream = s.upstreamEnd(), s.downstreamEnd()
		decoded.list = append(decoded.list, s)
	}
	if d.bad || len(b) == 1 && !decoded.torn {
		return fmt.Errorf("%w: stretch %d or before", ErrCoding, len(decoded.list))
	}
	*r = decoded
	return nil
}

// decoder reads numbers until the first that is none.
type decoder struct {
	rest []byte
	bad  bool
}

// number reads an unsigned varint of least to most.
func (d *decoder) number(least, most int64) int64 {
	n, size := binary.Uvarint(d.rest)
	padded := size > 1 && d.rest[size-1] == 0 // a longer way to write the same
	if d.bad || size <= 0 || padded || n > math.MaxInt64 || int64(n) < least || int64(n) > most {
		d.bad, d.rest = true, nil
		return least
	}
	d.rest = d.rest[size:]
	return int64(n)
}

// head reads what precedes the stretches, as the first byte says.
func (d *decoder) head(first byte) Runs {
	r := Runs{torn: first&tornBit != 0}
	if first&cutBit != 0 {
		r.cuts = cuts{
			count:  d.number(1, math.MaxInt64-1),
			lowest: pair{d.number(0, maxOffset+1), d.number(0, maxOffset+1)},
			left:   pair{d.number(0, maxOffset), d.number(0, maxOffset)},
		}
		d.bad = d.bad || r.cuts.lowest == pair{}
	}
	return r
}

// stretch reads one that follows upstream and downstream ends. No sum of what it returns overflows, and it holds at least one
// record.
func (d *decoder) stretch(upstream, downstream int64) Stretch {
	s := Stretch{Upstream: upstream + d.number(0, maxOffset-upstream), Downstream: downstream + d.number(0, maxOffset-downstream)}
	n := d.number(1<<flagBits, math.MaxInt64)
	s.Explained, s.UpstreamLen = n&explainedBit != 0, n>>flagBits
	if n&gapsBit != 0 {
		s.UpstreamGaps = d.number(0, s.UpstreamLen-1)
		s.DownstreamGaps = d.number(0, maxOffset)
		d.bad = d.bad || s.isRun()
	}
	s.DownstreamLen = s.UpstreamLen - s.UpstreamGaps + s.DownstreamGaps
	if s.UpstreamLen > maxOffset-s.Upstream || s.DownstreamLen > maxOffset-s.Downstream {
		d.bad, d.rest = true, nil
		return Stretch{}
	}
	return s
}
