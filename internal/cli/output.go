package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/aegis-aar/aegis/internal/report"
)

// output is stdout. It remembers that a write failed: an answer that did not
// arrive must not end like one that did.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// isTerminal tells whether somebody may be watching.
func isTerminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.to
	}
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

// A listError is told in several lines: its head, then one for each fault.
type listError struct {
	head   string
	faults []string
}

func (e *listError) Error() string {
	return strings.Join(append([]string{e.head}, e.faults...), "\n  ")
}

// faultsOf are the lines of an error that lists faults.
func faultsOf(err error) []string { return strings.Split(err.Error(), "\n") }

// printError tells an error. Whatever is in it, the names of files above all,
// stays in its line and moves no cursor.
func printError(w io.Writer, err error) {
	list, ok := errors.AsType[*listError](err)
	if !ok {
		list = &listError{head: err.Error()}
	}
	fmt.Fprintf(w, "error: %s\n", report.SafeText(list.head))
	for _, fault := range list.faults {
		fmt.Fprintf(w, "  %s\n", report.SafeText(fault))
	}
}
