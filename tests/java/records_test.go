//go:build java

package java

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tidemark/shared/mm2"
)

// TestRecords: each of the three kinds, encoded and decoded, whole and damaged. Ours differs on purpose in two things, each
// of which [decoding] puts into what it wants of Java: another version than 0 is refused, as Java does since KAFKA-20659 but
// not in the version asked here; and a string that is not UTF-8 keeps its bytes, where Java puts U+FFFD.
func TestRecords(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*first, 0))
	d := decoding{t: t, random: r}
	var questions []question
	for range 10_000 {
		tp := mm2.TopicPartition{Topic: text(r), Partition: int32(r.IntN(5)) - 1}
		s := mm2.OffsetSync{TopicPartition: tp, Upstream: number64(r), Downstream: number64(r)}
		key, errKey := s.Key()
		value := s.Value()
		questions = append(questions, question{"sync " + syncFields(s, asIs), encoded(key, value, errKey)}, d.sync(key, value))

		c := mm2.Checkpoint{TopicPartition: tp, Group: text(r), Upstream: number64(r), Downstream: number64(r), Metadata: text(r)}
		key, errKey = c.Key()
		value, errValue := c.Value()
		questions = append(questions, question{"checkpoint " + checkpointFields(c, asIs), encoded(key, value, errKey, errValue)}, d.checkpoint(key, value))

		h := mm2.Heartbeat{Source: text(r), Target: text(r), At: time.UnixMilli(number64(r))}
		key, errKey = h.Key()
		value = h.Value()
		questions = append(questions, question{"heartbeat " + heartbeatFields(h, asIs), encoded(key, value, errKey)}, d.heartbeat(key, value))
	}
	sameAsJava(t, questions)
	t.Logf("refused by ours alone for their version: %d; not UTF-8: %d", d.versions, d.notUTF8)
	if d.versions == 0 || d.notUTF8 == 0 {
		t.Error("a difference on purpose was never met")
	}
}

// decoding asks what is read of damaged bytes, and counts the differences on purpose.
type decoding struct {
	t                 *testing.T
	random            *rand.Rand
	versions, notUTF8 int
}

func (d *decoding) sync(key, value []byte) question {
	k, v := damage(d.random, key), damage(d.random, value)
	s, err := mm2.DecodeOffsetSync(k, v)
	return question{"sync? " + encode(k) + " " + encode(v), orError(syncFields(s, d.asJavaReads), err)}
}

func (d *decoding) checkpoint(key, value []byte) question {
	k, v := damage(d.random, key), damage(d.random, value)
	c, err := asVersion0(d, k, v, mm2.DecodeCheckpoint)
	return question{"checkpoint? " + encode(k) + " " + encode(v), orError(checkpointFields(c, d.asJavaReads), err)}
}

func (d *decoding) heartbeat(key, value []byte) question {
	k, v := damage(d.random, key), damage(d.random, value)
	h, err := asVersion0(d, k, v, mm2.DecodeHeartbeat)
	return question{"heartbeat? " + encode(k) + " " + encode(v), orError(heartbeatFields(h, d.asJavaReads), err)}
}

// asVersion0 is what ours reads, or would read if it did not refuse the version.
func asVersion0[T any](d *decoding, key, value []byte, read func(key, value []byte) (T, error)) (T, error) {
	got, err := read(key, value)
	if again, other := d.otherVersion(value, err); other {
		return read(key, again)
	}
	return got, err
}

// otherVersion says whether a value has another version than 0, which ours must have refused, and returns it with version
// 0: Java reads the one as the other.
func (d *decoding) otherVersion(value []byte, err error) (again []byte, other bool) {
	if len(value) < 2 || binary.BigEndian.Uint16(value) == 0 {
		return nil, false
	}
	if err == nil {
		d.t.Errorf("value %x is read, want its version refused", value)
	}
	d.versions++
	again = slices.Clone(value)
	binary.BigEndian.PutUint16(again, 0)
	return again, true
}

// asJavaReads is a string that ours has read, as Java reads the same bytes: U+FFFD for what is not UTF-8. How many of them
// is a matter of the JDK, so that Facts.java prints one for all in a row.
func (d *decoding) asJavaReads(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	d.notUTF8++
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}

func asIs(s string) string { return s }

func syncFields(s mm2.OffsetSync, read func(string) string) string {
	return fmt.Sprintf("%s %d %d %d", encode([]byte(read(s.Topic))), s.Partition, s.Upstream, s.Downstream)
}

func checkpointFields(c mm2.Checkpoint, read func(string) string) string {
	return fmt.Sprintf("%s %s %d %d %d %s",
		encode([]byte(read(c.Group))), encode([]byte(read(c.Topic))), c.Partition, c.Upstream, c.Downstream, encode([]byte(read(c.Metadata))))
}

func heartbeatFields(h mm2.Heartbeat, read func(string) string) string {
	return fmt.Sprintf("%s %s %d", encode([]byte(read(h.Source))), encode([]byte(read(h.Target))), h.At.UnixMilli())
}

// encoded is Java's answer to an encoding: both parts, or that either was refused.
func encoded(key, value []byte, errs ...error) string {
	for _, err := range errs {
		if err != nil {
			return "error"
		}
	}
	return encode(key) + " " + encode(value)
}

func orError(answer string, err error) string {
	if err != nil {
		return "error"
	}
	return answer
}

// text is what a client may put into a field: mostly a word, now and then long, or around the longest that a field can hold.
func text(r *rand.Rand) string {
	switch r.IntN(50) {
	case 0:
		return strings.Repeat("é✓𝄞 m", r.IntN(3_000))
	case 1:
		return strings.Repeat("m", math.MaxInt16-1+r.IntN(3))
	}
	return word(r)
}

func number64(r *rand.Rand) int64 {
	return []int64{0, 1, -1, math.MaxInt64, math.MinInt64, r.Int64(), int64(r.IntN(1000))}[r.IntN(7)]
}

// damage leaves most bytes whole. The others lose their end, get one too many, or have two in a row overwritten: a length, a
// version, an offset or a character is then another one.
func damage(r *rand.Rand, b []byte) []byte {
	switch r.IntN(8) {
	case 0:
		return b[:r.IntN(len(b)+1)]
	case 1:
		return append(b[:len(b):len(b)], byte(r.IntN(256)))
	case 2:
		if len(b) < 2 {
			return b
		}
		garbled := slices.Clone(b)
		copy(garbled[r.IntN(len(b)-1):], []byte{byte(r.IntN(256)), byte(r.IntN(256))})
		return garbled
	}
	return b
}
