package guard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m, harness.AsTests) }

// limit is how long anything may take before it counts as a hang.
const limit = 60 * time.Second

// answers are what the server says, by tool or by method.
type answers map[string]string

// session is a guard at work. The test is its client.
type session struct {
	t      testing.TB
	dir    string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// serverScript is what the replay server is told.
type serverScript struct {
	Framing  string  `json:"framing,omitempty"`
	Chunk    int     `json:"chunk,omitempty"`
	Answers  answers `json:"answers"`
	Greeting string  `json:"greeting,omitempty"`
	Stderr   string  `json:"stderr,omitempty"`
}

// start runs guard with flags in front of a server with these answers. Flags are
// paths of the session's directory where they begin with "@".
func start(t testing.TB, a answers, flags ...string) *session {
	t.Helper()
	return startScript(t, t.TempDir(), serverScript{Answers: a}, flags...)
}

func startScript(t testing.TB, dir string, script serverScript, flags ...string) *session {
	t.Helper()
	text, err := json.Marshal(script)
	must(t, err)
	path := filepath.Join(dir, "script.json")
	must(t, os.WriteFile(path, text, 0o600))
	args := []string{"guard"}
	for _, f := range flags {
		if strings.HasPrefix(f, "@") {
			f = filepath.Join(dir, f[1:])
		}
		args = append(args, f)
	}
	s := &session{t: t, dir: dir}
	s.cmd = exec.Command(harness.Binary(t, harness.Aegis), append(args, "--", harness.Binary(t, harness.Replay), path)...)
	s.cmd.Stderr = &s.stderr
	s.stdin, err = s.cmd.StdinPipe()
	must(t, err)
	stdout, err := s.cmd.StdoutPipe()
	must(t, err)
	s.stdout = bufio.NewReaderSize(stdout, 1<<20)
	must(t, s.cmd.Start())
	killer := time.AfterFunc(limit, func() { s.cmd.Process.Kill() })
	t.Cleanup(func() {
		killer.Stop()
		s.cmd.Process.Kill()
		s.cmd.Wait()
		harness.NoRace(t, s.stderr.String())
	})
	return s
}

// call is a tools/call, without its LF.
func call(id, tool string) string { return callWith(id, tool, "{}") }

func callWith(id, tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

// textResult is an answer with one text block, its text given as JSON.
func textResult(text string) string {
	return `{"jsonrpc":"2.0","id":%ID%,"result":{"content":[{"type":"text","text":` + text + `}]}}`
}

// withID is an answer as the client gets it.
func withID(answer, id string) string { return strings.ReplaceAll(answer, "%ID%", id) }

func (s *session) send(frames ...string) {
	s.t.Helper()
	_, err := io.WriteString(s.stdin, strings.Join(frames, "\n")+"\n")
	must(s.t, err)
}

// next returns the next line that the client gets, without its LF.
func (s *session) next() string {
	s.t.Helper()
	line, err := s.stdout.ReadString('\n')
	if err != nil {
		s.t.Fatalf("the client got %q and %v; stderr: %s", line, err, s.stderr.String())
	}
	return strings.TrimSuffix(line, "\n")
}

// ask sends a frame and returns the answer.
func (s *session) ask(frame string) string {
	s.t.Helper()
	s.send(frame)
	return s.next()
}

// wantAnswer asks and checks the bytes of the answer.
func (s *session) wantAnswer(frame, want string) {
	s.t.Helper()
	if got := s.ask(frame); got != want {
		s.t.Errorf("%.120s\nis answered with\n%.300q, want\n%.300q", frame, got, want)
	}
}

// finish hangs up, and returns what the client still gets and the exit code.
func (s *session) finish() (rest string, code int) {
	s.t.Helper()
	s.stdin.Close()
	b, err := io.ReadAll(s.stdout)
	must(s.t, err)
	err = s.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(b), exit.ExitCode()
	}
	must(s.t, err)
	return string(b), 0
}

// blocked is the error that guard answers with.
type blocked struct {
	ID    json.RawMessage `json:"id"`
	Error struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Warden bool   `json:"warden"`
			Stage  string `json:"stage"`
			Rule   string `json:"rule"`
			Tool   string `json:"tool"`
			Reason string `json:"reason"`
		} `json:"data"`
	} `json:"error"`
}

// wantBlocked checks that a frame is an error of guard, and returns it.
func wantBlocked(t testing.TB, frame string, code int, stage, rule string) blocked {
	t.Helper()
	var b blocked
	if err := json.Unmarshal([]byte(frame), &b); err != nil || b.Error.Code != code || !b.Error.Data.Warden || b.Error.Data.Stage != stage || b.Error.Data.Rule != rule {
		t.Errorf("the client got %.300s, want error %d of stage %s by %s", frame, code, stage, rule)
	}
	return b
}

func readBlocked(frame string) (b blocked) {
	_ = json.Unmarshal([]byte(frame), &b) // what is no error of guard has no code
	return b
}

// findings are the lines of a --json file.
func (s *session) findings(name string) (all []finding) {
	s.t.Helper()
	for line := range bytes.Lines(s.file(name)) {
		var f finding
		must(s.t, json.Unmarshal(line, &f))
		if f.Kind != "run-summary" {
			all = append(all, f)
		}
	}
	return all
}

type finding struct {
	Kind     string          `json:"kind"`
	RuleID   string          `json:"rule_id"`
	SubRule  string          `json:"sub_rule"`
	Action   string          `json:"action"`
	Tier     string          `json:"tier"`
	Tool     string          `json:"tool"`
	RPCID    json.RawMessage `json:"rpc_id"`
	Severity string          `json:"severity"`
}

func (s *session) file(name string) []byte {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	must(s.t, err)
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tempDir is a directory of its own, for a test that makes many.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "guard-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func writeFile(path string, text []byte) error { return os.WriteFile(path, text, 0o600) }
