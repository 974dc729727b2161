package interpose

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/aar/sinktest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childArg {
		os.Exit(servers[os.Args[2]](os.Args[3:]))
	}
	// A program with the race detector sleeps for a second when it exits.
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	flag.Set("rapid.seed", "1")
	flag.Set("rapid.checks", "25")
	goleak.VerifyTestMain(m)
}

// limit is how long anything may take before it counts as a hang.
const limit = 30 * time.Second

// session is one run of the relay. The test is its client and holds the other
// ends of its pipes.
type session struct {
	t      testing.TB
	stdin  *os.File // what the client writes
	stdout *os.File // what the client reads
	lines  *bufio.Reader

	stderr  *buffer
	signals chan os.Signal
	disk    *sinktest.PowerLoss
	sink    *sinktest.Faulty // around disk
	writer  *aar.Writer
	// damaged is set by tests after which the record does not verify.
	damaged bool

	ended     chan struct{}
	exit      Exit
	err       error
	unsettled int // calls without an outcome when Run returned
}

// start runs argv behind the relay. When the test is over, the session must end
// by itself once the client is gone, and leave a record that verifies.
func start(t testing.TB, argv []string, adjust ...func(*Config)) *session {
	t.Helper()
	s := &session{
		t:       t,
		stderr:  newBuffer(),
		signals: make(chan os.Signal, 2),
		disk:    &sinktest.PowerLoss{},
		ended:   make(chan struct{}),
	}
	s.sink = sinktest.NewFaulty(s.disk)
	var err error
	s.writer, err = aar.NewWriter(s.sink, sinktest.Key())
	must(t, err)
	clientEnd, stdin, err := os.Pipe()
	must(t, err)
	stdout, answerEnd, err := os.Pipe()
	must(t, err)
	s.stdin, s.stdout, s.lines = stdin, stdout, bufio.NewReader(stdout)
	cfg := Config{
		Client:   clientEnd,
		Answer:   answerEnd,
		Argv:     argv,
		Signals:  s.signals,
		Recorder: s.writer,
	}
	for _, f := range adjust {
		f(&cfg)
	}
	if cfg.Stderr == nil {
		cfg.Stderr = NewPump(s.stderr)
	}
	go func() {
		defer close(s.ended)
		s.exit, s.err = Run(cfg)
		cfg.Stderr.Close(100 * time.Millisecond)
		s.unsettled = strings.Count(string(s.record()), `"line_type":"intent"`) - strings.Count(string(s.record()), `"line_type":"outcome"`)
		// The process would end here.
		answerEnd.Close()
		clientEnd.Close()
		s.writer.Close(aar.Close{})
	}()
	t.Cleanup(func() {
		s.hangUp()
		s.stdout.Close()
		s.wait()
		if s.damaged {
			return
		}
		if s.unsettled > 0 {
			t.Errorf("%d calls had no outcome at the end", s.unsettled)
		}
		if report := s.verify(); report.Verdict != aar.Verified {
			t.Errorf("the record: %s", report.Headline())
		}
	})
	return s
}

func withPatience(p patience) func(*Config) { return func(c *Config) { c.patience = p } }

// send writes to the relay as the client, all frames in one write.
func (s *session) send(frames ...string) {
	s.t.Helper()
	s.stdin.SetWriteDeadline(time.Now().Add(limit))
	if _, err := s.stdin.WriteString(strings.Join(frames, "")); err != nil {
		s.t.Fatalf("send: %v", err)
	}
}

// next returns the next line that the client gets, with its LF.
func (s *session) next() string {
	s.t.Helper()
	s.stdout.SetReadDeadline(time.Now().Add(limit))
	line, err := s.lines.ReadString('\n')
	if err != nil {
		s.t.Fatalf("next: %v after %.200q; stderr: %s", err, line, s.stderr)
	}
	return line
}

// wantNext checks the next line that the client gets, given without its LF.
func (s *session) wantNext(want string) {
	s.t.Helper()
	if got := s.next(); got != want+"\n" {
		s.t.Fatalf("the client got\n%.300q, want\n%.300q", got, want+"\n")
	}
}

// rest returns what the client gets until the end.
func (s *session) rest() string {
	s.t.Helper()
	s.stdout.SetReadDeadline(time.Now().Add(limit))
	b, err := io.ReadAll(s.lines)
	if err != nil {
		s.t.Fatalf("rest: %v", err)
	}
	return string(b)
}

// hangUp ends the client's stream.
func (s *session) hangUp() { s.stdin.Close() }

// wait returns how the session ended.
func (s *session) wait() (Exit, error) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(limit):
		stacks := make([]byte, 1<<20)
		s.t.Fatalf("the session does not end:\n%s", stacks[:runtime.Stack(stacks, true)])
	}
	return s.exit, s.err
}

