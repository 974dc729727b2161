//go:build unix

package aar_test

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/aar/sinktest"
)

// A record is its owner's alone, whatever the umask allows.
func TestModes(t *testing.T) {
	umask := unix.Umask(0)
	defer unix.Umask(umask)
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "record.aarl")
	recordSession(t, path)
	created, err := aar.CreateFile(filepath.Join(dir, "c"))
	must(t, err)
	must(t, created.Close())
	for path, want := range map[string]fs.FileMode{
		path:                    0o600,
		created.Path():          0o600,
		filepath.Dir(path):      fs.ModeDir | 0o700,
		filepath.Join(dir, "a"): fs.ModeDir | 0o700,
		filepath.Join(dir, "c"): fs.ModeDir | 0o700,
	} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode() != want {
			t.Errorf("%s has mode %s, want %s", path, info.Mode(), want)
		}
	}
}

// A FIFO must not make the start hang.
func TestOpenFileOfAFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(path, 0o600))
	if sink, err := aar.OpenFile(path); sink != nil || err == nil || err.Error() != "record "+path+": not a regular file" {
		t.Errorf("%v, %v", sink, err)
	}
}

func init() {
	children["open"] = func(args []string) int {
		if _, err := aar.OpenFile(args[0]); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	children["record"] = recordUntilKilled
}

func child(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), childVar+"="+name)
	return cmd
}

func TestOpenFileWithoutPermission(t *testing.T) {
	// Root may read everything: the child is somebody else.
	dir, err := os.MkdirTemp("", "aar")
	must(t, err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "record.aarl")
	must(t, os.WriteFile(path, nil, 0o000))
	cmd := child(t, "open", path)
	if os.Getuid() == 0 {
		must(t, os.Chmod(dir, 0o755))
		binary, err := os.ReadFile(cmd.Path) // its own place may be out of nobody's reach
		must(t, err)
		cmd.Path = filepath.Join(dir, "child")
		must(t, os.WriteFile(cmd.Path, binary, 0o755))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Dir = "/"
	}
	out, err := cmd.Output()
	if _, ok := err.(*exec.ExitError); !ok {
		t.Fatalf("the child did not run: %v", err)
	}
	if want := "record " + path + ": permission denied\n"; string(out) != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// recordUntilKilled appends Calls to the record args[0] until it is killed. It
// prints a line when the record is open, and one for each Call whose intent is
// durable, as a relay would forward it.
func recordUntilKilled(args []string) int {
	sink, err := aar.OpenFile(args[0])
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	w, err := aar.NewWriter(sink, sinktest.Key())
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("open")
	for i := 0; ; i++ {
		o := aar.Unevaluated(aar.PolicySetHash{})
		// Lines from a fraction of a page to several, so that a kill meets each.
		o.Policy.Reason = strings.Repeat("x", i*i*37%6000)
		c, err := w.Begin(fmt.Sprintf("tool-%d-%d", os.Getpid(), i), aar.RequestDigest{}, o)
		if err == nil {
			err = c.Durable()
		}
		if err != nil {
			fmt.Println("error:", err)
			return 1
		}
		fmt.Printf("forwarded tool-%d-%d\n", os.Getpid(), i)
		c.Release()
	}
}

// kill -9 at any point leaves at most one torn last line: never a record that
// is Tampered, never one that cannot be read, never a request that went out
// without its intent. The next start chains on, or says where to cut.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(9, 9))
	var forwarded []string
	var paths []string
	torn := 0
	for round := range 60 {
		if round%12 == 0 { // a file that grows for ever would take its time to verify
			paths = append(paths, filepath.Join(dir, fmt.Sprintf("record-%d.aarl", round)))
		}
		path := paths[len(paths)-1]
		cmd := child(t, "record", path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		// The child is killed once it has said a number of bytes: at any point of
		// what it does meanwhile, and not of a clock.
		said := make([]byte, 1+random.IntN(600))
		n := 0
		for n < len(said) && err == nil {
			var part int
			part, err = out.Read(said[n:])
			n += part
		}
		cmd.Process.Kill()
		rest, _ := io.ReadAll(out)
		cmd.Wait()
		all := string(said[:n]) + string(rest)
		if strings.Contains(all, "error:") {
			t.Fatalf("round %d: %s", round, all)
		}
		for line := range strings.Lines(all) {
			if name, ok := strings.CutPrefix(line, "forwarded "); ok && strings.HasSuffix(name, "\n") {
				forwarded = append(forwarded, strings.TrimSuffix(name, "\n"))
			}
		}

		file := read(t, path)
		report := verify(t, file)
		if report.Verdict != aar.Indeterminate || !report.OpenTailOnly() {
			t.Fatalf("round %d: %s", round, report.Headline())
		}
		sink, err := aar.OpenFile(path)
		if err == nil {
			must(t, sink.Close())
			continue
		}
		tail, ok := err.(*aar.TornError)
		if !ok || report.Reason.Code != aar.TornFinalLine {
			t.Fatalf("round %d: %s; %v", round, report.Headline(), err)
		}
		torn++
		must(t, os.Truncate(path, tail.Offset))
	}
	intents := map[string]bool{}
	for _, path := range paths {
		recordSession(t, path)
		wantHeadline(t, read(t, path), "Verified (unpinned)")
		for _, line := range lines(t, read(t, path)) {
			if i, ok := line.(*aar.Intent); ok {
				intents[i.ToolID] = true
			}
		}
	}
	for _, name := range forwarded {
		if !intents[name] {
			t.Errorf("%s was forwarded and has no intent", name)
		}
	}
	if len(forwarded) < 60 {
		t.Errorf("only %d requests went out in 60 rounds", len(forwarded))
	}
	t.Logf("%d requests went out; %d of 60 kills left a torn line", len(forwarded), torn)
}
