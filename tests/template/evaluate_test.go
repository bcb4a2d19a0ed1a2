package template

import (
	"maps"
	"slices"
	"strings"
)

// absent is AWS::NoValue: what holds it goes without.
type absent struct{}

// value evaluates the functions under v.
func (s *stack) value(v any) any {
	s.t.Helper()
	switch v := v.(type) {
	case object:
		if name, argument, ok := function(v); ok {
			return s.call(name, argument)
		}
		fields := make(object, len(v))
		for key, field := range v {
			if field := s.value(field); field != (absent{}) {
				fields[key] = field
			}
		}
		return fields
	case []any:
		list := make([]any, 0, len(v))
		for _, item := range v {
			if item := s.value(item); item != (absent{}) {
				list = append(list, item)
			}
		}
		return list
	default:
		return v
	}
}

// function says whether an object is a call of a function.
func function(o object) (name string, argument any, ok bool) {
	for name, argument = range o {
		ok = len(o) == 1 && (name == "Ref" || strings.HasPrefix(name, "Fn::"))
	}
	return name, argument, ok
}

// call evaluates a function that yields a value.
func (s *stack) call(name string, argument any) any {
	s.t.Helper()
	list, _ := argument.([]any)
	switch name {
	case "Ref":
		return s.name(argument.(string))
	case "Fn::GetAtt":
		if len(list) == 2 {
			argument = list[0].(string) + "." + list[1].(string)
		}
		return s.name(argument.(string))
	case "Fn::If":
		if s.condition(list[0].(string)) {
			return s.value(list[1])
		}
		return s.value(list[2])
	case "Fn::Sub":
		return s.substitute(argument, list)
	case "Fn::Split":
		var parts []any
		for part := range strings.SplitSeq(s.value(list[1]).(string), list[0].(string)) {
			parts = append(parts, part)
		}
		return parts
	case "Fn::Join":
		var parts []string
		for _, part := range s.value(list[1]).([]any) {
			parts = append(parts, part.(string))
		}
		return strings.Join(parts, list[0].(string))
	}
	s.t.Fatalf("function %s is not known here", name)
	return nil
}

// substitute is Fn::Sub, with a text or with a text and further variables.
func (s *stack) substitute(argument any, list []any) string {
	s.t.Helper()
	variables := object{}
	if list != nil {
		argument, variables = list[0], list[1].(object)
	}
	return placeholder().ReplaceAllStringFunc(argument.(string), func(p string) string {
		name := p[2 : len(p)-1]
		if v, ok := variables[name]; ok {
			return s.value(v).(string)
		}
		return s.name(name).(string)
	})
}

// condition evaluates a named condition.
func (s *stack) condition(name string) bool {
	s.t.Helper()
	c, ok := at(s.template, "Conditions")[name]
	if !ok {
		s.t.Fatalf("there is no condition %s", name)
	}
	return s.truth(c)
}

// truth evaluates a function that says yes or no.
func (s *stack) truth(v any) bool {
	s.t.Helper()
	name := slices.Collect(maps.Keys(v.(object)))[0]
	list, _ := v.(object)[name].([]any)
	switch name {
	case "Condition":
		return s.condition(v.(object)[name].(string))
	case "Fn::Equals":
		return s.value(list[0]) == s.value(list[1])
	case "Fn::Not":
		return !s.truth(list[0])
	case "Fn::And":
		return !slices.ContainsFunc(list, func(v any) bool { return !s.truth(v) })
	case "Fn::Or":
		return slices.ContainsFunc(list, s.truth)
	}
	s.t.Fatalf("function %s is no condition", name)
	return false
}
