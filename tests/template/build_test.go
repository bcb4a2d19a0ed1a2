package template

import (
	"debug/buildinfo"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuild looks at the binaries beside a built template: they must run on Lambda's arm64, where there is no C library to
// rely on, without the RPC server that only the retired go1.x runtime used.
func TestBuild(t *testing.T) {
	t.Parallel()
	name, built := path()
	if !built {
		t.Skip("this template is not built; infra/sam/check.sh builds it and comes back")
	}
	s := deploy(t, nil)
	for id, pkg := range map[string]string{"MirrorFunction": "tidemark/functions/mirror", "CheckpointFunction": "tidemark/functions/checkpoint", "OperatorFunction": "tidemark/functions/operator"} {
		binary := filepath.Join(filepath.Dir(name), s.properties(id)["CodeUri"].(string), "bootstrap")
		info, err := buildinfo.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		if info.Path != pkg {
			t.Errorf("%s is built from %s, want %s", id, info.Path, pkg)
		}
		got := map[string]string{}
		for _, setting := range info.Settings {
			got[setting.Key] = setting.Value
		}
		for key, want := range map[string]string{"GOOS": "linux", "GOARCH": "arm64", "CGO_ENABLED": "0", "-tags": "lambda.norpc", "-trimpath": "true"} {
			if got[key] != want {
				t.Errorf("%s is built with %s=%q, want %q", id, key, got[key], want)
			}
		}
		if stat, err := os.Stat(binary); err != nil || stat.Mode()&0o111 != 0o111 {
			t.Errorf("%s cannot be executed by everybody: %v, %v", binary, stat.Mode(), err)
		}
		stripped(t, binary)
	}
}

// stripped wants neither symbols nor debug information: nothing on Lambda reads them.
func stripped(t *testing.T, binary string) {
	t.Helper()
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, section := range file.Sections {
		if section.Name == ".symtab" || strings.HasPrefix(section.Name, ".debug") || strings.HasPrefix(section.Name, ".zdebug") {
			t.Errorf("%s has a section %s", binary, section.Name)
		}
	}
}
