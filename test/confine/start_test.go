//go:build linux

package confine

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aegis-aar/aegis/confine"
)

// kernel is what this machine's kernel offers, by the system call itself: what
// /sys lists says nothing about a container's own filter.
var kernel = sync.OnceValue(func() (k struct {
	abi, errata int
	err         error
}) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		k.err = errno
		return k
	}
	k.abi = int(v)
	if e, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_ERRATA); errno == 0 {
		k.errata = int(e)
	}
	return k
})

// needConfinement skips on a kernel that cannot confine, and says why.
func needConfinement(t testing.TB) {
	t.Helper()
	switch k := kernel(); {
	case k.err != nil:
		t.Skipf("landlock_create_ruleset: %v", k.err)
	case k.abi < 3:
		t.Skipf("Landlock ABI %d: files need 3", k.abi)
	}
}

// ended is how a confined program ended.
type ended struct {
	report         *confine.Report
	err            error // of Prepare or Await
	stdout, stderr string
	code, signal   int
}

func (e ended) String() string {
	return fmt.Sprintf("code %d, signal %d, error %v\nstdout: %s\nstderr: %s", e.code, e.signal, e.err, e.stdout, e.stderr)
}

// newPlan makes a plan in the tests' own environment.
func newPlan(t testing.TB, r confine.Request) *confine.Plan {
	t.Helper()
	if r.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		r.Dir = dir
	}
	if r.Environ == nil {
		r.Environ = os.Environ()
	}
	p, err := confine.New(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run starts a plan and waits for its end. prepare may change the command before.
func run(t testing.TB, p *confine.Plan, prepare func(*exec.Cmd)) (e ended) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := &exec.Cmd{Stdout: &stdout, Stderr: &stderr}
	if prepare != nil {
		prepare(cmd)
	}
	launch, err := p.Prepare(cmd)
	if err != nil {
		return ended{err: err}
	}
	defer func() {
		if err := launch.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e.report, e.err = launch.Await()
	cmd.Wait()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	e.code = status.ExitStatus()
	if status.Signaled() {
		e.signal = int(status.Signal())
	}
	e.stdout, e.stderr = stdout.String(), stderr.String()
	return e
}

// lookPath finds a program, or skips the test.
func lookPath(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// systemPython is a Python that is no script of a version manager.
func systemPython(t testing.TB) string {
	t.Helper()
	for _, path := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Skip("python3 is not installed")
	return ""
}

// without is the environment without some names.
func without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}
