package selector

import "strings"

// Why an expression that Java takes is refused. Go would refuse some of them too, in plainer words for Go than for Java's
// users; the others it would read as something else.
const (
	lookAround    = "look-around is Java's; for what must not match there is the exclude list"
	atomicGroup   = "an atomic group is Java's; use (?:...)"
	possessive    = "a possessive quantifier is Java's; use the greedy one"
	javaEscape    = "this escape is Java's; spell out the characters"
	backReference = "a back reference is Java's; spell out the alternatives"
	classInClass  = "a class inside a class is Java's; write one class, or \\[ for the character"
	intersection  = "an intersection of classes is Java's; write one class, or \\& for the character"
	looseBrace    = "{ must begin a count such as {3} (a list is split at commas, so {1,3} cannot be one); write \\{ for the character"
	unicodeFlag   = "the flag U means something else in Java; leave it out"
	flagsRepeated = "there is nothing to repeat behind these flags"
)

// findJavaOnly returns where pattern holds syntax that only Java has or that Java reads differently, and why it is refused;
// no reason if there is none. It does not check the rest of the syntax.
func findJavaOnly(pattern string) (offset int, reason string) {
	for i := 0; i < len(pattern); {
		n, reason := 1, ""
		switch rest := pattern[i:]; rest[0] {
		case '\\':
			n, reason = escape(rest)
		case '[':
			n, reason = class(rest)
		case '(':
			reason = group(rest)
		case '{':
			n, reason = count(rest)
		case '*', '+', '?':
			n, reason = quantifier(rest, 1)
		}
		if reason != "" {
			return i, reason
		}
		i += n
	}
	return 0, ""
}

// escape looks at the backslash that s begins with, and returns the length of what belongs to it.
func escape(s string) (n int, reason string) {
	if len(s) < 2 {
		return len(s), "" // Go's parser says it
	}
	switch c := s[1]; {
	case c == 'Q':
		if end := strings.Index(s, `\E`); end >= 0 {
			return end + 2, ""
		}
		return len(s), ""
	case '1' <= c && c <= '9' || c == 'k':
		return 0, backReference
	case strings.IndexByte("0ceEGhHNRuUvVXZ", c) >= 0:
		return 0, javaEscape
	case strings.IndexByte("pPx", c) >= 0 && strings.HasPrefix(s[2:], "{"):
		return max(strings.IndexByte(s, '}'), 2) + 1, ""
	}
	return 2, ""
}

// class looks at the character class that s begins with, and returns its length.
func class(s string) (n int, reason string) {
	i := 1
	if strings.HasPrefix(s[i:], "^") {
		i++
	}
	if strings.HasPrefix(s[i:], "]") { // as the first character it stands for itself
		i++
	}
	for i < len(s) {
		switch {
		case s[i] == ']':
			return i + 1, ""
		case s[i] == '[':
			return 0, classInClass
		case strings.HasPrefix(s[i:], "&&"):
			return 0, intersection
		case s[i] == '\\':
			n, reason := escape(s[i:])
			if reason != "" {
				return 0, reason
			}
			i += n
		default:
			i++
		}
	}
	return len(s), "" // never closed: Go's parser says it
}

// group looks at the parenthesis that s begins with.
func group(s string) (reason string) {
	for _, prefix := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.HasPrefix(s, prefix) {
			return lookAround
		}
	}
	if strings.HasPrefix(s, "(?>") {
		return atomicGroup
	}
	if !strings.HasPrefix(s, "(?") || strings.HasPrefix(s, "(?P<") || strings.HasPrefix(s, "(?<") {
		return ""
	}
	group, after, _ := strings.Cut(s, ")")
	flags, _, grouping := strings.Cut(group, ":")
	switch {
	case strings.Contains(flags, "U"):
		return unicodeFlag
	case !grouping && after != "" && strings.IndexByte("*+?{", after[0]) >= 0:
		return flagsRepeated
	}
	return ""
}

// count looks at the brace that s begins with, and returns the length of {n} with what follows it as its quantifier.
func count(s string) (n int, reason string) {
	end := strings.IndexByte(s, '}')
	if end < 2 || strings.Trim(s[1:end], "0123456789") != "" {
		return 0, looseBrace
	}
	return quantifier(s, end+1)
}

// quantifier looks behind the quantifier that is the first n bytes of s.
func quantifier(s string, n int) (int, string) {
	if strings.HasPrefix(s[n:], "+") {
		return 0, possessive
	}
	return n, ""
}
