//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/policy"
)

// process is a wrap that runs on its own. The test is its client.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr chan string // its lines
}

// startWrap starts a wrap, with a stderr that is read or not.
func (w workspace) startWrap(stderrRead bool, args []string) *process {
	w.t.Helper()
	p := &process{t: w.t, cmd: exec.Command("aegis", args...), stderr: make(chan string, 1024)}
	must := func(err error) {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	var err error
	p.stdin, err = p.cmd.StdinPipe()
	must(err)
	stdout, stdoutEnd, err := os.Pipe()
	must(err)
	stderr, stderrEnd, err := os.Pipe()
	must(err)
	p.cmd.Stdout, p.cmd.Stderr, p.stdout = stdoutEnd, stderrEnd, bufio.NewReader(stdout)
	must(p.cmd.Start())
	stdoutEnd.Close()
	stderrEnd.Close()
	if stderrRead {
		go func() {
			defer close(p.stderr)
			for lines := bufio.NewScanner(stderr); lines.Scan(); {
				p.stderr <- lines.Text()
			}
		}()
	}
	killer := time.AfterFunc(2*limit, func() { p.cmd.Process.Kill() })
	w.t.Cleanup(func() {
		killer.Stop()
		p.cmd.Process.Kill()
		p.cmd.Wait()
		stdout.Close()
		stderr.Close()
	})
	return p
}

// ask sends a frame and returns the answer.
func (p *process) ask(frame string) string {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, frame+"\n"); err != nil {
		p.t.Fatal(err)
	}
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	return line
}

// allows asks for a call of a tool.
func (p *process) allows(tool string) bool {
	p.t.Helper()
	return !strings.Contains(p.ask(toolCall("1", tool)), `"code":-32042`)
}

// reload signals the process and returns what it says of its policy.
func (p *process) reload() string {
	p.t.Helper()
	p.signal()
	for line := range p.stderr {
		if strings.Contains(line, "reloaded") {
			return line
		}
	}
	p.t.Fatal("stderr ended")
	return ""
}

func (p *process) signal() {
	if err := p.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) finish() int {
	p.stdin.Close()
	return exitCodeOf(p.cmd.Wait())
}

func exitCodeOf(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}

