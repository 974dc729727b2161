//go:build linux

package confine

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/test/internal/harness"
)

// fakeKernel makes the test binary one that runs on a lesser kernel: a filter
// answers for what that kernel would not have.
const fakeKernel = "AEGIS_FAKE_KERNEL"

// A lesser kernel, and what confinement has to say on it.
type lesser struct {
	name   string
	number uint32 // the system call it does not have
	first  uint32 // only with this first argument, 0 for any
	errno  unix.Errno
	// refused is in the refusal. missing are the required controls that are not enforced,
	// and level what the best effort comes to.
	refused string
	missing []string
	level   confine.Level
}

var lesserKernels = []lesser{
	{"landlock-not-built", unix.SYS_LANDLOCK_CREATE_RULESET, 0, unix.ENOSYS, "files: this kernel is built without Landlock", []string{"files", "devices", "signals"}, confine.LevelPartial},
	{"landlock-switched-off", unix.SYS_LANDLOCK_CREATE_RULESET, 0, unix.EOPNOTSUPP, "files: this kernel has Landlock switched off", []string{"files", "devices", "signals"}, confine.LevelPartial},
	{"landlock-forbidden", unix.SYS_LANDLOCK_CREATE_RULESET, 0, unix.EPERM, "files: landlock_create_ruleset: operation not permitted", []string{"files", "devices", "signals"}, confine.LevelPartial},
	{"landlock-rule-fails", unix.SYS_LANDLOCK_ADD_RULE, 0, unix.EINVAL, "files: landlock_add_rule", []string{"files", "devices", "signals"}, confine.LevelPartial},
	{"landlock-domain-full", unix.SYS_LANDLOCK_RESTRICT_SELF, 0, unix.E2BIG, "files: landlock_restrict_self: argument list too long", []string{"files", "devices", "signals"}, confine.LevelPartial},
	{"seccomp-missing", unix.SYS_SECCOMP, 0, unix.EINVAL, "network: this kernel has no seccomp filters", []string{"network", "syscalls"}, confine.LevelPartial},
	{"privileges-not-droppable", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, unix.EINVAL, "privileges: invalid argument", []string{"files", "network", "privileges"}, confine.LevelNone},
	{"descriptors-not-closable", unix.SYS_CLOSE_RANGE, 0, unix.ENOSYS, "descriptors: function not implemented", []string{"descriptors"}, confine.LevelPartial},
	{"capabilities-not-droppable", unix.SYS_CAPSET, 0, unix.EPERM, "capabilities: drop the capabilities: operation not permitted", []string{"capabilities"}, confine.LevelPartial},
}

// becomeLesser installs the filter of the kernel that the environment names.
func becomeLesser() error {
	i := slices.IndexFunc(lesserKernels, func(l lesser) bool { return l.name == os.Getenv(fakeKernel) })
	if i < 0 {
		return nil
	}
	l := lesserKernels[i]
	unlike := uint8(3)
	if l.first == 0 {
		unlike = 1
	}
	load, equal, answer := uint16(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS), uint16(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K), uint16(unix.BPF_RET|unix.BPF_K)
	f := []unix.SockFilter{{Code: load}, {Code: equal, K: l.number, Jf: unlike}}
	if l.first != 0 {
		f = append(f, unix.SockFilter{Code: load, K: 16}, unix.SockFilter{Code: equal, K: l.first, Jf: 1})
	}
	f = append(f, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(l.errno)}, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW})
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if os.Getuid() != 0 {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	return call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
}

// shipped names the aegis that a lesser kernel is to run too.
const shipped = "AEGIS_SHIPPED"

