package kafkaclient

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Of a batch's attributes (RecordBatch, KIP-98).
const (
	transactional = 0b01_0000
	isControl     = 0b10_0000
)

// trim takes out of an answer what need not be decompressed, by the headers of its batches: those that begin at or past to,
// and those of aborted transactions, whose headers say how many records they hold. It returns the offsets of the latter from
// position on, and the position behind what it has looked at. A batch that compaction has thinned out, and whatever is not
// understood, stays in the answer.
func trim(answer *kmsg.FetchResponseTopicPartition, position, to int64) (aborted []int64, next int64) {
	firsts := make(map[int64][]int64) // of the aborted transactions that have not ended yet, by producer
	for _, t := range answer.AbortedTransactions {
		firsts[t.ProducerID] = append(firsts[t.ProducerID], t.FirstOffset)
	}
	for _, f := range firsts {
		slices.Sort(f)
	}
	next = position
	kept, rest := answer.RecordBatches[:0], answer.RecordBatches // what stays moves up in place
	for {
		b, raw := nextBatch(rest)
		if raw == nil {
			break
		}
		if next = max(next, b.FirstOffset); b.FirstOffset >= to {
			rest = nil
			break
		}
		rest, next = rest[len(raw):], b.FirstOffset+int64(b.LastOffsetDelta)+1
		f := firsts[b.ProducerID]
		inside := len(f) > 0 && f[0] <= b.FirstOffset && b.Attributes&transactional != 0
		switch whole := b.NumRecords == b.LastOffsetDelta+1; {
		case inside && b.Attributes&isControl != 0: // a producer has one transaction at a time: its next marker ends it
			firsts[b.ProducerID] = f[1:]
		case inside && whole:
			for offset := max(b.FirstOffset, position); offset < next; offset++ {
				aborted = append(aborted, offset)
			}
			continue
		}
		kept = append(kept, raw...)
	}
	answer.RecordBatches = append(kept, rest...)
	return aborted, next
}

// nextBatch is the first batch of an answer, parsed and raw; raw is nil at its end, which may cut a batch short, and before
// what is not a sound batch of the present format.
func nextBatch(in []byte) (b kmsg.RecordBatch, raw []byte) {
	const frame, beforeSum, summed, present = 12, 17, 21, 2 // offset and length; where the checksum stands, and what it is of
	if len(in) < frame {
		return b, nil
	}
	size := frame + int64(int32(binary.BigEndian.Uint32(in[8:])))
	if size <= summed || size > int64(len(in)) || in[beforeSum-1] != present {
		return b, nil
	}
	raw = in[:size]
	if b.UnsafeReadFrom(raw) != nil || uint32(b.CRC) != crc32.Checksum(raw[summed:], crc32.MakeTable(crc32.Castagnoli)) {
		return b, nil
	}
	return b, raw
}
