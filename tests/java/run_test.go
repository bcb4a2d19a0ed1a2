//go:build java

package java

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	gosync "sync"
	"testing"
)

// build makes Maven compile the harness outside the source tree, once, and returns the class path.
var build = gosync.OnceValues(func() (classpath string, err error) {
	dir, err := os.MkdirTemp("", "java")
	if err != nil {
		return "", err
	}
	jars := filepath.Join(dir, "classpath")
	maven := exec.Command("mvn", "--quiet", "--batch-mode", "-Dtarget="+dir, "compiler:compile", "dependency:build-classpath", "-Dmdep.outputFile="+jars)
	if out, err := maven.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: "mvn", Err: &failure{err, out}}
	}
	text, err := os.ReadFile(jars)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "classes") + string(filepath.ListSeparator) + string(bytes.TrimSpace(text)), nil
})

// failure is how a command failed, and what it printed.
type failure struct {
	error
	printed []byte
}

// Error implements error.
func (f *failure) Error() string { return f.error.Error() + "\n" + string(f.printed) }

// runJava runs a class of the harness and returns what it prints.
func runJava(t *testing.T, class string, input io.Reader) string {
	t.Helper()
	classpath, err := build()
	if err != nil {
		t.Fatalf("build the harness (Java 17 and Maven): %v", err)
	}
	harness := exec.CommandContext(t.Context(), "java", "-classpath", classpath, "org.apache.kafka.connect.mirror."+class)
	var stderr bytes.Buffer
	harness.Stdin, harness.Stderr = input, &stderr
	out, err := harness.Output()
	if err != nil {
		t.Fatalf("run %s: %v\n%s", class, err, &stderr)
	}
	return string(out)
}
