package cli

import (
	"io"
	"os"
)

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// headings marks up headings: bold on a terminal, unless NO_COLOR is set
// (no-color.org) or the terminal is dumb.
func headings(w io.Writer) func(string) string {
	if !isTerminal(w) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return func(s string) string { return s }
	}
	return func(s string) string { return "\x1b[1m" + s + "\x1b[0m" }
}
