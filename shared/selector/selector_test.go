package selector_test

import (
	"errors"
	"testing"

	"tidemark/shared/selector"
)

func list(t *testing.T, s string) selector.List {
	t.Helper()
	l, err := selector.ParseList(s)
	if err != nil {
		t.Fatalf("ParseList(%q) = %v, want no error", s, err)
	}
	return l
}

func TestListMatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		list, name string
		want       bool
	}{
		{"", "orders", false},
		{" , ,", "orders", false},
		{"", "", false},
		{".*", "", true},
		{".*", "orders", true},
		// The whole name, not a part of it.
		{"orders", "orders", true},
		{"orders", "orders2", false},
		{"orders", "myorders", false},
		{"orders", "orders\n", false},
		{"a|ab", "ab", true},
		{"a|b", "ac", false},
		{"^orders$", "orders", true},
		{"(?m)orders$", "orders\nsecret", false},
		// Any of several; blanks around commas do not count.
		{"orders, payments.*\t,\n x ", "payments-eu", true},
		{"orders, payments.*\t,\n x ", "x", true},
		{"orders, payments.*\t,\n x ", " x", false},
		{"a, ,b", "b", true},
		// Each expression stands for itself.
		{"(?i)orders, payments", "ORDERS", true},
		{"(?i)orders, payments", "PAYMENTS", false},
		{`\Qa.b, c`, "a.b", true},
		{`\Qa.b, c`, "axb", false},
		{`\Qa.b, c`, "c", true},
		// What Java and RE2 share.
		{`t[a-c\-_]{2}\d+`, "tb-17", true},
		{`t[^a-c]{2}`, "tab", false},
		{`[\p{L}\.]+`, "日.本", true},
		{`\p{L}+\x{41}`, "zA", true},
		{`(?:a|b)*?c??`, "abab", true},
		{`(?<x>a)(b)?`, "ab", true},
		{`\Q[a&&{\E\[\{\(`, "[a&&{[{(", true},
		{"[(*+?{]+", "(*+?{", true},
		{"[]a]+", "]a", true},
		{"[]{]+", "]{", true},
		{"[^]{]", "}", true},
		{"x}", "x}", true},
	}
	for _, tt := range tests {
		t.Run(tt.list+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			if got := list(t, tt.list).Match(tt.name); got != tt.want {
				t.Errorf("ParseList(%q).Match(%q) = %t, want %t", tt.list, tt.name, got, tt.want)
			}
		})
	}
	if (selector.List{}).Match("orders") {
		t.Error("the zero list matches orders, want nothing")
	}
}

