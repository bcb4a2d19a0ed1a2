package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flow is one of the file's flows.
type flow struct{ source, target string }

func (f flow) String() string { return f.source + "->" + f.target }

// pick finds the flow to import: the wanted one, or the only one that is enabled.
func pick(all map[string]string, wanted string) (flow, error) {
	var enabled []string
	for name, value := range all {
		if pair, ok := strings.CutSuffix(name, ".enabled"); ok && strings.Contains(pair, "->") && strings.Count(pair, ".") == 0 && value == "true" {
			enabled = append(enabled, pair)
		}
	}
	slices.Sort(enabled)
	switch {
	case wanted != "":
	case len(enabled) == 1:
		wanted = enabled[0]
	case len(enabled) == 0:
		return flow{}, fmt.Errorf("no flow is enabled: name one of the clusters %q as SOURCE->TARGET", all["clusters"])
	default:
		return flow{}, fmt.Errorf("several flows are enabled, one stack is one flow: name one of %s", strings.Join(enabled, ", "))
	}
	source, target, ok := strings.Cut(wanted, "->")
	if !ok || source == "" || target == "" || source == target {
		return flow{}, fmt.Errorf("%q is no flow: want SOURCE->TARGET", wanted)
	}
	return flow{source, target}, nil
}

// property is a property as it concerns the flow.
type property struct {
	name   string // as the file has it
	key    string // without the flow's or a cluster's alias in front
	side   string // "Source" or "Target" if it is one cluster's; empty: the flow's
	value  string
	rank   int  // of two with one key the higher one counts: the flow's own before a general one
	others bool // it is another flow's or cluster's
}

// concern says what each property is about, by name.
func (f flow) concern(all map[string]string) []property {
	var list []property
	aliases := strings.Split(compact(all["clusters"]), ",")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := property{name: name, key: name, value: strings.TrimSpace(all[name])}
		if before, after, ok := strings.Cut(name, "."); ok {
			switch {
			case before == f.String():
				p.key, p.rank = after, 1
			case strings.Contains(before, "->"):
				p.others = true
			case before == f.source:
				p.key, p.side, p.rank = after, "Source", 1
			case before == f.target:
				p.key, p.side, p.rank = after, "Target", 1
			case slices.Contains(aliases, before):
				p.others = true
			}
		}
		p.key = clientless(p.key)
		list = append(list, p)
	}
	return list
}

// clientless takes the client off a property of its security: a cluster's consumer, producer and admin clients share it here.
func clientless(key string) string {
	for _, client := range []string{"consumer.", "producer.", "admin."} {
		rest, ok := strings.CutPrefix(key, client)
		if ok && (strings.HasPrefix(rest, "security.") || strings.HasPrefix(rest, "sasl.") || strings.HasPrefix(rest, "ssl.")) {
			return rest
		}
	}
	return key
}
