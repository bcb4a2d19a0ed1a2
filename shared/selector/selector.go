// Package selector decides which topics and groups take part in a flow, by MirrorMaker 2's rules: lists of regular
// expressions, full match, exclude wins, an empty include list selects nothing.
//
// MM2's expressions are Java's, Go's are RE2. Where both read an expression differently, or Go cannot read it at all,
// [ParseList] refuses it and says why, so that a list never silently selects other names than it does in MM2. One
// difference stays, in favour of the reader: an inline flag such as (?i) holds for its own expression, while Java carries
// it on to the expressions behind it.
//
//	topics, err := selector.ParseList(selector.DefaultTopics)
//	exclude, err := selector.ParseList(selector.DefaultTopicsExclude)
//	selector.Selector{Include: topics, Exclude: exclude}.Match("orders") // true
package selector

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// MM2's default lists (DefaultTopicFilter.java, DefaultGroupFilter.java).
const (
	DefaultTopics        = ".*"
	DefaultTopicsExclude = `.*[\-\.]internal, .*\.replica, __.*`
	DefaultGroups        = ".*"
	DefaultGroupsExclude = "console-consumer-.*, connect-.*, __.*"
)

// Selector selects what Include matches and Exclude does not. The zero value selects nothing. It is safe for concurrent
// use.
type Selector struct{ Include, Exclude List }

// Match says whether name is selected.
func (s Selector) Match(name string) bool { return s.Include.Match(name) && !s.Exclude.Match(name) }

// List is a list of regular expressions. The zero value matches nothing.
type List struct{ any *regexp.Regexp }

// Match says whether one of the expressions matches name from its first to its last byte, as Java's Matcher.matches does.
func (l List) Match(name string) bool { return l.any != nil && l.any.MatchString(name) }

// ParseList reads expressions separated by commas; blanks around them do not count, nor do empty ones. A comma cannot be
// part of an expression, as in MM2. The error joins one [PatternError] for each expression that cannot be used.
func ParseList(list string) (List, error) {
	var patterns []string
	var faults []error
	for i, pattern := range strings.Split(list, ",") {
		pattern = strings.TrimSpace(pattern)
		if pattern == "" {
			continue
		}
		canonical, err := parse(pattern)
		if err != nil {
			err.Position = i + 1
			faults = append(faults, err)
			continue
		}
		patterns = append(patterns, canonical)
	}
	if len(faults) > 0 {
		return List{}, errors.Join(faults...)
	}
	if len(patterns) == 0 {
		return List{}, nil
	}
	re, err := regexp.Compile(`\A(?:` + strings.Join(patterns, "|") + `)\z`)
	if err != nil {
		return List{}, fmt.Errorf("join %d expressions: %w", len(patterns), err)
	}
	return List{any: re}, nil
}

// PatternError is an expression that cannot be used.
type PatternError struct {
	Pattern  string
	Position int // place in the list, from 1 on
	Offset   int // byte in Pattern at which the fault begins
	Reason   string
}

// Error implements error.
func (e *PatternError) Error() string {
	return fmt.Sprintf("expression %d, %q, at byte %d: %s", e.Position, e.Pattern, e.Offset, e.Reason)
}

// parse returns an equal expression that can stand among others: its flags end with it, and it does not end within \Q.
func parse(pattern string) (string, *PatternError) {
	if offset, reason := findJavaOnly(pattern); reason != "" {
		return "", &PatternError{Pattern: pattern, Offset: offset, Reason: reason}
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		e := &PatternError{Pattern: pattern, Reason: err.Error()}
		var fault *syntax.Error
		if errors.As(err, &fault) {
			e.Offset = max(strings.Index(pattern, fault.Expr), 0)
			e.Reason = fmt.Sprintf("%s: %q", fault.Code, fault.Expr)
		}
		return "", e
	}
	return tree.String(), nil
}
