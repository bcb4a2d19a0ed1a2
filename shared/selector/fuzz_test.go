package selector_test

import (
	"regexp"
	"strings"
	"testing"

	"tidemark/shared/selector"
)

// Invariants: ParseList never panics. An accepted expression is one that Go compiles, and it matches a name iff its
// leftmost-longest match is the whole name. Behind another expression it matches the same names as alone.
func FuzzParseList(f *testing.F) {
	for _, pattern := range []string{
		".*", `.*[\-\.]internal`, "a|ab", `\Qa.b`, "(?i)a", "^a$", "(?m)^a$", "[]a]", `[^\]]`, "a{3}?", `\p{L}`, "(?<x>a)*", `\`, "[", "(?", "{",
		"a*+", `[a&&b]`, `\x{41}`,
	} {
		f.Add(pattern, "ab")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		alone, err := selector.ParseList(pattern)
		if err != nil || strings.ContainsRune(pattern, ',') || strings.TrimSpace(pattern) == "" {
			return
		}
		re, err := regexp.Compile(strings.TrimSpace(pattern))
		if err != nil {
			t.Fatalf("ParseList(%q) accepts what Go does not: %v", pattern, err)
		}
		re.Longest()
		at := re.FindStringIndex(name)
		want := at != nil && at[0] == 0 && at[1] == len(name)
		if got := alone.Match(name); got != want {
			t.Errorf("ParseList(%q).Match(%q) = %t, want %t", pattern, name, got, want)
		}
		second, err := selector.ParseList("\x00never\x00, " + pattern)
		if err != nil || second.Match(name) != want && name != "\x00never\x00" {
			t.Errorf("ParseList(never, %q).Match(%q) is not %t (%v)", pattern, name, want, err)
		}
	})
}
