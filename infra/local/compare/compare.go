// Package compare reads a topic and its copy, and says what the copy lacks, has twice, has in another order, or has of its own.
//
// A copy is right when each partition holds the same records in the same order: key, value, headers and timestamp, where null is
// not empty. Offsets may differ: transaction markers take some. [Topics] reads; [Logs] compares, and is pure.
package compare

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Side is a topic on a cluster.
type Side struct {
	Brokers []string
	Topic   string
	Client  []kgo.Opt // more options for the client: TLS, SASL
}

// Record is what a comparison keeps of a record: nothing of its content. Digests of two comparisons cannot be compared.
type Record struct {
	Offset int64
	Digest Digest
}

// Digest is a hash of each part of a record.
type Digest struct{ Key, Value, Headers, Timestamp uint64 }

// Hasher makes digests that can be compared with each other.
type Hasher struct {
	seed maphash.Seed
	// SkipTimestamps leaves timestamps out: where the target's topic has LogAppendTime, they are the broker's.
	SkipTimestamps bool
}

// NewHasher returns a hasher of its own seed.
func NewHasher() Hasher { return Hasher{seed: maphash.MakeSeed()} }

// Record digests r.
func (h Hasher) Record(r *kgo.Record) Record {
	d := Digest{Key: h.bytes(r.Key), Value: h.bytes(r.Value)}
	var hash maphash.Hash
	hash.SetSeed(h.seed)
	for _, header := range r.Headers {
		maphash.WriteComparable(&hash, h.bytes([]byte(header.Key)))
		maphash.WriteComparable(&hash, h.bytes(header.Value))
	}
	d.Headers = hash.Sum64()
	if !h.SkipTimestamps {
		d.Timestamp = maphash.Comparable(h.seed, r.Timestamp.UnixMilli())
	}
	return Record{Offset: r.Offset, Digest: d}
}

// bytes keeps null apart from empty.
func (h Hasher) bytes(b []byte) uint64 {
	if b == nil {
		return 0
	}
	return max(1, maphash.Bytes(h.seed, b))
}

// Topics reads both topics, as far as they reach now, and compares partition by partition. A partition or topic that one side
// lacks counts as empty. The error tells of what could not be read.
func Topics(ctx context.Context, h Hasher, source, target Side) (Report, error) {
	from, err := source.read(ctx, h)
	if err != nil {
		return nil, err
	}
	to, err := target.read(ctx, h)
	if err != nil {
		return nil, err
	}
	report := make(Report, max(len(from), len(to)))
	for p := range report {
		var a, b []Record
		if p < len(from) {
			a = from[p]
		}
		if p < len(to) {
			b = to[p]
		}
		report[p] = Logs(a, b)
	}
	return report, nil
}

// read returns what each partition holds between its log start and its last stable offset.
func (s Side) read(ctx context.Context, h Hasher) ([][]Record, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(s.Brokers...),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // a partition may end with one
	}, s.Client...)...)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", strings.Join(s.Brokers, ","), err)
	}
	defer client.Close()
	starts, ends, err := s.bounds(ctx, kadm.NewClient(client))
	if err != nil {
		return nil, err
	}
	logs := make([][]Record, len(ends))
	unread := make(map[int32]int64) // their ends
	assign := make(map[int32]kgo.Offset)
	for p, end := range ends {
		if starts[p] < end {
			unread[int32(p)] = end
			assign[int32(p)] = kgo.NewOffset().At(starts[p])
		}
	}
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{s.Topic: assign})
	for len(unread) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, fmt.Errorf("read topic %s: %w", s.Topic, err)
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return nil, fmt.Errorf("read %s-%d: %w", errs[0].Topic, errs[0].Partition, errs[0].Err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, wanted := unread[r.Partition]
			if wanted && r.Offset < end && !r.Attrs.IsControl() {
				logs[r.Partition] = append(logs[r.Partition], h.Record(r))
			}
			if r.Offset+1 >= end {
				delete(unread, r.Partition)
			}
		})
	}
	return logs, nil
}

// bounds are the log start and the last stable offset of each partition; none when the topic does not exist.
func (s Side) bounds(ctx context.Context, admin *kadm.Client) (starts, ends []int64, err error) {
	from, errStart := admin.ListStartOffsets(ctx, s.Topic)
	to, errEnd := admin.ListCommittedOffsets(ctx, s.Topic)
	if err := errors.Join(errStart, errEnd); err != nil {
		return nil, nil, fmt.Errorf("list offsets of %s: %w", s.Topic, err)
	}
	if errors.Is(to.Error(), kerr.UnknownTopicOrPartition) {
		return nil, nil, nil
	}
	if err := errors.Join(from.Error(), to.Error()); err != nil {
		return nil, nil, fmt.Errorf("list offsets of %s: %w", s.Topic, err)
	}
	count := len(to[s.Topic])
	starts, ends = make([]int64, count), make([]int64, count)
	for p := range ends {
		starts[p], ends[p] = from[s.Topic][int32(p)].Offset, to[s.Topic][int32(p)].Offset
	}
	return starts, ends, nil
}
