//go:build java

package java

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

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

// word is a name: short, of few letters, so that separators, aliases and suffixes meet in every way.
func word(r *rand.Rand) string {
	parts := []string{"a", "us", "eu", "orders", "heartbeats", "internal", "checkpoints", "mm2", "mm2-offset-syncs", ".", "-", "_", "__", "é✓𝄞", ""}
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	return b.String()
}

// TestNames: both policies, every separator, both choices for internal names. What is internal is by the rule since KAFKA-17200.
func TestNames(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*first, 1))
	var questions []question
	for range 50_000 {
		separator, internal := []string{".", "_", "__", "-"}[r.IntN(4)], r.IntN(2) == 0
		alias := []string{"us", "eu", "us-east", "a.b", "x" + word(r)}[r.IntN(5)] // never empty: config refuses that
		topic := word(r)
		if r.IntN(3) == 0 {
			topic = alias + separator + topic
		}
		names := mm2.Names{Source: alias, Target: "target", Separator: separator, InternalSeparator: internal}
		onSource := mm2.Names{Source: "source", Target: alias, Separator: separator, InternalSeparator: internal, Location: mm2.OnSource}
		standard := mm2.DefaultPolicy{Separator: separator, InternalSeparator: internal}
		for verb, p := range map[string]mm2.Policy{"default": standard, "identity": mm2.IdentityPolicy{DefaultPolicy: standard, SourceAlias: alias}} {
			source, isRemote := p.Source(topic)
			upstream, has := p.Upstream(topic)
			for _, n := range []mm2.Names{names, onSource} {
				questions = append(questions, question{
					fmt.Sprintf("%s %s %t %s %s", verb, encode([]byte(separator)), internal, encode([]byte(alias)), encode([]byte(topic))),
					strings.Join([]string{
						encode([]byte(p.Remote(alias, topic))), orNull(source, isRemote), orNull(upstream, has), encode([]byte(mm2.Original(p, topic))),
						strconv.FormatBool(p.IsInternal(topic)), strconv.FormatBool(p.IsCheckpoints(topic)), strconv.FormatBool(mm2.IsHeartbeats(p, topic)),
						encode([]byte(n.OffsetSyncs())), encode([]byte(names.Checkpoints())), encode([]byte(n.Heartbeats())),
					}, " "),
				})
			}
		}
	}
	sameAsJava(t, questions)
}
