package guard

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/aar/sinktest"
	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/interpose"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/wire"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childArg {
		os.Exit(servers[os.Args[2]](os.Args[3:]))
	}
	// A program with the race detector sleeps for a second when it exits.
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	flag.Set("rapid.seed", "1")
	flag.Set("rapid.checks", "60")
	goleak.VerifyTestMain(m)
}

// limit is how long anything may take before it counts as a hang.
const limit = 60 * time.Second

// childArg, as the first argument, turns the test binary into one of the servers.
const childArg = "be-the-child"

var servers = map[string]func(args []string) int{"reply": runReply, "storm": runStorm, "flood": runFlood}

// server is the command line of a server.
func server(name string, args ...string) []string {
	return append([]string{os.Args[0], childArg, name}, args...)
}

// session is guard, less its command line, at work in this process.
type session struct {
	t      testing.TB
	client *source        // what guard reads
	stdin  *io.PipeWriter // the test's end of it
	stdout *bufio.Reader  // what the client gets
	taken  *os.File       // the client's end of it
	guard  *Guard
	sinks  *report.Sinks
	json   string // the findings
	sarif  string
	disk   *sinktest.PowerLoss
	writer *aar.Writer
	stderr bytes.Buffer
	pump   *interpose.Pump

	ended chan struct{}
	exit  interpose.Exit
	err   error
}

// setup is what a session differs in.
type setup struct {
	catalog inspect.Options
	posture Posture
	surface Surface
	decider interpose.Decider
	adjust  func(*interpose.Config)
}

func start(t testing.TB, argv []string, set setup) *session {
	t.Helper()
	dir, err := os.MkdirTemp("", "guard-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &session{
		t: t, disk: &sinktest.PowerLoss{}, ended: make(chan struct{}),
		json: filepath.Join(dir, "f.jsonl"), sarif: filepath.Join(dir, "f.sarif"),
	}
	catalog, err := inspect.New(set.catalog)
	must(t, err)
	s.sinks, err = report.Open(report.Options{JSON: s.json, SARIF: s.sarif, Rules: ResultRules()})
	must(t, err)
	s.writer, err = aar.NewWriter(s.disk, sinktest.Key())
	must(t, err)
	s.guard = New(catalog, set.posture, set.surface, s.sinks)
	in, stdin := io.Pipe()
	s.client, s.stdin = &source{from: in}, stdin
	taken, answer, err := os.Pipe()
	must(t, err)
	s.taken, s.stdout = taken, bufio.NewReader(taken)
	s.pump = interpose.NewPump(&s.stderr)
	cfg := interpose.Config{
		Client: s.client, Answer: answer, Stderr: s.pump, Argv: argv,
		Recorder: s.writer, Inspector: s.guard, Voice: Voice{}, MaxInFlight: 1024,
	}
	if set.decider != nil {
		cfg.Decider = s.guard.Decider(set.decider)
	}
	if set.adjust != nil {
		set.adjust(&cfg)
	}
	go func() {
		defer close(s.ended)
		s.exit, s.err = interpose.Run(cfg)
		s.pump.Close(limit)
		s.writer.Close(aar.Close{})
		s.sinks.Close(report.Summary{Frames: s.guard.Frames()})
		answer.Close() // the process would end here
		in.Close()
	}()
	t.Cleanup(func() {
		s.stdin.Close()
		s.wait()
		s.taken.Close()
	})
	return s
}

func (s *session) send(frames ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.stdin, strings.Join(frames, "")); err != nil {
		s.t.Fatalf("send: %v", err)
	}
}

// next returns the next line that the client gets, without its LF.
func (s *session) next() string {
	s.t.Helper()
	s.taken.SetReadDeadline(time.Now().Add(limit))
	line, err := s.stdout.ReadString('\n')
	if err != nil {
		s.t.Fatalf("the client got %q and %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// rest returns the lines that the client gets until the end.
func (s *session) rest() []string {
	s.t.Helper()
	s.taken.SetReadDeadline(time.Now().Add(limit))
	b, err := io.ReadAll(s.stdout)
	if err != nil {
		s.t.Fatalf("rest: %v", err)
	}
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// wait returns how the session ended.
func (s *session) wait() error {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(limit):
		stacks := make([]byte, 1<<20)
		s.t.Fatalf("the session does not end:\n%s", stacks[:runtime.Stack(stacks, true)])
	}
	return s.err
}

// record returns what is in the file.
func (s *session) record() string {
	data, _ := s.disk.Written()
	return string(data)
}

// outputs are all that a session says, by what says it.
func (s *session) outputs() map[string]string {
	s.t.Helper()
	findings, err := os.ReadFile(s.json)
	must(s.t, err)
	sarif, err := os.ReadFile(s.sarif)
	must(s.t, err)
	return map[string]string{"the findings": string(findings), "the SARIF": string(sarif), "the record": s.record(), "stderr": s.stderr.String()}
}

// source counts what of the client's bytes the relay has dealt with.
type source struct {
	from io.Reader
	mu   sync.Mutex
	took int // bytes that were read
	done int // bytes that were read before the last read was begun
}

func (s *source) Read(b []byte) (int, error) {
	s.mu.Lock()
	s.done = s.took // all whole frames of it are where they go
	s.mu.Unlock()
	n, err := s.from.Read(b)
	s.mu.Lock()
	s.took += n
	s.mu.Unlock()
	return n, err
}

// awaitDone blocks until the relay has dealt with so many bytes.
func (s *source) awaitDone(t testing.TB, n int) {
	t.Helper()
	s.await(t, n, &s.done)
}

// awaitTaken blocks until the relay has read so many bytes.
func (s *source) awaitTaken(t testing.TB, n int) {
	t.Helper()
	s.await(t, n, &s.took)
}

func (s *source) await(t testing.TB, n int, count *int) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		now := *count
		s.mu.Unlock()
		if now >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the relay took %d bytes of %d", now, n)
		}
	}
}

// call is a tools/call of a tool, with an id given as JSON text.
func call(id, tool string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}` + "\n"
}

// ping is a request that is no call.
func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` + "\n" }

// textAnswer is an answer with one text block, without its LF.
func textAnswer(id, text string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"` + text + `"}]}}`
}

// allows is a Decider that allows every call.
type allows struct{}

func (allows) Decide(calls []interpose.ToolCall, verdicts []interpose.Verdict) (aar.PolicySetHash, error) {
	for i := range calls {
		verdicts[i].Policy.Status = aar.Allowed
	}
	return aar.PassThrough, nil
}

func (allows) Unread(wire.Message, string) bool { return true }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func isAbort(err error) bool { _, ok := errors.AsType[*interpose.StrictAbort](err); return ok }
