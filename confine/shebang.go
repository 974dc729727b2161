package confine

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
)

// interpreterBytes is how much of a script Linux looks at (BINPRM_BUF_SIZE).
const interpreterBytes = 256

// interpreterLine is the text behind `#!` in a file's first line, "" if there is
// none.
func interpreterLine(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var head [interpreterBytes]byte
	n, err := io.ReadFull(f, head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", err
	}
	return parseInterpreter(head[:n]), nil
}

// parseInterpreter reads the first bytes of a file as the kernel does
// (fs/binfmt_script.c): a NUL ends the line too, blanks around it do not count.
func parseInterpreter(head []byte) string {
	line, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return ""
	}
	if i := bytes.IndexAny(line, "\n\x00"); i >= 0 {
		line = line[:i]
	}
	return strings.Trim(string(line), " \t")
}

// splitInterpreter divides it into the interpreter and its argument: all the
// rest of the line is one argument.
func splitInterpreter(line string) (interpreter, argument string) {
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return line, ""
	}
	return line[:i], strings.Trim(line[i:], " \t")
}

// envCommand is the program that env(1) executes for a `#!` line with this
// argument, and its arguments: the argument's own words, if it begins with -S,
// then script and what follows. "" if it names none, or if env was given an
// option that is not understood.
func envCommand(argument string, script []string) (name string, args []string) {
	words := []string{argument}
	if split, ok := strings.CutPrefix(argument, "-S"); ok {
		words = strings.Fields(split)
	} else if split, ok := strings.CutPrefix(argument, "--split-string"); ok {
		words = strings.Fields(strings.TrimPrefix(split, "="))
	}
	for len(words) > 0 && (words[0] == "-i" || words[0] == "-" || words[0] == "--" || strings.Contains(words[0], "=")) {
		words = words[1:]
	}
	if len(words) == 0 || words[0] == "" || words[0][0] == '-' {
		return "", nil
	}
	return words[0], append(words[1:], script...)
}
