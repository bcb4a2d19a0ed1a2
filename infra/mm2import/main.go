// Command mm2import reads the properties of a dedicated MirrorMaker 2 and prints a samconfig.toml for one of its flows. Below
// that, as comments, it says of every property what becomes of it: carried over, not needed, or not supported and what to do.
//
//	go run ./infra/mm2import mm2.properties [SOURCE->TARGET] > samconfig.toml
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/magiconair/properties"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mm2import:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) < 1 || len(args) > 2 {
		return errors.New("want the file of properties and, if it enables several flows, the one to import: mm2.properties us->eu")
	}
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	all, err := loader.LoadFile(args[0])
	if err != nil {
		return fmt.Errorf("read %s: %w", args[0], err)
	}
	wanted := ""
	if len(args) == 2 {
		wanted = args[1]
	}
	report, err := translate(all.Map(), wanted)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	report.print(w)
	return w.Flush()
}
