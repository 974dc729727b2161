//go:build linux

package confine

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aegis-aar/aegis/confine"
)

// TestEndings tells an end by the kernel's filter, one for want of a grant, and an
// ordinary one apart.
func TestEndings(t *testing.T) {
	needConfinement(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := realDir(t)
	writeFile(t, dir+"/settings.json", "{}")
	sh := lookPath(t, "sh")
	foreign := "int-0x80"
	if runtime.GOARCH != "amd64" {
		foreign = ""
	}
	for _, c := range []struct {
		name  string
		skip  bool
		r     confine.Request
		cause confine.Cause
		hint  string
	}{
		{"foreign system call", foreign == "", confine.Request{Argv: []string{self}, Env: []string{probeName + "=" + foreign}},
			confine.CauseSeccomp, "another system call table"},
		{"killed socket", false, confine.Request{Argv: []string{self}, Env: []string{probeName + "=tcp"}, Kill: true},
			confine.CauseSeccomp, "without --confine-kill"},
		{"killed grandchild", false, confine.Request{Argv: []string{sh, "-c", `"$0"; exit $?`, self}, Exec: []string{self}, Env: []string{probeName + "=tcp"}, Kill: true},
			confine.CauseSeccompChild, "exit code 159"},
		{"node without its settings", !has("node"), confine.Request{Argv: []string{"node", "-e", "require('fs').readFileSync('" + dir + "/settings.json')"}},
			confine.CauseDenied, "--allow-read " + dir + "/settings.json"},
		{"node that writes", !has("node"), confine.Request{Argv: []string{"node", "-e", "require('fs').writeFileSync('" + dir + "/new', '')"}},
			confine.CauseDenied, "--allow-write " + dir + " "},
		{"node that spawns", !has("node"), confine.Request{Argv: []string{"node", "-e", "require('child_process').spawn('/bin/ls')"}},
			confine.CauseDenied, "--allow-exec /bin/ls"},
		{"node that connects", !has("node"), confine.Request{Argv: []string{"node", "-e", "require('net').connect(1, '127.0.0.1')"}},
			confine.CauseDenied, "denies the network"},
		{"python without its settings", !has("/usr/bin/python3"), confine.Request{Argv: []string{"/usr/bin/python3", "-c", "open('" + dir + "/settings.json')"}},
			confine.CauseDenied, "--allow-read " + dir + "/settings.json"},
		{"a shell that starts another", false, confine.Request{Argv: []string{sh, "-c", "exec /bin/ls"}},
			confine.CauseDenied, "--allow-exec /bin/ls"},
		{"a crash", false, confine.Request{Argv: []string{sh, "-c", "kill -SEGV $$"}}, confine.CauseNone, ""},
		{"an error of its own", false, confine.Request{Argv: []string{sh, "-c", "echo no such option >&2; exit 2"}}, confine.CauseNone, ""},
		{"a good end that complained", false, confine.Request{Argv: []string{sh, "-c", "echo Permission denied >&2"}}, confine.CauseNone, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.skip {
				t.Skip("not on this machine")
			}
			plan := newPlan(t, c.r)
			e := run(t, plan, nil)
			if e.err != nil {
				t.Fatal(e)
			}
			var tail confine.Tail
			tail.Write([]byte(e.stderr))
			got := plan.Ended(e.code, e.signal, tail.Bytes())
			if got.Cause != c.cause || !strings.Contains(got.Hint+" ", c.hint) || c.hint == "" && got.Hint != "" {
				t.Errorf("%q, hint %q\n%v", got.Cause, got.Hint, e)
			}
		})
	}
}

