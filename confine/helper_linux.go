//go:build linux && (amd64 || arm64)

package confine

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

// helperFailed is the helper's exit code when it did not become the server:
// a shell's for a command that was found and could not be executed.
const helperFailed = 126

// RunHelper is to be called first in main, with os.Args. If the process was
// started as the helper it confines itself and becomes the server, or exits; else
// RunHelper returns and has done nothing.
func RunHelper(args []string) {
	if len(args) < 4 || args[1] != HelperCommand || args[2] != "--" {
		return
	}
	// Landlock, seccomp, capabilities and no_new_privs are properties of a
	// thread, and execve(2) keeps those of the thread that calls it.
	runtime.LockOSThread()
	encoded := os.Getenv(profileName)
	os.Unsetenv(profileName)
	p, err := decodeProfile(encoded)
	if err != nil {
		fmt.Fprintf(os.Stderr, "aegis %s: invalid %s: %v\n", HelperCommand, profileName, err)
		os.Exit(helperFailed)
	}
	p.become(args[3:])
	os.Exit(helperFailed)
}

// become restricts this thread and executes the server. It returns if the server
// was not started, which has been told on the report pipe then.
func (p *profile) become(argv []string) {
	var f facts
	f.Privileges = fault(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	// The report pipe among them: that it closes tells that execve succeeded.
	f.Descriptors = fault(unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC))
	unix.CloseOnExec(p.ReportFD) // where close_range is missing
	f.Capability = fault(dropCapabilities())
	f.Signals = fault(resetSignals())
	f.Landlock = p.restrictFiles()
	f.Seccomp = fault(installFilter(p.filter()))
	p.tell(message{Facts: &f})
	if why := f.refusal(); len(why) > 0 && !p.BestEffort {
		p.tell(message{Refused: why})
		return
	}
	err := syscall.Exec(p.Program, argv, os.Environ())
	errno, _ := err.(syscall.Errno)
	p.tell(message{Failed: &execFailure{Path: p.Program, Errno: int(errno)}})
}

// tell writes one line to the report pipe. Without its reader there is nobody to
// start the server for.
func (p *profile) tell(m message) {
	line, err := json.Marshal(&m)
	for line = append(line, '\n'); err == nil && len(line) > 0; {
		var n int
		if n, err = unix.Write(p.ReportFD, line); err == unix.EINTR {
			n, err = 0, nil
		}
		line = line[max(n, 0):]
	}
	if err != nil {
		os.Exit(helperFailed)
	}
}

// fault is an error as the report spells it.
func fault(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
