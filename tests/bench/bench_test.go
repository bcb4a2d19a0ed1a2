// Package bench measures warm invocations: the handler over the real adapters, against embedded clusters and an embedded
// DynamoDB in the same process. The figures hold the emulators' time too.
package bench

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/bed"
	"tidemark/shared/dynamostate"
	"tidemark/shared/kafkaclient"
	"tidemark/shared/kafkaevent"
	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

const topic = "orders"

// BenchmarkInvocation delivers one batch after another to a warm function.
func BenchmarkInvocation(b *testing.B) {
	for _, size := range []struct {
		name                string
		partitions, records int // records of a partition
		value               int // bytes
	}{
		{"1 record of 1 KB", 1, 1, 1 << 10},
		{"6 MB, 1 partition, 1 KB values", 1, 4000, 1 << 10},
		{"6 MB, 8 partitions, 1 KB values", 8, 500, 1 << 10},
	} {
		b.Run(size.name, func(b *testing.B) {
			handler, state := open(b, int32(size.partitions))
			events := newEvents(size.partitions, size.records, size.value)
			invoke(b, handler, events.next()) // the first contact
			place(b, state, size.partitions, int64(size.records))
			b.SetBytes(int64(events.bytes))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				b.StopTimer()
				payload := events.next()
				b.StartTimer()
				invoke(b, handler, payload)
				n++
			}
			if s, err := state.Get(b.Context(), mm2.TopicPartition{Topic: topic}); err != nil || s.Next != int64((n+1)*size.records) || s.DownstreamNext != int64(n*size.records) {
				b.Fatalf("next %d, downstream next %d, %v after %d batches: they were not mirrored", s.Next, s.DownstreamNext, err, n)
			}
			records := float64(size.partitions * size.records)
			b.ReportMetric(records*float64(n)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

func invoke(b *testing.B, handler *kafkaevent.Handler, payload []byte) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	if answer, err := handler.Invoke(ctx, payload); err != nil || string(answer) != "null" {
		b.Fatalf("Invoke = %s, %v, want null", answer, err)
	}
}

// open wires the function as its main does, over embedded clusters.
func open(b *testing.B, partitions int32) (*kafkaevent.Handler, *dynamostate.Store) {
	b.Helper()
	ground, err := bed.Start(b.Context(), bed.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(ground.Close)
	if err := ground.CreateTopic(b.Context(), topic, partitions); err != nil {
		b.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	source, err := kafkaclient.NewSource([]kgo.Opt{kgo.SeedBrokers(ground.Source...)}, quiet)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(source.Close)
	target, err := kafkaclient.NewTarget([]kgo.Opt{kgo.SeedBrokers(ground.Target...)}, -1, quiet)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(target.Close)
	task := mirror.NewTask(source, target, ground.State, func(topic string) (string, error) { return topic, nil }, mirror.Options{})
	return kafkaevent.NewHandler(task, quiet, kafkaevent.Options{}), ground.State
}

// place has the partitions go on at next, as if all before had been mirrored: the source of these measurements is empty.
func place(b *testing.B, state *dynamostate.Store, partitions int, next int64) {
	b.Helper()
	for p := range partitions {
		claim := watermark.Claim{Partition: mm2.TopicPartition{Topic: topic, Partition: int32(p)}, Owner: "bench", Producer: watermark.None, Now: time.Now(), Deadline: time.Now()}
		grant, err := state.Claim(b.Context(), claim)
		if err != nil {
			b.Fatal(err)
		}
		s := grant.State
		s.Owner, s.OwnerDeadline, s.Producers = "", time.Time{}, nil
		s.Next, s.NextDigest, s.TrustFrom = next, []byte{1}, 0
		if err := state.Commit(b.Context(), watermark.Commit{Owner: claim.Owner, From: grant.State.Next, State: s}); err != nil {
			b.Fatal(err)
		}
	}
}

// events are batches that follow each other.
type events struct {
	partitions, records int
	value               string
	offset              int
	bytes               int // of one payload
}

func newEvents(partitions, records, value int) *events {
	e := &events{partitions: partitions, records: records, value: base64.StdEncoding.EncodeToString([]byte(strings.Repeat("v", value)))}
	e.bytes = len(e.next())
	e.offset = 0
	return e
}

// next writes the next batch as the service does.
func (e *events) next() []byte {
	var b bytes.Buffer
	b.WriteString(`{"eventSource":"aws:kafka","records":{`)
	for p := range e.partitions {
		if p > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s-%d":[`, topic, p)
		for i := range e.records {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"topic":"%s","partition":%d,"offset":%d,"timestamp":%d,"timestampType":"CREATE_TIME","key":"a2V5","value":"%s","headers":[{"h":[104,-61]}]}`,
				topic, p, e.offset+i, time.Now().UnixMilli(), e.value)
		}
		b.WriteByte(']')
	}
	b.WriteString(`}}`)
	e.offset += e.records
	return b.Bytes()
}
