//go:build java

package java

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/shared/mm2"
)

// question is a line for Facts.java, and what our own code answers.
type question struct{ text, want string }

// sameAsJava puts the questions to Java and wants the same answers.
func sameAsJava(t *testing.T, questions []question) {
	t.Helper()
	var input strings.Builder
	for _, q := range questions {
		input.WriteString(q.text + "\n")
	}
	answers := strings.Split(strings.TrimSuffix(runJava(t, "Facts", strings.NewReader(input.String())), "\n"), "\n")
	if len(answers) != len(questions) {
		t.Fatalf("%d answers to %d questions", len(answers), len(questions))
	}
	kinds, different := map[string]int{}, 0
	for i, q := range questions {
		verb, _, _ := strings.Cut(q.text, " ")
		if kinds[verb]++; answers[i] == "error" {
			kinds[verb+" refused"]++
		}
		if answers[i] != q.want {
			if different++; different < 10 {
				t.Errorf("%s\nJava %s\nours %s", q.text, answers[i], q.want)
			}
		}
	}
	t.Logf("%d questions, %d differences: %v", len(questions), different, kinds)
}

func encode(b []byte) string {
	if len(b) == 0 {
		return "-"
	}
	return hex.EncodeToString(b)
}

func orNull(s string, ok bool) string {
	if !ok {
		return "null"
	}
	return encode([]byte(s))
}

func orError(answer string, err error) string {
	if err != nil {
		return "error"
	}
	return answer
}

// word is a name: short, of few letters, so that separators, aliases and suffixes meet in every way.
func word(r *rand.Rand) string {
	parts := []string{"a", "us", "eu", "orders", "heartbeats", "internal", "checkpoints", "mm2", "mm2-offset-syncs", ".", "-", "_", "__", "é✓𝄞", ""}
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

func number64(r *rand.Rand) int64 {
	return []int64{0, 1, -1, math.MaxInt64, math.MinInt64, r.Int64(), int64(r.IntN(1000))}[r.IntN(7)]
}

// TestRecords: each of the three kinds, encoded and decoded, whole and damaged.
func TestRecords(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*first, 0))
	var questions []question
	both := func(key, value []byte, errKey, errValue error) string {
		if errKey != nil || errValue != nil {
			return "error"
		}
		return encode(key) + " " + encode(value)
	}
	for range 5_000 {
		tp := mm2.TopicPartition{Topic: word(r), Partition: int32(r.IntN(5)) - 1}
		s := mm2.OffsetSync{TopicPartition: tp, Upstream: number64(r), Downstream: number64(r)}
		key, err := s.Key()
		questions = append(questions, question{
			fmt.Sprintf("sync %s %d %d %d", encode([]byte(tp.Topic)), tp.Partition, s.Upstream, s.Downstream), both(key, s.Value(), err, nil),
		})
		k, v := damage(r, key), damage(r, s.Value())
		got, err := mm2.DecodeOffsetSync(k, v)
		questions = append(questions, question{
			"sync? " + encode(k) + " " + encode(v),
			orError(fmt.Sprintf("%s %d %d %d", encode([]byte(got.Topic)), got.Partition, got.Upstream, got.Downstream), err),
		})

		c := mm2.Checkpoint{TopicPartition: tp, Group: word(r), Upstream: number64(r), Downstream: number64(r), Metadata: word(r)}
		key, errKey := c.Key()
		value, errValue := c.Value()
		questions = append(questions, question{
			fmt.Sprintf("checkpoint %s %s %d %d %d %s", encode([]byte(c.Group)), encode([]byte(tp.Topic)), tp.Partition, c.Upstream, c.Downstream, encode([]byte(c.Metadata))),
			both(key, value, errKey, errValue),
		})
		k, v = damage(r, key), damage(r, value)
		read, err := mm2.DecodeCheckpoint(k, v)
		questions = append(questions, question{"checkpoint? " + encode(k) + " " + encode(v), orError(fmt.Sprintf("%s %s %d %d %d %s",
			encode([]byte(read.Group)), encode([]byte(read.Topic)), read.Partition, read.Upstream, read.Downstream, encode([]byte(read.Metadata))), err)})

		h := mm2.Heartbeat{Source: word(r), Target: word(r), At: time.UnixMilli(number64(r))}
		key, err = h.Key()
		questions = append(questions, question{
			fmt.Sprintf("heartbeat %s %s %d", encode([]byte(h.Source)), encode([]byte(h.Target)), h.At.UnixMilli()), both(key, h.Value(), err, nil),
		})
		k, v = damage(r, key), damage(r, h.Value())
		beat, err := mm2.DecodeHeartbeat(k, v)
		questions = append(questions, question{
			"heartbeat? " + encode(k) + " " + encode(v),
			orError(fmt.Sprintf("%s %s %d", encode([]byte(beat.Source)), encode([]byte(beat.Target)), beat.At.UnixMilli()), err),
		})
	}
	sameAsJava(t, questions)
}

// damage leaves most bytes whole; the others lose their end or get one too many.
func damage(r *rand.Rand, b []byte) []byte {
	switch r.IntN(8) {
	case 0:
		return b[:r.IntN(len(b)+1)]
	case 1:
		return append(b[:len(b):len(b)], byte(r.IntN(256)))
	}
	return b
}

// TestNames: both policies, every separator, both choices for internal names. What is internal is by the rule since KAFKA-17200.
func TestNames(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*first, 1))
	var questions []question
	for range 20_000 {
		separator, internal := []string{".", "_", "__", "-"}[r.IntN(4)], r.IntN(2) == 0
		alias, topic := []string{"us", "eu", "us-east", "a.b"}[r.IntN(4)], word(r)
		names := mm2.Names{Source: alias, Target: "target", Separator: separator, InternalSeparator: internal}
		standard := mm2.DefaultPolicy{Separator: separator, InternalSeparator: internal}
		for verb, p := range map[string]mm2.Policy{"default": standard, "identity": mm2.IdentityPolicy{DefaultPolicy: standard, SourceAlias: alias}} {
			source, isRemote := p.Source(topic)
			upstream, has := p.Upstream(topic)
			questions = append(questions, question{
				fmt.Sprintf("%s %s %t %s %s", verb, encode([]byte(separator)), internal, encode([]byte(alias)), encode([]byte(topic))),
				strings.Join([]string{
					encode([]byte(p.Remote(alias, topic))), orNull(source, isRemote), orNull(upstream, has), encode([]byte(mm2.Original(p, topic))),
					strconv.FormatBool(p.IsInternal(topic)), strconv.FormatBool(p.IsCheckpoints(topic)), strconv.FormatBool(mm2.IsHeartbeats(p, topic)),
					encode([]byte(names.OffsetSyncs())), encode([]byte(names.Checkpoints())), encode([]byte(names.Heartbeats())),
				}, " "),
			})
		}
	}
	sameAsJava(t, questions)
}