func has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// TestNotStarted: a program that cannot be executed is told with what it lacks.
func TestNotStarted(t *testing.T) {
	needConfinement(t)
	dir := realDir(t)
	script := filepath.Join(dir, "server")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho ran\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		r    confine.Request
		err  syscall.Errno
		hint string
	}{
		{"nothing granted", confine.Request{Argv: []string{script}, Exec: []string{confine.ExecNone}}, unix.EACCES, "--allow-read " + script},
		{"no interpreter granted", confine.Request{Argv: []string{script}, Exec: []string{confine.ExecNone}, Read: []string{script}}, unix.EACCES, "--allow-read /bin/sh"},
	} {
		e := run(t, newPlan(t, c.r), nil)
		failed, ok := errors.AsType[*confine.ExecError](e.err)
		if !ok || !errors.Is(failed, c.err) || !strings.Contains(failed.Hint, c.hint) || failed.Cause() != confine.CauseDenied || e.report.Started || e.code != 126 {
			t.Errorf("%s: %v", c.name, e)
		}
	}
	// What is not executable for another reason is not denied.
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("#!/no/such\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if failed, ok := errors.AsType[*confine.ExecError](run(t, newPlan(t, confine.Request{Argv: []string{broken}}), nil).err); !ok || failed.Cause() != confine.CauseNone || failed.Hint != "" || !errors.Is(failed, unix.ENOENT) {
		t.Errorf("a script without its interpreter: %v", failed)
	}
	// A script with the specification's wide grant.
	e := run(t, newPlan(t, confine.Request{Argv: []string{script}, Exec: []string{confine.ExecNone}, Read: []string{script}, ExecSupport: true}), nil)
	if e.err != nil || e.stdout != "ran\n" {
		t.Errorf("with --allow-exec-support: %v", e)
	}
	// A path that went away between the plan and the start.
	gone := filepath.Join(dir, "gone")
	writeFile(t, gone, "")
	plan := newPlan(t, confine.Request{Argv: []string{script}, Read: []string{gone}})
	os.Remove(gone)
	if _, ok := errors.AsType[*confine.RefusedError](run(t, plan, nil).err); !ok {
		t.Error("a granted path that is gone is not refused")
	}
	// One that has become a link since.
	if err := os.Symlink("/etc", gone); err != nil {
		t.Fatal(err)
	}
	if refused := run(t, plan, nil).err; refused == nil || !strings.Contains(refused.Error(), "too many levels of symbolic links") {
		t.Errorf("a granted path that became a link: %v", refused)
	}
}

// TestServerKeepsItsPlace: the helper is the server's process. Group, parent-death
// signal and standard streams are what the start asked for; what is ignored or
// blocked is not inherited.
func TestServerKeepsItsPlace(t *testing.T) {
	needConfinement(t)
	sh := lookPath(t, "sh")

	t.Run("process group", func(t *testing.T) {
		plan := newPlan(t, confine.Request{Argv: []string{sh, "-c", `read -r stat </proc/self/stat; echo "$$ $stat"`}})
		e := run(t, plan, func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} })
		fields := strings.Fields(e.stdout)
		if len(fields) < 6 || fields[0] != fields[5] {
			t.Errorf("pid and group: %v", e)
		}
	})
	t.Run("ignored signals", func(t *testing.T) {
		// As under nohup(1).
		signal.Ignore(syscall.SIGHUP)
		defer signal.Reset(syscall.SIGHUP)
		status := []string{sh, "-c", "while read -r name value; do case $name in SigIgn:|SigBlk:) echo $name $value;; esac; done </proc/self/status"}
		const nothing = "SigBlk: 0000000000000000\nSigIgn: 0000000000000000\n"
		if out, err := exec.Command(status[0], status[1:]...).Output(); err != nil || string(out) == nothing {
			t.Fatalf("outside nothing is ignored: %v", err)
		}
		if e := run(t, newPlan(t, confine.Request{Argv: status}), nil); e.stdout != nothing {
			t.Errorf("%v", e)
		}
	})
	t.Run("parent death", func(t *testing.T) {
		// A process in between starts the server and dies.
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "AEGIS_STARTER="+sh)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		line := make([]byte, 64)
		n, err := out.Read(line)
		if err != nil || !strings.HasPrefix(string(line[:n]), "runs") {
			t.Fatalf("%s %v", line[:n], err)
		}
		cmd.Process.Kill()
		// The server holds the other end: its death closes it.
		closed := make(chan error, 1)
		go func() { _, err := out.Read(line); closed <- err }()
		select {
		case err := <-closed:
			if err == nil {
				t.Error("it wrote more")
			}
		case <-time.After(20 * time.Second):
			t.Error("the server outlived its parent")
		}
	})
	t.Run("private temporary directory", func(t *testing.T) {
		plan := newPlan(t, confine.Request{Argv: []string{sh, "-c", `echo text >"$TMPDIR/file" && echo "$TMPDIR"`}, Tmp: true})
		e := run(t, plan, nil)
		dir := strings.TrimSpace(e.stdout)
		if e.code != 0 || dir == "" {
			t.Fatal(e)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", dir, err)
		}
	})
	t.Run("environment", func(t *testing.T) {
		plan := newPlan(t, confine.Request{
			Argv: []string{lookPath(t, "env")}, Environ: []string{"PATH=/usr/bin:/bin", "HOME=/h", "SECRET_TOKEN=s", "LC_ALL=C", "NODE_OPTIONS=x", "GIVEN=from outside"},
			Env: []string{"GIVEN", "SET=a=b", "EMPTY="},
		})
		e := run(t, plan, nil)
		if e.stdout != "HOME=/h\nLC_ALL=C\nPATH=/usr/bin:/bin\nGIVEN=from outside\nSET=a=b\nEMPTY=\n" {
			t.Errorf("%v", e)
		}
	})
}

