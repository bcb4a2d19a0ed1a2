package kafkaclient_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/kafkaclient"
	"tidemark/shared/mirror"
)

// letters writes a random log, one letter an offset: d is a committed record, a an aborted one, c a control record.
func letters(t *testing.T, c *kfake.Cluster, rng *rand.Rand) string {
	t.Helper()
	var log []byte
	plain, transactional := writer(t, c), writer(t, c, kgo.TransactionalID("walk"))
	for range 12 {
		n := 1 + rng.IntN(4)
		values := make([]string, n)
		letter := byte('d')
		if rng.IntN(3) == 0 {
			write(t, plain, values...)
			log = append(log, slices.Repeat([]byte{letter}, n)...)
			continue
		}
		if err := transactional.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		write(t, transactional, values...)
		end := kgo.TryCommit
		if rng.IntN(2) == 0 {
			end, letter = kgo.TryAbort, 'a'
		}
		if err := transactional.EndTransaction(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		log = append(append(log, slices.Repeat([]byte{letter}, n)...), 'c')
	}
	return string(log)
}

// walked sums up a walk, and checks that its spans follow each other from from to to and add up.
func walked(t *testing.T, s *kafkaclient.Source, from, to int64) (sum mirror.Span, offsets []int64, err error) {
	t.Helper()
	position := from
	for span, err := range s.Walk(soon(t), orders, "", from, to) {
		if err != nil {
			return sum, offsets, err
		}
		if n := int64(len(span.Records)) + span.Control + span.Aborted + span.Compacted; span.From != position || n != span.To-span.From {
			t.Fatalf("span %d to %d after %d, %d offsets explained", span.From, span.To, position, n)
		}
		position = span.To
		sum.Control, sum.Aborted, sum.Compacted = sum.Control+span.Control, sum.Aborted+span.Aborted, sum.Compacted+span.Compacted
		for _, r := range span.Records {
			offsets = append(offsets, r.Offset)
		}
	}
	if position != to {
		t.Errorf("walk from %d came to %d, want %d", from, position, to)
	}
	return sum, offsets, nil
}

// TestWalkFromEveryOffset walks random logs between every two offsets.
func TestWalkFromEveryOffset(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		c := brokers(t)
		log := letters(t, c, rand.New(rand.NewPCG(seed, 0)))
		source := sourceOf(t, seeds(c))
		for from := range log {
			for to := from; to <= len(log); to++ {
				var want mirror.Span
				var data []int64
				for offset, letter := range log[from:to] {
					switch letter {
					case 'd':
						data = append(data, int64(from+offset))
					case 'a':
						want.Aborted++
					case 'c':
						want.Control++
					}
				}
				got, offsets, err := walked(t, source, int64(from), int64(to))
				if err != nil || got.Control != want.Control || got.Aborted != want.Aborted || got.Compacted != 0 || !slices.Equal(offsets, data) {
					t.Fatalf("log %s, walk %d to %d = %+v, records at %v, %v, want %+v, %v", log, from, to, got, offsets, err, want, data)
				}
			}
		}
	}
}

func TestWalkEnds(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	write(t, writer(t, c), "0", "1", "2", "3")
	open := writer(t, c, kgo.TransactionalID("open"))
	if err := open.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	write(t, open, "4")
	if _, err := kadm.NewClient(writer(t, c)).DeleteRecords(t.Context(), kadm.Offsets{orders.Topic: {0: {Topic: orders.Topic, At: 2}}}); err != nil {
		t.Fatal(err)
	}
	source := sourceOf(t, seeds(c))
	var expired *mirror.ExpiredError
	if _, _, err := walked(t, source, 0, 3); !errors.As(err, &expired) || expired.Start != 2 {
		t.Errorf("walk below the log start: %v, want expired up to 2", err)
	}
	for _, from := range []int64{2, 4, 5, 9} {
		if _, _, err := walked(t, source, from, 12); !errors.Is(err, mirror.ErrUnstable) {
			t.Errorf("walk from %d into an open transaction: %v, want ErrUnstable", from, err)
		}
	}
	for span, err := range source.Walk(soon(t), orders, "another", 2, 3) {
		if !errors.Is(err, mirror.ErrMissing) {
			t.Errorf("walk of another topic id = %+v, %v, want ErrMissing", span, err)
		}
	}
}

