package template

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuide wants the guide to explain every parameter with its default, every alarm and every output.
func TestGuide(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "deploy.md"))
	if err != nil {
		t.Fatal(err)
	}
	template := load(t)
	for name := range at(template, "Parameters") {
		standard, given := at(template, "Parameters", name)["Default"].(string)
		switch {
		case !given:
			standard = "required"
		case standard == "":
			standard = "empty"
		default:
			standard = "`" + standard + "`"
		}
		if row := "\n| `" + name + "` | " + standard + " | "; !strings.Contains(string(text), row) {
			t.Errorf("docs/deploy.md has no line %q", row)
		}
	}
	for _, alarm := range alarms() {
		if row := "\n| `" + alarm["MetricName"].(string) + "` | "; !strings.Contains(string(text), row) {
			t.Errorf("docs/deploy.md has no line %q", row)
		}
	}
	for name := range at(template, "Outputs") {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/deploy.md says nothing of the output %s", name)
		}
	}
}
