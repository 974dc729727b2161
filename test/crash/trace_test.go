//go:build linux

package crash

import (
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// systemCall is one system call of a trace. began and ended are places in the order
// in which the kernel reported; ended is after everything if it never returned.
type systemCall struct {
	name         string
	fd           int
	data         string
	began, ended int
	result       int
}

var (
	traceLine = regexp.MustCompile(`^(\d+)\s+(.*)$`)
	callBegin = regexp.MustCompile(`^(fdatasync|write|writev)\((\d+)(?:, (.*))?`)
	callEnd   = regexp.MustCompile(`\)\s+= (-?\d+)`)
	resumed   = regexp.MustCompile(`^<\.\.\. \w+ resumed>`)
	hexString = regexp.MustCompile(`"((?:\\x[0-9a-f]{2})*)"`)
)

// readTrace reads what `strace -f -xx` wrote.
func readTrace(t *testing.T, path string) []*systemCall {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var calls []*systemCall
	open := map[string]*systemCall{} // by thread
	for at, line := range lines {
		m := traceLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("trace line %d: %.200s", at+1, line)
		}
		thread, rest := m[1], m[2]
		call := open[thread]
		if !resumed.MatchString(rest) {
			m := callBegin.FindStringSubmatch(rest)
			if m == nil {
				continue // a signal, an exit
			}
			call = &systemCall{name: m[1], data: traceData(t, m[3]), began: at, ended: len(lines), result: -1}
			call.fd, _ = strconv.Atoi(m[2])
			calls = append(calls, call)
			open[thread] = call
		}
		if m := callEnd.FindStringSubmatch(rest); m != nil && call != nil {
			call.ended = at
			call.result, _ = strconv.Atoi(m[1])
			delete(open, thread)
		}
	}
	return calls
}

// traceData joins the strings among the arguments of a call.
func traceData(t *testing.T, args string) string {
	t.Helper()
	var b strings.Builder
	for _, m := range hexString.FindAllStringSubmatch(args, -1) {
		part, err := hex.DecodeString(strings.ReplaceAll(m[1], `\x`, ""))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(part)
	}
	return b.String()
}

func (c *systemCall) String() string {
	return fmt.Sprintf("%s(%d, %.60q) at %d to %d = %d", c.name, c.fd, c.data, c.began, c.ended, c.result)
}
