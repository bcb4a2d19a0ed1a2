package model

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// found is a violation, and the shortest way to it.
type found struct {
	err   error
	trace []string
}

// search looks at every reachable state, nearest first. It stops at the first violation, or fails when there are more
// states than most.
func search(source string, invocations int, g guards, most int) (violation *found, states int, err error) {
	type from struct {
		state int
		step  string
	}
	first := &world{item: watermark.New(mm2.TopicPartition{Topic: "t"}), members: make([]invocation, invocations)}
	seen := map[string]bool{first.key(): true}
	queue, came := []*world{first}, []from{{-1, ""}}
	for i := 0; i < len(queue); i++ {
		w := queue[i]
		queue[i] = nil
		if err := errors.Join(w.durable(source), w.finish(source, g)); err != nil {
			f := &found{err: err}
			for at := i; at > 0; at = came[at].state {
				f.trace = append([]string{came[at].step}, f.trace...)
			}
			return f, len(queue), nil
		}
		for _, s := range w.successors(source, g) {
			if key := s.world.key(); !seen[key] {
				seen[key] = true
				queue, came = append(queue, s.world), append(came, from{i, s.step})
			}
		}
		if len(queue) > most {
			return nil, len(queue), fmt.Errorf("more than %d states", most)
		}
	}
	return nil, len(queue), nil
}

// most bounds a search: a world that grew would else take all memory.
const most = 6_000_000

func TestProtocolHolds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		source      string
		invocations int
		g           guards
	}{
		{"ab", 2, guards{}}, {"axx", 2, guards{}}, {"abc", 2, guards{}}, {"a", 3, guards{plain: true}}, {"xx", 3, guards{plain: true}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.source, " ", test.invocations), func(t *testing.T) {
			violation, states, err := search(test.source, test.invocations, test.g, most)
			if err != nil {
				t.Fatal(err)
			}
			if violation != nil {
				t.Fatalf("%v after %d states:\n%s", violation.err, states, strings.Join(violation.trace, "\n"))
			}
			t.Logf("%d states", states)
		})
	}
}

// TestEachGuardIsNeeded switches one guard off at a time and wants the shortest trace that breaks what is left.
func TestEachGuardIsNeeded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		source      string
		invocations int
		off         guards
	}{
		{"fence", "a", 2, guards{noFence: true}},
		{"fence below the high watermark", "a", 2, guards{tailTooEarly: true}},
		{"foreign producers kept", "a", 3, guards{forgetForeign: true}},
		{"claim kept at an unknown outcome", "a", 2, guards{dropUnknown: true}},
		{"first contact under the claim", "a", 2, guards{beginByAnybody: true}},
		{"own nonce settles", "a", 2, guards{cleanByNonce: true}},
		{"control records take no position", "axx", 3, guards{markersCount: true}},
		{"commit says where it starts", "ab", 2, guards{commitFromAnyway: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			violation, states, err := search(test.source, test.invocations, test.off, most)
			if violation == nil {
				t.Fatalf("no violation in %d states (%v): the guard is not needed, or the model does not see it", states, err)
			}
			t.Logf("%v after %d states, %d steps: %s", violation.err, states, len(violation.trace), strings.Join(violation.trace, "; "))
		})
	}
}
