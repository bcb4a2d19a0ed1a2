package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// fate is what becomes of a property.
type fate string

const (
	carried     fate = "carried over"
	needless    fate = "not needed"
	unsupported fate = "not supported"
)

// entry says what becomes of one property.
type entry struct {
	property string
	fate     fate
	why      string // carried over: the parameter; else why, and what to do
}

// report is what an import found.
type report struct {
	flow       flow
	parameters map[string]string
	entries    []entry
	notes      []string // what the file does not say and somebody has to know
}

// print writes samconfig.toml, and what was done as comments.
func (r report) print(w io.Writer) {
	fmt.Fprintf(w, "# Tidemark, flow %s\nversion = 0.1\n\n[default.deploy.parameters]\n", r.flow)
	fmt.Fprintf(w, "stack_name = %q\ncapabilities = \"CAPABILITY_IAM\"\nresolve_s3 = true\nparameter_overrides = [\n", "tidemark-"+stackPart(r.flow.source)+"-"+stackPart(r.flow.target))
	for _, name := range slices.Sorted(maps.Keys(r.parameters)) {
		fmt.Fprintf(w, "  %s,\n", toml(name+"="+quote(r.parameters[name])))
	}
	fmt.Fprintln(w, "]")
	for _, f := range []fate{carried, needless, unsupported} {
		fmt.Fprintf(w, "\n# %s\n", f)
		for _, e := range r.entries {
			if e.fate == f {
				fmt.Fprintf(w, "#   %s: %s\n", e.property, e.why)
			}
		}
	}
	fmt.Fprintln(w, "\n# to know")
	for _, note := range r.notes {
		fmt.Fprintf(w, "#   %s\n", note)
	}
}

// stackPart is an alias as a stack's name may have it.
func stackPart(alias string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, alias)
}

// quote is a value as sam's parameter_overrides takes it.
func quote(value string) string {
	if value != "" && !strings.ContainsAny(value, ` ",'`+"\\") {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `\"`) + `"` // SAM takes other backslashes as they are
}

// toml is a basic string.
func toml(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
