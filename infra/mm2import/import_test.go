package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/magiconair/properties"
)

var update = flag.Bool("update", false, "write what is printed to the golden files")

// TestImport imports files as they are found in the field, and compares with what was read and found right once. Every
// property is spoken of once, every parameter is the template's.
func TestImport(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.properties")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	template, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			args := []string{file}
			if strings.Contains(file, "both-ways") {
				args = append(args, "east->west")
			}
			var out bytes.Buffer
			if err := run(args, &out); err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".properties") + ".toml"
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
			if strings.Contains(out.String(), "not-here") {
				t.Error("a secret is printed")
			}
			loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
			all, err := loader.LoadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range all.Keys() {
				if n := strings.Count(out.String(), "#   "+name+": "); n != 1 {
					t.Errorf("%s is spoken of %d times", name, n)
				}
			}
			for _, parameter := range regexp.MustCompile(`(?m)^  "(\w+)=`).FindAllStringSubmatch(out.String(), -1) {
				if !strings.Contains(string(template), "\n  "+parameter[1]+":\n    Type:") {
					t.Errorf("the template has no parameter %s", parameter[1])
				}
			}
		})
	}
}

func TestWhichFlow(t *testing.T) {
	t.Parallel()
	two := map[string]string{"clusters": "a,b", "a->b.enabled": "true", "b->a.enabled": "true"}
	none := map[string]string{"clusters": "a,b"}
	for _, test := range []struct {
		all          map[string]string
		wanted, want string
	}{
		{two, "", "several flows are enabled"}, {none, "", "no flow is enabled"}, {none, "a", "is no flow"}, {none, "a->a", "is no flow"}, {two, "b->a", ""}, {none, "a->b", ""},
	} {
		f, err := pick(test.all, test.wanted)
		switch {
		case test.want == "" && (err != nil || f.String() != test.wanted):
			t.Errorf("pick(%v, %q) = %v, %v", test.all, test.wanted, f, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("pick(%v, %q): %v, want %q", test.all, test.wanted, err, test.want)
		}
	}
	if err := run(nil, &bytes.Buffer{}); err == nil {
		t.Error("no file is no error")
	}
}
