package confine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Request is what is asked for: the flags of the command line and what they are
// read against.
type Request struct {
	// Argv is the server's command; Argv[0] is looked up in the PATH that the
	// server itself will have.
	Argv []string
	// Dir is the working directory of the server, absolute. Relative paths are
	// read against it.
	Dir string
	// Environ is the environment to take the server's from, `NAME=VALUE` each.
	Environ []string

	Read  []string // trees or files to read
	Write []string // trees or files to read, change, make and remove
	// Exec is [ExecAuto], [ExecNone] or paths of programs, each of which is
	// granted with its own start-up closure. Empty means ExecAuto, and paths
	// are added to it. ExecNone stands alone.
	Exec        []string
	ExecSupport bool // the system's program and library trees as a whole
	Tmp         bool // a private temporary directory
	// Env adds to the server's environment: `NAME`, taken from Environ, or
	// `NAME=VALUE`.
	Env        []string
	Net        []string // `HOST:PORT`; not enforceable yet, so refused
	BestEffort bool     // start even if a control cannot be enforced
	Kill       bool     // a network socket kills the process instead of failing
}

// The words that Request.Exec knows beside paths.
const (
	ExecAuto = "auto" // what the server's program needs to start, computed
	ExecNone = "none" // nothing but the trees that are granted
)

// A UsageError says that a Request asks for something no machine could give.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

func usagef(format string, a ...any) error { return &UsageError{fmt.Sprintf(format, a...)} }

// ErrNet is the answer to Request.Net: a host cannot be granted yet, and a port
// on any host is not what was asked for.
var ErrNet = errors.New("--allow-net is not available yet: single hosts cannot be enforced, and nothing weaker is put in their place; leave it out to run with the network denied, or run without --confine")

// check finds what is wrong with a Request before the file system is asked.
func (r *Request) check() error {
	switch {
	case len(r.Net) > 0:
		return ErrNet
	case len(r.Argv) == 0 || r.Argv[0] == "":
		return usagef("confinement needs a command")
	case slices.Contains(r.Exec, ExecNone) && len(r.Exec) > 1:
		return usagef("--allow-exec none stands alone: it cannot be combined with auto or a path")
	}
	for flag, paths := range map[string][]string{"--allow-read": r.Read, "--allow-write": r.Write, "--allow-exec": r.Exec} {
		for _, path := range paths {
			switch {
			case path == "":
				return usagef("%s needs a PATH", flag)
			case strings.ContainsRune(path, 0):
				return usagef("%s: a path cannot hold a NUL", flag)
			}
		}
	}
	return nil
}
