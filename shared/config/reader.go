package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Getenv looks an environment variable up, as os.Getenv does: empty means not set.
type Getenv func(name string) string

// Fault is one variable that cannot be used.
type Fault struct {
	Variable string
	Value    string // as it was given, or what to print in its place; empty for a variable that is not set
	Want     string // what to set instead
}

// Error implements error.
func (f Fault) Error() string {
	if f.Value == "" {
		return fmt.Sprintf("%s is not set: %s", f.Variable, f.Want)
	}
	return fmt.Sprintf("%s=%q: %s", f.Variable, f.Value, f.Want)
}

// Error is every fault of an environment at once.
type Error struct{ Faults []Fault }

// Error implements error: one line a fault.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("read configuration:")
	for _, f := range e.Faults {
		b.WriteString("\n  " + f.Error())
	}
	return b.String()
}

// reader reads variables and gathers faults.
type reader struct {
	getenv Getenv
	faults []Fault
}

func (r *reader) fault(variable, value, want string) {
	r.faults = append(r.faults, Fault{variable, value, want})
}

// faulted says whether variable has a fault, so that none is reported that only follows from it.
func (r *reader) faulted(variable string) bool {
	return slices.ContainsFunc(r.faults, func(f Fault) bool { return f.Variable == variable })
}

func (r *reader) err() error {
	if len(r.faults) == 0 {
		return nil
	}
	return &Error{r.faults}
}

// text returns a variable, or standard when it is not set.
func (r *reader) text(variable, standard string) string {
	value := strings.TrimSpace(r.getenv(variable))
	switch {
	case value == "":
		return standard
	case strings.HasPrefix(value, "s3://"), strings.HasPrefix(value, "ssm:"):
		r.fault(variable, value, "values kept elsewhere are not supported yet: set the value itself")
		return standard
	}
	return value
}

func (r *reader) required(variable, want string) string {
	value := r.text(variable, "")
	if value == "" && !r.faulted(variable) {
		r.fault(variable, "", want)
	}
	return value
}

// oneOf returns one of a few values; the first is the standard.
func (r *reader) oneOf(variable string, values ...string) string {
	value := r.text(variable, values[0])
	if !slices.Contains(values, value) {
		r.fault(variable, value, "want one of "+strings.Join(slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" }), ", "))
		return values[0]
	}
	return value
}

func (r *reader) boolean(variable string, standard bool) bool {
	return r.oneOf(variable, strconv.FormatBool(standard), strconv.FormatBool(!standard)) == "true"
}

// number returns a whole number from least to most.
func (r *reader) number(variable string, standard, least, most int64) int64 {
	value := r.text(variable, strconv.FormatInt(standard, 10))
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < least || n > most {
		r.fault(variable, value, fmt.Sprintf("want a whole number from %d to %d", least, most))
		return standard
	}
	return n
}

func (r *reader) seconds(variable string, standard, least, most int64) time.Duration {
	return time.Duration(r.number(variable, standard, least, most)) * time.Second
}

// list returns the parts of a comma list, without blanks; there must be one.
func (r *reader) list(variable, want string) []string {
	value := r.required(variable, want)
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 && value != "" {
		r.fault(variable, value, want)
	}
	return parts
}

// topicPart returns what becomes part of topic names.
func (r *reader) topicPart(variable, value string) string {
	if strings.ContainsFunc(value, func(c rune) bool { return !isAlphanumeric(c) && !strings.ContainsRune("._-", c) }) {
		r.fault(variable, value, "want letters, digits, dot, underscore and dash only: it becomes part of topic names")
	}
	return value
}

func isAlphanumeric(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