// TestReloadOnSIGUSR1: a good policy decides the next call; a bad one of any kind
// leaves the old one in force; the one after that is as good as ever.
func TestReloadOnSIGUSR1(t *testing.T) {
	w := newWorkspace(t)
	deny := func(tool string) string {
		return "default: allow\nrules:\n- {id: no-" + tool + ", action: deny, tool: " + tool + "}\n"
	}
	w.write("policy.yaml", deny("x"))
	p := w.startWrap(true, w.wrapArgs("policy.yaml", "r.aarl", 0, w.path("log")))
	wantDenied := func(when, tool string) {
		t.Helper()
		for _, asked := range []string{"x", "z"} {
			if allowed := p.allows(asked); allowed == (asked == tool) {
				t.Errorf("%s: %s allowed: %v", when, asked, allowed)
			}
		}
	}
	wantDenied("at start", "x")

	w.write("policy.yaml", deny("z"))
	set, err := policy.Load(w.path("policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if said := p.reload(); !strings.Contains(said, set.Fingerprint()+" replaces fnv1a:") || !strings.HasSuffix(said, "policy_set_hash "+set.Hash().String()) {
		t.Errorf("stderr: %q", said)
	}
	wantDenied("after the reload", "z")

	replace := func(how func(path string) error) func() {
		return func() {
			if err := errors.Join(os.RemoveAll(w.path("policy.yaml")), how(w.path("policy.yaml"))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tc := range []struct {
		name string
		make func()
		want string
	}{
		{"a typo", func() { w.write("policy.yaml", "defualt: deny\n") }, w.path("policy.yaml") + ":1:1: policy parse error: unknown key `defualt` in the policy; did you mean `default`?"},
		{"a typo in a rule", func() { w.write("policy.yaml", deny("x")+"- {id: b, action: dney}\n") }, w.path("policy.yaml") + ":4:19: policy parse error: `action` is one of"},
		{"cut short", func() { w.write("policy.yaml", "") }, w.path("policy.yaml") + ":1:1: policy parse error: the file is empty"},
		{"2 MiB", func() { w.write("policy.yaml", strings.Repeat("# x\n", 1<<19)) }, "larger than 1 MiB"},
		{"deleted", replace(func(string) error { return nil }), "no such file or directory"},
		{"a directory", replace(func(p string) error { return os.Mkdir(p, 0o700) }), "is a directory"},
		{"a pipe", replace(func(p string) error { return syscall.Mkfifo(p, 0o600) }), "policy is no file that can be read again"},
		{"a link to itself", replace(func(p string) error { return os.Symlink("policy.yaml", p) }), "too many levels of symbolic links"},
		{"unreadable", replace(func(p string) error { return os.WriteFile(p, []byte(deny("x")), 0) }), "permission denied"},
	} {
		if tc.name == "unreadable" && os.Getuid() == 0 {
			continue // root reads all
		}
		tc.make()
		if said := p.reload(); !strings.Contains(said, "policy not reloaded, "+set.Fingerprint()+" stays in force: ") || !strings.Contains(said, tc.want) {
			t.Errorf("%s: stderr: %q", tc.name, said)
		}
		wantDenied(tc.name, "z")
	}

	replace(func(string) error { w.write("policy.yaml", deny("x")); return nil })()
	if said := p.reload(); !strings.Contains(said, "replaces "+set.Fingerprint()) {
		t.Errorf("stderr: %q", said)
	}
	wantDenied("after a good one again", "x")
	if code := p.finish(); code != 0 {
		t.Errorf("exit %d", code)
	}
	w.outcomes("r.aarl") // verifies
}

// TestNoCallSeesTwoSets: two policies take turns without pause while 10,000 frames
// with calls pass. Every outcome is of one of the two sets, has that set's
// verdict, and the calls of one batch share theirs.
func TestNoCallSeesTwoSets(t *testing.T) {
	frames := 10_000
	if raceDetector {
		frames = 1000 // a signature takes milliseconds with it
	}
	w := newWorkspace(t)
	texts := [2]string{
		"default: deny\nrules:\n- {id: even, action: allow, tool: flip}\n- {id: other, action: allow, tool: other}\n",
		"default: allow\nrules:\n- {id: odd, action: deny, tool: flip}\n",
	}
	var hashes [2]aar.PolicySetHash
	for i, text := range texts {
		set, err := policy.Parse("p", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		hashes[i] = set.Hash()
	}
	w.write("policy.yaml", texts[0])
	p := w.startWrap(true, w.wrapArgs("policy.yaml", "r.aarl", 0, w.path("log")))
	if !p.allows("flip") { // the first call is under the first set
		t.Fatal("refused")
	}

	var reloads atomic.Int64
	swap := func() {
		n := reloads.Add(1)
		w.write("next", texts[n%2])
		if err := os.Rename(w.path("next"), w.path("policy.yaml")); err != nil {
			t.Error(err)
		}
		p.reload()
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	tick := make(chan struct{}) // one for each reload, if somebody waits
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				swap()
			}
			select {
			case tick <- struct{}{}:
			default:
			}
		}
	}()
	go func() {
		for i := range frames {
			if i%(frames/10) == 0 {
				<-tick
			}
			frame := toolCall(fmt.Sprint(i), "flip")
			if i%10 == 0 {
				frame = "[" + toolCall(fmt.Sprintf(`"%d"`, i), "other") + "," + frame + "]"
			}
			io.WriteString(p.stdin, frame+"\n")
		}
	}()
	for range frames {
		if _, err := p.stdout.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-stopped
	for reloads.Load()%2 == 0 {
		swap()
	}
	if p.allows("flip") { // the last call is under the second set
		t.Error("allowed under the set that denies it")
	}
	if code := p.finish(); code != 0 {
		t.Errorf("exit %d", code)
	}

	outcomes := w.outcomes("r.aarl")
	if want := 2 + frames + frames/10; len(outcomes) != want {
		t.Fatalf("%d outcomes, want %d", len(outcomes), want)
	}
	batches := map[aar.RequestDigest]aar.PolicySetHash{}
	for _, o := range outcomes {
		if o.ToolID == "other" {
			batches[o.RequestDigest] = o.PolicySetHash
		}
	}
	seen := map[aar.PolicySetHash]int{}
	for _, o := range outcomes {
		want, rule := aar.Allowed, "even"
		switch {
		case o.PolicySetHash == hashes[0] && o.ToolID == "other":
			rule = "other"
		case o.PolicySetHash == hashes[1] && o.ToolID == "other":
			rule = ""
		case o.PolicySetHash == hashes[1]:
			want, rule = aar.Denied, "odd"
		}
		if o.Policy.Status != want || o.DecisionAxes.MatchedRule != rule {
			t.Fatalf("%s of %s is %s by %q under %s", o.CallID, o.ToolID, o.Policy.Status, o.DecisionAxes.MatchedRule, o.PolicySetHash)
		}
		if hash, ok := batches[o.RequestDigest]; ok && hash != o.PolicySetHash {
			t.Fatalf("%s saw another set than its sibling", o.CallID)
		}
		seen[o.PolicySetHash]++
	}
	if len(seen) != 2 || seen[hashes[0]] == 0 || seen[hashes[1]] == 0 {
		t.Errorf("sets in the record: %v", seen)
	}
	t.Logf("%d reloads, %d and %d calls", reloads.Load(), seen[hashes[0]], seen[hashes[1]])
}

// TestNobodyReadsStderr: a server that fills our stderr, which a client may well
// leave unread, keeps no policy from being reloaded.
func TestNobodyReadsStderr(t *testing.T) {
	w := newWorkspace(t)
	w.write("policy.yaml", "default: allow\nrules: []\n")
	p := w.startWrap(false, w.wrapArgs("policy.yaml", "r.aarl", 512<<10, w.path("log")))
	p.ask(toolCall("1", "a")) // the server has flooded
	for _, tool := range []string{"a", "b", "c"} {
		w.write("policy.yaml", "default: allow\nrules:\n- {id: r, action: deny, tool: "+tool+"}\n")
		p.signal()
		for deadline := time.Now().Add(limit); p.allows(tool); {
			if time.Now().After(deadline) {
				t.Fatalf("the policy that denies %s was never put in force", tool)
			}
		}
	}
}

// TestAnEndThatNobodyReads: nor does it keep aegis from ending.
func TestAnEndThatNobodyReads(t *testing.T) {
	w := newWorkspace(t)
	w.write("policy.yaml", "default: allow\nrules: []\n")
	p := w.startWrap(false, w.wrapArgs("policy.yaml", "r.aarl", 512<<10, ""))
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	select {
	case err := <-ended:
		if code := exitCodeOf(err); code != 3 {
			t.Errorf("exit %d, not the server's 3", code)
		}
	case <-time.After(limit):
		t.Fatal("wrap waits for a reader of its stderr")
	}
	if got := w.read("r.aarl"); !bytes.Contains([]byte(got), []byte(`"child":{"exit_code":3,"stage":"run"}`)) {
		t.Errorf("%q", got)
	}
}
