//go:build java

package java

import (
	"bytes"
	"flag"
	"strconv"
	"strings"
	"testing"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
)

var (
	number = flag.Int("histories", 100_000, "how many histories to play")
	first  = flag.Uint64("seed", 1, "seed of the first history")
)

// TestStoreAnswersAsJavaDoes plays random histories of the offset-syncs topic to Java's OffsetSyncStore and to the store of
// package offsetsync, and wants the same answer to every question.
func TestStoreAnswersAsJavaDoes(t *testing.T) {
	t.Parallel()
	var input bytes.Buffer
	for i := range *number {
		for _, s := range newHistory(*first + uint64(i)) {
			input.WriteString(s.String())
			input.WriteByte('\n')
		}
	}
	java := strings.Fields(runJava(t, "Harness", &input))

	c := comparison{kinds: map[string]int{}}
	for i := range *number {
		seed := *first + uint64(i)
		n := c.compare(seed, newHistory(seed), java)
		java = java[n:]
	}
	if len(java) > 0 {
		t.Errorf("Java answered %d questions that nobody asked", len(java))
	}
	t.Logf("%d histories from seed %d on: %d syncs, %d questions, %d histories with a difference; answers: %v",
		*number, *first, c.syncs, c.questions, c.different, c.kinds)
	if c.different > 0 {
		t.Errorf("%d of %d histories differ, the shortest one (seed %d) after\n%s", c.different, *number, c.seed, c.shortest)
	}
	for _, kind := range []string{"none", "-1", "an offset"} {
		if c.kinds[kind] == 0 {
			t.Errorf("no question was answered by %s: the histories prove little", kind)
		}
	}
}

// comparison is what the comparison of many histories found.
type comparison struct {
	syncs, questions, different int
	kinds                       map[string]int // number of answers of each kind

	seed     uint64 // of the shortest history with a difference
	shortest string // its steps up to the difference, for one partition
	steps    int
}

// compare plays a history and compares with the answers of Java, which begin with those to this history. It returns how
// many these are.
func (c *comparison) compare(seed uint64, history []step, java []string) (asked int) {
	var store *offsetsync.Store
	same := true
	for i, s := range history {
		switch s.verb {
		case load:
			store = offsetsync.New()
			store.Load(s.mode)
		case loaded:
			store.Loaded()
		case sync:
			c.syncs++
			store.Add(mm2.OffsetSync{TopicPartition: s.partition(), Upstream: s.upstream, Downstream: s.downstream})
		case ask:
			got, want := answer(store.Translate(s.partition(), s.upstream)), "no answer"
			if asked < len(java) {
				want = java[asked]
			}
			asked++
			c.count(want)
			if got != want && same {
				same = false
				c.differ(seed, history[:i+1], got, want)
			}
		}
	}
	return min(asked, len(java))
}

func (c *comparison) count(answer string) {
	c.questions++
	if answer != "none" && answer != "-1" {
		answer = "an offset"
	}
	c.kinds[answer]++
}

func (c *comparison) differ(seed uint64, history []step, got, want string) {
	c.different++
	var text strings.Builder
	steps := 0
	question := history[len(history)-1]
	for _, s := range history {
		if s.verb == load || s.verb == loaded || s.verb == sync && s.number == question.number {
			text.WriteString(s.String() + "\n")
			steps++
		}
	}
	if c.steps == 0 || steps < c.steps {
		text.WriteString(question.String() + " = " + got + ", want " + want)
		c.seed, c.steps, c.shortest = seed, steps, text.String()
	}
}

func answer(downstream int64, ok bool) string {
	if !ok {
		return "none"
	}
	return strconv.FormatInt(downstream, 10)
}
