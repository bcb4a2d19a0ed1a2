// Package traffic makes records with everything in them that a producer may write, to see it arrive unchanged.
package traffic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Record returns the n-th record of a stream that a seed decides: keys and values that are null, empty, binary or large; headers
// without a name, of the same name, null, empty, of bytes above 127; timestamps 0 and -1. Topic and partition are not set.
func Record(seed, n uint64) *kgo.Record {
	random := rand.New(rand.NewPCG(seed, n)) //nolint:gosec // reproducible on purpose
	r := &kgo.Record{
		Key:       blob(random, "key-"+strconv.FormatUint(n, 10)),
		Value:     blob(random, strings.Repeat("value-"+strconv.FormatUint(n, 10)+" ", 1+random.IntN(20))),
		Timestamp: time.Now().Truncate(time.Millisecond),
	}
	const oddly = 50 // one in so many
	switch random.IntN(oddly) {
	case 0:
		r.Timestamp = time.UnixMilli(0)
	case 1:
		r.Timestamp = time.UnixMilli(-1)
	case 2:
		const large = 40 << 10
		r.Value = bytes.Repeat([]byte{byte(n)}, large)
	}
	names := []string{"", "trace", "trace", "größe", `"quoted"`}
	for range random.IntN(4) {
		r.Headers = append(r.Headers, kgo.RecordHeader{
			Key:   names[random.IntN(len(names))],
			Value: blob(random, "header-"+strconv.FormatUint(n, 10)),
		})
	}
	return r
}

// blob is text, and now and then null, empty, or bytes that are no text.
func blob(random *rand.Rand, text string) []byte {
	const oddly = 12 // one in so many
	switch random.IntN(oddly) {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return []byte{0, 0x7f, 0x80, 0xff, '"', '\n'}
	default:
		return []byte(text)
	}
}

// Load is an amount of traffic.
type Load struct {
	Seed       uint64
	Records    int
	Partitions int32         // the records go round so many, from 0; 0: all that the topic has
	Over       time.Duration // how long it takes; 0: as fast as it goes
}

// Produce writes a load to a topic and returns when all of it is acknowledged.
func Produce(ctx context.Context, brokers []string, topic string, l Load) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return fmt.Errorf("open producer: %w", err)
	}
	defer client.Close()
	if l.Partitions == 0 {
		topics, err := kadm.NewClient(client).ListTopics(ctx, topic)
		if err := errors.Join(err, topics.Error()); err != nil {
			return fmt.Errorf("describe topic %s: %w", topic, err)
		}
		l.Partitions = int32(len(topics[topic].Partitions))
	}
	const slice = 50 * time.Millisecond
	slices := max(1, int(l.Over/slice))
	tick := time.NewTicker(slice)
	defer tick.Stop()
	for i := range slices {
		var records []*kgo.Record
		for n := l.Records * i / slices; n < l.Records*(i+1)/slices; n++ {
			r := Record(l.Seed, uint64(n))
			r.Partition = int32(n) % l.Partitions
			records = append(records, r)
		}
		if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			return fmt.Errorf("produce to %s: %w", topic, err)
		}
		if i == slices-1 {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