func TestExcludeWins(t *testing.T) {
	t.Parallel()
	s := selector.Selector{Include: list(t, "orders.*, payments"), Exclude: list(t, ".*-test, payments")}
	for name, want := range map[string]bool{
		"orders": true, "orders-eu": true, "orders-test": false, "payments": false, "other": false,
	} {
		if got := s.Match(name); got != want {
			t.Errorf("Match(%s) = %t, want %t", name, got, want)
		}
	}
	if (selector.Selector{Exclude: list(t, "x")}).Match("orders") {
		t.Error("an empty include list matches orders, want nothing")
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	topics := selector.Selector{Include: list(t, selector.DefaultTopics), Exclude: list(t, selector.DefaultTopicsExclude)}
	for name, want := range map[string]bool{
		"orders": true, "heartbeats": true, "us-east.orders": true, "internal": true, "internals.x": true, "replica": true,
		"mm2-offset-syncs.a.internal": false, "a.checkpoints.internal": false, "connect-internal": false,
		"a_internal": true, "orders.replica": false, "orders-replica": true, "__consumer_offsets": false, "_schemas": true,
	} {
		if got := topics.Match(name); got != want {
			t.Errorf("topic %s: Match = %t, want %t", name, got, want)
		}
	}
	groups := selector.Selector{Include: list(t, selector.DefaultGroups), Exclude: list(t, selector.DefaultGroupsExclude)}
	for name, want := range map[string]bool{
		"billing": true, "console-consumer-42": false, "connect-sink": false, "connect": true, "__internal": false,
		"my-console-consumer-1": true,
	} {
		if got := groups.Match(name); got != want {
			t.Errorf("group %s: Match = %t, want %t", name, got, want)
		}
	}
}

func TestRefusedExpressions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern string
		offset  int
		reason  string
	}{
		{"a(?=b)", 1, "look-around is Java's; for what must not match there is the exclude list"},
		{"(?!test).*", 0, "look-around is Java's; for what must not match there is the exclude list"},
		{".*(?<=b)", 2, "look-around is Java's; for what must not match there is the exclude list"},
		{".*(?<!b)", 2, "look-around is Java's; for what must not match there is the exclude list"},
		{"(?>a|ab)c", 0, "an atomic group is Java's; use (?:...)"},
		{"ab*+", 2, "a possessive quantifier is Java's; use the greedy one"},
		{"ab++", 2, "a possessive quantifier is Java's; use the greedy one"},
		{"ab?+", 2, "a possessive quantifier is Java's; use the greedy one"},
		{"ab{2}+", 2, "a possessive quantifier is Java's; use the greedy one"},
		{`(a)\1`, 3, "a back reference is Java's; spell out the alternatives"},
		{`(a)\12`, 3, "a back reference is Java's; spell out the alternatives"},
		{`(?<x>a)\k<x>`, 7, "a back reference is Java's; spell out the alternatives"},
		{`a\Z`, 1, "this escape is Java's; spell out the characters"},
		{`\u0041`, 0, "this escape is Java's; spell out the characters"},
		{`\0123`, 0, "this escape is Java's; spell out the characters"},
		{`[a\h]`, 0, "this escape is Java's; spell out the characters"},
		{"x[a-d[m-p]]", 1, `a class inside a class is Java's; write one class, or \[ for the character`},
		{"[[:alpha:]]", 0, `a class inside a class is Java's; write one class, or \[ for the character`},
		{"[a-z&&[^b]]", 0, `an intersection of classes is Java's; write one class, or \& for the character`},
		{"(?iU:a)", 0, "the flag U means something else in Java; leave it out"},
		{"a(?i){2}", 1, "there is nothing to repeat behind these flags"},
		{"a(?i)*", 1, "there is nothing to repeat behind these flags"},
		{"a{2", 1, `{ must begin a count such as {3} (a list is split at commas, so {1,3} cannot be one); write \{ for the character`},
		{"a{}", 1, `{ must begin a count such as {3} (a list is split at commas, so {1,3} cannot be one); write \{ for the character`},
		{"a{x}", 1, `{ must begin a count such as {3} (a list is split at commas, so {1,3} cannot be one); write \{ for the character`},
		// What neither of them takes.
		{"ab(c", 0, `missing closing ): "ab(c"`},
		{"abc)", 0, `unexpected ): "abc)"`},
		{"a[b", 1, `missing closing ]: "[b"`},
		{"*a", 0, `missing argument to repetition operator: "*"`},
		{"ab**", 2, `invalid nested repetition operator: "**"`},
		{`ab\`, 0, `trailing backslash at end of expression: ""`},
		{`a\p{Alpha}`, 1, `invalid character class range: "\\p{Alpha}"`},
		{"[z-a]", 1, `invalid character class range: "z-a"`},
		{"a{2000}", 1, `invalid repeat count: "{2000}"`},
	}
	for _, tt := range tests {
		t.Run(tt.pattern, func(t *testing.T) {
			t.Parallel()
			_, err := selector.ParseList("orders, " + tt.pattern)
			var got *selector.PatternError
			if !errors.As(err, &got) {
				t.Fatalf("ParseList(%q) = %v, want a PatternError", tt.pattern, err)
			}
			want := selector.PatternError{Pattern: tt.pattern, Position: 2, Offset: tt.offset, Reason: tt.reason}
			if *got != want {
				t.Errorf("ParseList(%q) = %+v, want %+v", tt.pattern, *got, want)
			}
		})
	}
}

func TestEveryBadExpressionIsNamed(t *testing.T) {
	t.Parallel()
	_, err := selector.ParseList("ok, a{1,3}, (b")
	const want = `expression 2, "a{1", at byte 1: { must begin a count such as {3} (a list is split at commas, so {1,3} cannot be one); write \{ for the character
expression 4, "(b", at byte 0: missing closing ): "(b"`
	if err == nil || err.Error() != want {
		t.Errorf("ParseList = %v, want %s", err, want)
	}
}