// runStarter starts a confined shell that lives on until its parent dies.
func runStarter() {
	sh := os.Getenv("AEGIS_STARTER")
	if sh == "" {
		return
	}
	runtime.LockOSThread() // the parent is the thread that forks
	dir, _ := os.Getwd()
	plan, err := confine.New(confine.Request{Argv: []string{sh, "-c", "echo runs; while :; do read -r line || sleep 1; done"}, Dir: dir, Environ: os.Environ(), Exec: []string{"sleep"}})
	if err == nil {
		cmd := &exec.Cmd{Stdout: os.Stdout, Stderr: os.Stderr, SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}}
		cmd.StdinPipe()
		var launch *confine.Launch
		if launch, err = plan.Prepare(cmd); err == nil {
			if err = cmd.Start(); err == nil {
				if _, err = launch.Await(); err == nil {
					cmd.Wait()
				}
			}
		}
	}
	os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(1)
}

// TestNpxWithoutThePackage: npx asks the network, and a resolver that gets no socket
// has it try for a minute. Offline, as docs/confine.md has it, it says at once
// what is missing.
func TestNpxWithoutThePackage(t *testing.T) {
	needConfinement(t)
	lookPath(t, "npx")
	home := realDir(t)
	e := run(t, newPlan(t, confine.Request{
		Argv: []string{"npx", "-y", "@example/absent"}, Dir: home, Environ: append(without(os.Environ(), "HOME"), "HOME="+home),
		Env: []string{"npm_config_offline=true"},
	}), nil)
	if e.err != nil || e.code == 0 || !strings.Contains(e.stderr, "ENOTCACHED") {
		t.Error(e)
	}
}

// TestKindsOfGrants: whatever kind of file is granted, the server starts and has
// it, and no more. A file made later under a granted directory can be written.
func TestKindsOfGrants(t *testing.T) {
	needConfinement(t)
	sh := lookPath(t, "sh")
	dir := realDir(t)
	for _, d := range []string{"tree", "with space", "elsewhere"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"file", "with space/file", "elsewhere/target", "elsewhere/other", "both"} {
		writeFile(t, filepath.Join(dir, f), "text\n")
	}
	if err := os.Symlink("elsewhere/target", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	plan := newPlan(t, confine.Request{
		Dir: dir, Read: []string{"/dev/null", "file", "./with space", "link", "fifo", "both", dir + "/elsewhere/../file"}, Write: []string{"tree", "both"},
		Argv: []string{sh, "-ec", `
			read -r a <file; read -r b <"with space/file"; read -r c <link; echo "$a $b $c"
			read -r d <both; echo changed >both
			echo new >tree/new; echo more >>tree/new; read -r e <tree/new; echo "$e"
			echo x >/dev/null
			for f in elsewhere/other ./elsewhere; do (: <"$f") 2>/dev/null && echo "$f is open"; done
			(: >file) 2>/dev/null && echo "file can be written"
			exit 0`},
	})
	e := run(t, plan, nil)
	if e.err != nil || e.code != 0 || e.stdout != "text text text\nnew\n" {
		t.Errorf("%v", e)
	}
}
