package template

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// stack is the template with a value for every parameter.
type stack struct {
	t          *testing.T
	template   object
	parameters map[string]string
}

// The clusters of the tests are MSK's, with IAM, unless changes say otherwise.
const (
	account   = "111122223333"
	sourceARN = "arn:aws:kafka:us-east-1:" + account + ":cluster/west/1a2b3c-1"
	targetARN = "arn:aws:kafka:us-east-1:" + account + ":cluster/east/4d5e6f-2"
)

// minimal is the least that has to be given.
func minimal() map[string]string {
	return map[string]string{
		"SourceClusterAlias": "us", "SourceBootstrapServers": "b-1.west:9098,b-2.west:9098", "SourceClusterArn": sourceARN,
		"TargetClusterAlias": "eu", "TargetBootstrapServers": "b-1.east:9098", "TargetClusterArn": targetARN,
	}
}

// deploy gives the template the minimal parameters with changes. It does not look at the rules; see refusals.
func deploy(t *testing.T, changes map[string]string) *stack {
	t.Helper()
	s := &stack{t: t, template: load(t), parameters: minimal()}
	maps.Copy(s.parameters, changes)
	for name := range s.parameters {
		if at(s.template, "Parameters", name) == nil {
			t.Fatalf("there is no parameter %s", name)
		}
	}
	for name := range at(s.template, "Parameters") {
		p := at(s.template, "Parameters", name)
		if _, given := s.parameters[name]; !given {
			standard, ok := p["Default"].(string)
			if !ok {
				t.Fatalf("parameter %s is required", name)
			}
			s.parameters[name] = standard
		}
		if fault := outside(p, s.parameters[name]); fault != "" {
			t.Fatalf("parameter %s=%q: %s", name, s.parameters[name], fault)
		}
	}
	return s
}

// refusals are the descriptions of the rules' assertions that the parameters violate.
func (s *stack) refusals() []string {
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(at(s.template, "Rules"))) {
		rule := at(s.template, "Rules", name)
		if condition, ok := rule["RuleCondition"]; ok && !s.truth(condition) {
			continue
		}
		for _, a := range rule["Assertions"].([]any) {
			if !s.truth(a.(object)["Assert"]) {
				refused = append(refused, a.(object)["AssertDescription"].(string))
			}
		}
	}
	return refused
}

// resources are those whose condition holds, evaluated, those of functions with what Globals adds.
func (s *stack) resources() map[string]object {
	made := make(map[string]object)
	for id := range at(s.template, "Resources") {
		r := maps.Clone(at(s.template, "Resources", id))
		if condition, ok := r["Condition"].(string); ok && !s.condition(condition) {
			continue
		}
		delete(r, "Condition")
		if r["Type"] == "AWS::Serverless::Function" {
			r["Properties"] = merge(at(s.template, "Globals", "Function"), at(r, "Properties"))
		}
		made[id] = s.value(r).(object)
	}
	return made
}

// properties are those of one resource, which must be there.
func (s *stack) properties(id string) object {
	s.t.Helper()
	r, ok := s.resources()[id]
	if !ok {
		s.t.Fatalf("there is no resource %s", id)
	}
	return at(r, "Properties")
}

// merge is how SAM adds Globals to a function: the function wins, mappings are merged.
func merge(global, own object) object {
	merged := maps.Clone(global)
	for key, value := range own {
		inner, mapping := value.(object)
		below, both := merged[key].(object)
		if mapping && both {
			value = merge(below, inner)
		}
		merged[key] = value
	}
	return merged
}

// placeholder is a ${Name} of Fn::Sub.
func placeholder() *regexp.Regexp { return regexp.MustCompile(`\$\{[^}]+\}`) }

// name is what Ref or, with a dot, Fn::GetAtt stands for. A resource is its logical id.
func (s *stack) name(of string) any {
	s.t.Helper()
	pseudo := map[string]any{
		"AWS::NoValue": absent{}, "AWS::AccountId": account, "AWS::Partition": "aws",
		"AWS::Region": "us-east-1", "AWS::URLSuffix": "amazonaws.com",
	}
	if v, ok := pseudo[of]; ok {
		return v
	}
	if v, ok := s.parameters[of]; ok {
		return v
	}
	id, _, _ := strings.Cut(of, ".")
	r := at(s.template, "Resources", id)
	if r == nil {
		s.t.Fatalf("nothing is called %s", of)
	}
	if condition, ok := r["Condition"].(string); ok && !s.condition(condition) {
		s.t.Fatalf("%s is used, but not made", of)
	}
	return of
}