// TestCrippledKernels runs [TestOnACrippledKernel] on every lesser kernel.
func TestCrippledKernels(t *testing.T) {
	needConfinement(t)
	var aegis string
	if has("go") { // not in a test kernel
		aegis = harness.Binary(t, harness.Aegis)
	}
	for _, l := range lesserKernels {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			if l.first == unix.PR_SET_NO_NEW_PRIVS && os.Getuid() != 0 {
				t.Skip("only root can install this filter without what it denies")
			}
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestOnACrippledKernel$", "-test.v")
			cmd.Env = append(os.Environ(), fakeKernel+"="+l.name, shipped+"="+aegis)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: TestOnACrippledKernel") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestOnACrippledKernel holds confinement to refuse, naming what is missing, and
// to start only where the best effort was asked for. It runs where
// [TestCrippledKernels] starts it, and on kernels that are old by themselves.
func TestOnACrippledKernel(t *testing.T) {
	var l lesser
	if i := slices.IndexFunc(lesserKernels, func(l lesser) bool { return l.name == os.Getenv(fakeKernel) }); i >= 0 {
		l = lesserKernels[i]
	} else if k := kernel(); k.err == nil && k.abi < 3 {
		l = lesser{name: "old", refused: "files: this kernel has Landlock ABI " + itoa(k.abi) + "; below 3 truncate(2)", missing: []string{"files", "devices", "signals"}, level: confine.LevelPartial}
	} else if k.err != nil {
		l = lesser{name: "without", refused: "files: ", missing: []string{"files", "devices", "signals"}, level: confine.LevelPartial}
	} else {
		t.Skip("this kernel confines: TestCrippledKernels starts this test on lesser ones")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	request := confine.Request{Argv: []string{self}, Env: []string{probeName + "=" + ran}}
	e := run(t, newPlan(t, request), nil)
	refused, ok := errors.AsType[*confine.RefusedError](e.err)
	switch {
	case !ok:
		t.Errorf("not refused: %v", e)
	case !strings.Contains(refused.Error(), l.refused):
		t.Errorf("the refusal does not say %q: %v", l.refused, refused)
	case e.stdout != "":
		t.Errorf("the server ran: %v", e)
	case e.report.Started || e.report.Level == confine.LevelFull:
		t.Errorf("the report says started %v, level %s", e.report.Started, e.report.Level)
	}

	request.BestEffort = true
	e = run(t, newPlan(t, request), nil)
	if e.err != nil || strings.TrimSpace(e.stdout) != "ok" {
		t.Fatalf("not started at best effort: %v", e)
	}
	var missing []string
	for _, c := range e.report.Controls {
		if c.Enforced {
			continue
		}
		missing = append(missing, c.Name)
		if c.Why == "" {
			t.Errorf("%s is not enforced, and nothing says why", c.Name)
		}
	}
	for _, name := range l.missing {
		if !slices.Contains(missing, name) {
			t.Errorf("%s is reported as enforced", name)
		}
	}
	if e.report.Level != l.level || !e.report.BestEffort {
		t.Errorf("level %s, best effort %v", e.report.Level, e.report.BestEffort)
	}
	var banner strings.Builder
	e.report.Banner(&banner, "aegis wrap")
	for _, name := range missing {
		if !strings.Contains(banner.String(), name+": not enforced: ") {
			t.Errorf("the banner does not name %s:\n%s", name, banner.String())
		}
	}
	if aegis := os.Getenv(shipped); aegis != "" {
		wrapOnACrippledKernel(t, aegis, l)
	}
	if record := e.report.Record(); record.Level != string(l.level) || !record.BestEffort || len(record.Controls) != len(e.report.Controls) {
		t.Errorf("the record says %+v", record)
	}
}

// wrapOnACrippledKernel holds the command to the same: the exit code, stderr and
// the record.
func wrapOnACrippledKernel(t *testing.T, aegis string, l lesser) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := wrapBy(t, aegis, "", nil, []string{"--env", probeName + "=" + ran}, self)
	if w.code != 1 || w.stdout != "" || !strings.Contains(w.stderr, l.refused) {
		t.Errorf("wrap: %+v", w)
	}
	lines := w.lines(t)
	if end := lines[len(lines)-1]; end.Child == nil || end.Child.Stage != "start" {
		t.Errorf("wrap: the record ends with %+v", end)
	}
	w = wrapBy(t, aegis, "", nil, []string{"--best-effort", "--env", probeName + "=" + ran}, self)
	if w.stdout != "ok\n" || !strings.Contains(w.stderr, "--best-effort") {
		t.Errorf("wrap at best effort: %+v", w)
	}
	lines = w.lines(t)
	if end := lines[len(lines)-1]; end.Confinement == nil || end.Confinement.Level != string(l.level) || !end.Confinement.BestEffort {
		t.Errorf("wrap at best effort: the record ends with %+v", end.Confinement)
	}
}
