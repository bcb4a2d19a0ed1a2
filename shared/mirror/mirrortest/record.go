// Package mirrortest makes records that only a raw read of a log yields: with attributes, which franz-go alone can set.
package mirrortest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Control returns an abort marker.
func Control() *kgo.Record {
	const transactional, control = 1 << 4, 1 << 5
	return decoded(transactional|control, &kgo.Record{Key: []byte{0, 0, 0, 0}, Value: make([]byte, 6)})
}

// LogAppendTime returns r with the attribute of a topic whose timestamps are the broker's. r must be small.
func LogAppendTime(r *kgo.Record) *kgo.Record {
	const logAppendTime = 1 << 3
	return decoded(logAppendTime, r)
}

// decoded sends key, value and timestamp through a record batch with the given attributes and back.
func decoded(attributes int16, r *kgo.Record) *kgo.Record {
	record := kmsg.Record{Key: r.Key, Value: r.Value}
	record.Length = int32(len(record.AppendTo(nil)) - 1) // a length below 64 takes one byte
	at := max(r.Timestamp.UnixMilli(), 1)
	batch := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: attributes, FirstTimestamp: at, MaxTimestamp: at,
		ProducerID: 1, NumRecords: 1, Records: record.AppendTo(nil),
	}
	raw := batch.AppendTo(nil)
	const length, crc, body = 8, 17, 21 // where these fields stand
	binary.BigEndian.PutUint32(raw[length:], uint32(len(raw)-length-4))
	binary.BigEndian.PutUint32(raw[crc:], crc32.Checksum(raw[body:], crc32.MakeTable(crc32.Castagnoli)))
	fetched, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{KeepControlRecords: true},
		&kmsg.FetchResponseTopicPartition{RecordBatches: raw}, kgo.DefaultDecompressor(), nil)
	if len(fetched.Records) != 1 || fetched.Err != nil {
		panic(fmt.Sprintf("decode a batch of one record with attributes %b: %d records, %v", attributes, len(fetched.Records), fetched.Err))
	}
	return fetched.Records[0]
}
