package interpose

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// An abort takes a whole frame back: what was inspected before the element that
// failed did not reach the client either, and is answered like all the others.
func TestAnAbortInABatchOfAnswersLeavesNoneOpen(t *testing.T) {
	_, with := guarded(func(c *Config) { c.Strict = true })
	s := start(t, script("read 3", "say ["+answerOf("1", "fine")+","+answerOf("2", "FAULT")+","+answerOf("3", "fine")+"]\n"), with)
	s.send(call("1", "t"), call("2", "t"), call("3", "t"))
	got := strings.Split(strings.TrimSuffix(s.rest(), "\n"), "\n")
	slices.Sort(got)
	if want := []string{`{"aborted":1}`, `{"aborted":2}`, `{"aborted":3}`}; !slices.Equal(got, want) {
		t.Errorf("the client got %q, want %q", got, want)
	}
	s.wait()
	s.wantEndings(byAbort, byAbort, byAbort)
}

// heldInspector holds the first answer until it is let go.
type heldInspector struct{ holds, release chan struct{} }

func (h *heldInspector) Inspect(Answer) Ruling {
	close(h.holds)
	<-h.release
	return Ruling{}
}

func (h *heldInspector) OverCap(Side) {}

// A call that cannot be judged ends a session while an answer is being
// inspected: either the answer comes or the abort, for each request, not both.
func TestAnAbortWhileAnAnswerIsInspected(t *testing.T) {
	h := &heldInspector{make(chan struct{}), make(chan struct{})}
	_, with := guarded(func(c *Config) { c.Inspector, c.Strict, c.Decider = h, true, failsOn("bad") })
	s := start(t, script("read", "say "+answerOf("1", "late")+"\n", "end-of-input"), with)
	s.send(call("1", "t"))
	<-h.holds
	s.send(call("2", "bad"))
	s.wantNext(`{"aborted":2}`)
	close(h.release)
	if got, want := s.rest(), `{"aborted":1}`+"\n"; got != want {
		t.Errorf("the client got %q, want %q", got, want)
	}
	s.wait()
	// Its server did the work; nobody was told.
	s.wantEndings(byAbort, "not executed")
}

// failsOn is a Decider that cannot decide about one tool and allows the others.
type failsOn string

func (f failsOn) Decide(calls []ToolCall, verdicts []Verdict) (aar.PolicySetHash, error) {
	var err error
	for i, c := range calls {
		verdicts[i].Policy.Status = aar.Allowed
		if c.Tool == string(f) {
			err = errors.New("the evaluation failed")
		}
	}
	if err != nil {
		clear(verdicts)
	}
	return aar.PassThrough, err
}

func (failsOn) Unread(wire.Message, string) bool { return true }

// A client that does not read does not hold up an abort.
func TestAnAbortOfASessionThatNobodyReads(t *testing.T) {
	_, with := guarded(unrecordedSession, func(c *Config) { c.Strict, c.Decider = true, failsOn("bad") })
	s := start(t, script("read", "show "+saysFile(t, 1<<20), "end-of-input"), with)
	s.send(call("1", "t"))
	if _, err := s.lines.Peek(1); err != nil { // the rest fills the pipe to the client
		t.Fatal(err)
	}
	s.send(call("2", "bad"))
	if _, err := s.wait(); !isAbort(err) {
		t.Errorf("the session ended with %v", err)
	}
}

// saysFile is a file with one line so long, which a server can show.
func saysFile(t testing.TB, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "says")
	must(t, os.WriteFile(path, []byte(padded(size, `{"jsonrpc":"2.0","id":1,"result":"`, `"}`)), 0o600))
	return path
}

// What the client sends behind an abort does not reach the server, which has a
// moment left to live.
func TestNothingIsForwardedBehindAnAbort(t *testing.T) {
	_, with := guarded(func(c *Config) { c.Strict, c.Decider = true, failsOn("bad") })
	s := start(t, script("ignore-signals", "say ready\n", "read", "complain 3", "end-of-input"), with)
	s.wantNext("ready")
	s.send(call("1", "bad"))
	s.wantNext(`{"aborted":1}`)
	s.send(call("2", "t"))
	if got, want := s.rest(), `{"aborted":2}`+"\n"; got != want {
		t.Errorf("the client got %q, want %q", got, want)
	}
	s.wait()
	if strings.Contains(s.stderr.String(), "!!!") {
		t.Error("the server got a call")
	}
}

// Under guard a call is answered even when the server's stream is over: by the
// refusal, or by the end.
func TestACallBehindTheEndOfTheServersStreamIsAnswered(t *testing.T) {
	for _, tc := range []struct{ name, tool, want string }{
		{"refused", "deny", `{"refused":1,"code":"POLICY_DENIED","rule":"","tool":"deny"}`},
		{"not deliverable", "t", `{"refused":1,"code":"HOST_DENIED","rule":"","tool":"t"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, with := guarded(func(c *Config) { c.Decider = denies("deny") })
			s := start(t, script("close-stdin", `say {"half":`, "close-stdout", "pause 500", "exit 0"), with)
			if b, err := s.lines.Peek(8); err != nil || string(b) != `{"half":` {
				t.Fatalf("%q, %v", b, err)
			}
			s.send(call("1", tc.tool))
			if got, want := s.rest(), `{"half":`+"\n"+tc.want+"\n"; got != want {
				t.Errorf("the client got %q, want %q", got, want)
			}
		})
	}
}

// denies is a Decider that refuses one tool.
type denies string

func (d denies) Decide(calls []ToolCall, verdicts []Verdict) (aar.PolicySetHash, error) {
	for i, c := range calls {
		verdicts[i].Policy.Status = aar.Allowed
		if c.Tool == string(d) {
			verdicts[i].Policy = aar.Policy{Status: aar.Denied, Reason: fmt.Sprint("no ", c.Tool)}
		}
	}
	return aar.PassThrough, nil
}

func (denies) Unread(wire.Message, string) bool { return true }