func TestOffsetAt(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	at := time.UnixMilli(1_700_000_000_000)
	w := writer(t, c)
	for i := range 3 {
		r := &kgo.Record{Topic: orders.Topic, Timestamp: at.Add(time.Duration(i) * time.Minute)}
		if err := w.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for after, want := range map[time.Duration]int64{-time.Hour: 0, 0: 0, time.Second: 1, 2 * time.Minute: 2, time.Hour: 3} {
		if got, err := sourceOf(t, seeds(c)).OffsetAt(soon(t), orders, at.Add(after)); err != nil || got != want {
			t.Errorf("OffsetAt(%v after the first) = %d, %v, want %d", after, got, err, want)
		}
	}
}

// TestFence checks the markers; that the producers are refused from then on is for real brokers to show.
func TestFence(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	write(t, writer(t, c), "0")
	target := targetOf(t, seeds(c))
	if err := target.Fence(soon(t), orders, []int64{77, 78}); err != nil {
		t.Fatalf("Fence: %v", err)
	}
	records, err := all(target.Read(soon(t), orders, 0, 3))
	if data, control := offsets(t, records, err); !slices.Equal(data, []int64{0}) || !slices.Equal(control, []int64{1, 2}) {
		t.Errorf("data at %v, control records at %v, want a marker for each producer", data, control)
	}
	if err := target.Fence(soon(t), orders, nil); err != nil {
		t.Errorf("Fence(none): %v", err)
	}
}

// TestFenceRefused wants the waiting rule to be called for where the principal may not Alter the cluster.
func TestFenceRefused(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	c.ControlKey(int16(kmsg.WriteTxnMarkers), func(request kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := request.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
		for _, m := range request.(*kmsg.WriteTxnMarkersRequest).Markers {
			marker := kmsg.NewWriteTxnMarkersResponseMarker()
			for _, t := range m.Topics {
				topic := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
				topic.Topic = t.Topic
				partition := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
				partition.ErrorCode = kerr.ClusterAuthorizationFailed.Code
				topic.Partitions = append(topic.Partitions, partition)
				marker.Topics = append(marker.Topics, topic)
			}
			answer.Markers = append(answer.Markers, marker)
		}
		return answer, nil, true
	})
	if err := targetOf(t, seeds(c)).Fence(soon(t), orders, []int64{77}); !errors.Is(err, mirror.ErrFenceRefused) || !errors.Is(err, kerr.ClusterAuthorizationFailed) {
		t.Errorf("Fence without the right: %v, want ErrFenceRefused", err)
	}
}

// TestPeekSaysWhatWalkingDoes peeks at random holes, close and far apart, and walks them.
func TestPeekSaysWhatWalkingDoes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	c := brokers(t)
	log := letters(t, c, rng) + letters(t, c, rng) + letters(t, c, rng)
	source := sourceOf(t, seeds(c))
	seen := 0
	for round := range 60 {
		var holes []mirror.Hole
		for at := int64(rng.IntN(5)); at < int64(len(log))-4; at += 1 + int64(rng.IntN(4+round)) {
			h := mirror.Hole{From: at, To: at + 1 + int64(rng.IntN(3))}
			holes = append(holes, h)
			at = h.To
		}
		for from, span := range source.Peek(soon(t), orders, "", holes) {
			seen++
			want, offsets, err := walked(t, source, from, span.To)
			if err != nil || span.Control != want.Control || span.Aborted != want.Aborted || span.Compacted != want.Compacted || len(span.Records) != len(offsets) {
				t.Fatalf("Peek at %d to %d = %+v, walking it finds %+v, %d records, %v", from, span.To, span, want, len(offsets), err)
			}
		}
	}
	if seen < 300 {
		t.Errorf("%d holes were explained, want most of them", seen)
	}
}

// TestWalkAfterATopicWasMadeAgain: who led the topic before is not asked for the new one.
func TestWalkAfterATopicWasMadeAgain(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	write(t, writer(t, c), "0", "1")
	source := sourceOf(t, seeds(c))
	if _, _, err := walked(t, source, 0, 2); err != nil {
		t.Fatal(err)
	}
	admin := kadm.NewClient(writer(t, c))
	if _, err := admin.DeleteTopic(t.Context(), orders.Topic); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, orders.Topic); err != nil {
		t.Fatal(err)
	}
	write(t, writer(t, c), "new")
	topics, err := source.Topics(soon(t), []string{orders.Topic})
	if err != nil {
		t.Fatal(err)
	}
	for span, err := range source.Walk(soon(t), orders, topics[orders.Topic].ID, 0, 1) {
		if err != nil || len(span.Records) != 1 || string(span.Records[0].Value) != "new" {
			t.Errorf("walk of the new topic = %+v, %v", span, err)
		}
	}
}
