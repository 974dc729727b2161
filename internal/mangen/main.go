// Command mangen writes a man page for every aegis command into a directory.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"github.com/aegis-aar/aegis/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mangen DIR")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func generate(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// The date is today's, or that of SOURCE_DATE_EPOCH.
	header := &doc.GenManHeader{Section: "1", Source: "aegis", Manual: "aegis"}
	root := cli.Root()
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, header, dir)
}