// finish hangs up and expects an orderly end.
func (s *session) finish() {
	s.t.Helper()
	s.hangUp()
	if exit, err := s.wait(); exit != (Exit{}) || err != nil {
		s.t.Fatalf("the session ended with %+v, %v; stderr: %s", exit, err, s.stderr)
	}
}

// awaitRecord waits until the sink has seen n lines of a type.
func (s *session) awaitRecord(t aar.LineType, n int) {
	s.t.Helper()
	s.await(fmt.Sprintf("%d %s lines", n, t), func(events []sinktest.Event) bool {
		seen := 0
		for _, e := range events {
			if e.Op == sinktest.Append {
				seen += strings.Count(e.Text, `"line_type":"`+string(t)+`"`)
			}
		}
		return seen >= n
	})
}

// awaitSync waits until the sink has been asked for n syncs; the open line's
// is the first.
func (s *session) awaitSync(n int) {
	s.t.Helper()
	s.await(fmt.Sprintf("%d syncs", n), func(events []sinktest.Event) bool {
		seen := 0
		for _, e := range events {
			if e.Op == sinktest.SyncStart {
				seen++
			}
		}
		return seen >= n
	})
}

func (s *session) await(what string, done func([]sinktest.Event) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := s.sink.Await(ctx, done); err != nil {
		s.t.Fatalf("waited in vain for %s: %v", what, err)
	}
}

// record returns what is in the file.
func (s *session) record() []byte {
	data, _ := s.disk.Written()
	return data
}

func (s *session) verify() *aar.Report {
	report, err := aar.Verify(context.Background(), bytes.NewReader(s.record()), aar.VerifyOptions{})
	if err != nil {
		s.t.Errorf("verify: %v", err)
		return &aar.Report{}
	}
	return report
}

// calls returns the intents on record, in order, each with its outcome.
func (s *session) calls() (calls []recorded) {
	s.t.Helper()
	for row := range bytes.Lines(s.record()) {
		line, err := aar.ParseLine(row)
		must(s.t, err)
		switch line := line.(type) {
		case *aar.Intent:
			calls = append(calls, recorded{Intent: line})
		case *aar.Outcome:
			i := slices.IndexFunc(calls, func(c recorded) bool { return c.Intent.CallID == line.CallID })
			if i < 0 || calls[i].Outcome != nil {
				s.t.Fatalf("%s has an outcome and no open intent", line.CallID)
			}
			calls[i].Outcome = line
		}
	}
	return calls
}

// endings returns how each call on record ended, in call order.
func (s *session) endings() (endings []string) {
	s.t.Helper()
	for _, c := range s.calls() {
		endings = append(endings, c.ending())
	}
	return endings
}

// wantEndings checks how each call on record ended, in call order.
func (s *session) wantEndings(want ...string) {
	s.t.Helper()
	if got := s.endings(); !slices.Equal(got, want) {
		s.t.Errorf("the calls ended as\n%q, want\n%q", got, want)
	}
}

// recorded is one call on record.
type recorded struct {
	Intent  *aar.Intent
	Outcome *aar.Outcome
}

// ending is the execution of the outcome in a few words.
func (c recorded) ending() string {
	switch {
	case c.Outcome == nil:
		return "none"
	case c.Outcome.Execution.Status == aar.HostDenied:
		return c.Outcome.Execution.Reason
	}
	return string(c.Outcome.Execution.Status)
}

const success = string(aar.Success)

// buffer is a stderr that can be waited for.
type buffer struct {
	mu      sync.Mutex
	changed *sync.Cond
	b       bytes.Buffer
}

func newBuffer() *buffer {
	b := &buffer{}
	b.changed = sync.NewCond(&b.mu)
	return b
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed.Broadcast()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// await blocks until text was written.
func (b *buffer) await(t testing.TB, text string) {
	t.Helper()
	late := false
	timer := time.AfterFunc(limit, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		late = true
		b.changed.Broadcast()
	})
	defer timer.Stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !strings.Contains(b.b.String(), text) {
		if late {
			t.Fatalf("waited in vain for %q on stderr, which is %q", text, b.b.String())
		}
		b.changed.Wait()
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// call is a tools/call of a tool, with an id given as JSON text.
func call(id, tool string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}` + "\n"
}

// ping is a request that is no call.
func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` + "\n" }

// result is an answer, without its LF.
func result(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }

// refusal is the one message that the relay authors, without its LF.
func refusal(code Code, id string) string {
	return `{"error":{"code":-32042,"data":{"aegis":{"code":"` + string(code) + `","layer":"wrap"}},"message":"aegis wrap refused this tools/call"},"id":` + id + `,"jsonrpc":"2.0"}`
}

func cancelled(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}` + "\n"
}
