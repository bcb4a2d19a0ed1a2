package template

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// object is a YAML mapping. Every scalar is a string, for CloudFormation takes 60 and "60" for the same.
type object = map[string]any

const root = "../.."

// path is where the template is, and whether `sam build` has been at it.
func path() (name string, built bool) {
	if name := os.Getenv("TIDEMARK_TEMPLATE"); name != "" {
		return name, true
	}
	return filepath.Join(root, "template.yaml"), false
}

// load reads the template, with the functions in their long form.
func load(t *testing.T) object {
	t.Helper()
	name, _ := path()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatalf("parse %s: %v", name, err)
	}
	return long(t, document.Content[0]).(object)
}

// long turns a node into objects, lists and strings; `!Ref x` becomes {"Ref": "x"} and `!Sub x` {"Fn::Sub": "x"}.
func long(t *testing.T, n *yaml.Node) any {
	t.Helper()
	var value any
	switch n.Kind {
	case yaml.ScalarNode:
		value = n.Value
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			list = append(list, long(t, item))
		}
		value = list
	case yaml.MappingNode:
		fields := make(object, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if _, twice := fields[key]; twice {
				t.Fatalf("line %d: %s stands there twice", n.Content[i].Line, key)
			}
			fields[key] = long(t, n.Content[i+1])
		}
		value = fields
	default:
		t.Fatalf("line %d: CloudFormation knows no YAML aliases", n.Line)
	}
	switch name, tagged := strings.CutPrefix(n.Tag, "!"); {
	case !tagged || strings.HasPrefix(name, "!"): // none, or one of YAML's own, as !!str
		return value
	case name == "Ref" || name == "Condition":
		return object{name: value}
	default:
		return object{"Fn::" + name: value}
	}
}

// at returns the object at the end of a path of keys, an empty one if there is none.
func at(o object, keys ...string) object {
	for _, key := range keys {
		o, _ = o[key].(object)
	}
	return o
}

// walk calls visit with every object under v, outermost first.
func walk(v any, visit func(object)) {
	switch v := v.(type) {
	case object:
		visit(v)
		for _, inner := range v {
			walk(inner, visit)
		}
	case []any:
		for _, inner := range v {
			walk(inner, visit)
		}
	}
}
