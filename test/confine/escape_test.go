//go:build linux

package confine

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aegis-aar/aegis/confine"
)

// scratch makes the tree a probe works on: ro and rw are granted, out is not.
func scratch(t testing.TB) string {
	t.Helper()
	// Short, as the name of a UNIX socket has 108 bytes.
	root, err := os.MkdirTemp("", "aegis-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if root, err = filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"ro", "rw", "out", "out/empty"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"ro/file", "rw/file", "out/secret"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte("text\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("secret", filepath.Join(root, "out/symlink")); err != nil {
		t.Fatal(err)
	}
	return root
}

// inside are the parts of one run of a probe.
type inside struct {
	root      string
	env       []string
	inherited *os.File
}

// abstractNames tells the abstract sockets of probes apart: they have no directory.
var abstractNames atomic.Int64

func prepareProbe(t testing.TB, p probe) inside {
	t.Helper()
	root := scratch(t)
	in := inside{root: root}
	if strings.Contains(p.name, "execute") && p.name != "memfd-execute" {
		for _, at := range []string{"out/program", "rw/program"} {
			copyFile(t, "/proc/self/exe", filepath.Join(root, at))
		}
	}
	abstract := fmt.Sprintf("aegis-%d-%d", os.Getpid(), abstractNames.Add(1))
	for _, name := range []string{"@" + abstract, filepath.Join(root, "rw/socket")} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	var err error
	if in.inherited, err = os.Open(filepath.Join(root, "out/secret")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.inherited.Close() })
	in.env = []string{
		probeName + "=" + p.name, probeRoot + "=" + root, probePeer + "=" + strconv.Itoa(os.Getpid()),
		"AEGIS_PROBE_ABSTRACT=" + abstract, "AEGIS_PROBE_LOADER=" + loaderOfSelf(), "GORACE=atexit_sleep_ms=0",
	}
	return in
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o700); err != nil {
		t.Fatal(err)
	}
}

// free runs a probe without confinement.
func free(t testing.TB, p probe) string {
	t.Helper()
	in := prepareProbe(t, p)
	var out bytes.Buffer
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), in.env...)
	cmd.Stdout = &out
	cmd.ExtraFiles = []*os.File{in.inherited}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	return outcome(cmd.ProcessState, out.String())
}

func outcome(state *os.ProcessState, out string) string {
	if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
		return unix.SignalName(status.Signal())
	}
	return strings.TrimSpace(out)
}

// held runs a probe confined.
func held(t testing.TB, p probe) (string, ended) {
	t.Helper()
	in := prepareProbe(t, p)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plan := newPlan(t, confine.Request{
		Argv: []string{self}, Read: []string{in.root + "/ro"}, Write: []string{in.root + "/rw"}, Env: in.env, ExecSupport: p.wide,
	})
	e := run(t, plan, func(cmd *exec.Cmd) { cmd.ExtraFiles = []*os.File{in.inherited} })
	if e.err != nil {
		t.Fatalf("%s: %v", p.name, e)
	}
	if e.signal != 0 {
		return unix.SignalName(syscall.Signal(e.signal)), e
	}
	return strings.TrimSpace(e.stdout), e
}

// TestEscape tries every way out that is known. A denial counts only if the same
// probe meets something else outside.
func TestEscape(t *testing.T) {
	needConfinement(t)
	for _, p := range probes() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if p.name == "loader-execute" && loaderOfSelf() == "" {
				t.Skip("the test binary is static: no loader is granted")
			}
			want := p.held
			if p.heldAsRoot != "" && os.Getuid() == 0 {
				want = p.heldAsRoot
			}
			switch k := kernel(); {
			case k.abi < p.abi:
				t.Logf("Landlock ABI %d does not deny this; %d does", k.abi, p.abi)
				want = p.free
			case k.errata&p.erratum != p.erratum:
				t.Logf("Landlock erratum %d is not fixed here: this is not denied", p.erratum)
				want = p.free
			}
			if p.free != "" && (!p.root || privileged()) {
				switch got := free(t, p); got {
				case p.free:
				case "EPERM", "EACCES", "ENOSYS":
					t.Skipf("this machine denies it outside too: %s", got)
				default:
					t.Fatalf("outside it meets %s, not %s: nothing is known of a denial", got, p.free)
				}
			}
			if got, e := held(t, p); got != want {
				t.Errorf("inside it meets %s, not %s\n%v", got, want, e)
			}
		})
	}
}

// privileged tells whether the tests have root's capabilities: root of a container
// may not.
func privileged() bool {
	const wanted = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_SYS_CHROOT | 1<<unix.CAP_MKNOD | 1<<unix.CAP_NET_RAW
	have, err := strconv.ParseUint(statusLine("CapEff"), 16, 64)
	return err == nil && have&wanted == wanted
}

// TestKilledSocket: with --confine-kill a network socket ends the process, a UNIX
// one fails as ever.
func TestKilledSocket(t *testing.T) {
	needConfinement(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"tcp": "SIGSYS", "udp": "SIGSYS", "netlink": "SIGSYS", "unix-datagram": "EACCES", "stream-pair": "ok", "io-uring-enter": "ENOSYS"} {
		e := run(t, newPlan(t, confine.Request{Argv: []string{self}, Env: []string{probeName + "=" + name}, Kill: true}), nil)
		got := strings.TrimSpace(e.stdout)
		if e.signal != 0 {
			got = unix.SignalName(syscall.Signal(e.signal))
		}
		if got != want {
			t.Errorf("%s meets %s, not %s\n%v", name, got, want, e)
		}
	}
}

// loaderOfSelf is the ELF interpreter of the test binary, "" if it has none.
func loaderOfSelf() string {
	for _, loader := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		maps, err := os.ReadFile("/proc/self/maps")
		if err == nil && strings.Contains(string(maps), "ld-linux") {
			if _, err := os.Stat(loader); err == nil {
				return loader
			}
		}
	}
	return ""
}

// TestProbesAreTold: a probe whose outside is not tried says why.
func TestProbesAreTold(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range probes() {
		if seen[p.name] {
			t.Errorf("two probes are called %s", p.name)
		}
		seen[p.name] = true
		if (p.free == "") != (p.why != "") {
			t.Errorf("%s: say what it meets outside, or why that is not tried", p.name)
		}
		if p.free == p.held && p.held != "ok" && p.held != "EISCONN" {
			t.Errorf("%s meets the same inside and outside", p.name)
		}
	}
}
