package interpose

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// inspector rules by words in the answer, and remembers what it was asked.
type inspector struct {
	mu   sync.Mutex
	seen []string
}

// blockedError replaces answers that say so.
const blockedError = `{"blocked":true}`

func (i *inspector) Inspect(a Answer) Ruling {
	i.mu.Lock()
	defer i.mu.Unlock()
	about := "unknown"
	if a.Request != nil {
		about = a.Request.Method + " " + a.Request.Tool + a.Request.Cursor
	}
	if !a.Exact {
		about += " not exact"
	}
	i.seen = append(i.seen, about)
	found := func(action string) []aar.Finding { return []aar.Finding{{Rule: "WRD-TEST", Action: action}} }
	switch text := string(a.Raw); {
	case strings.Contains(text, "BLOCK"):
		return Ruling{Instead: []byte(blockedError), Refused: true, Findings: found("blocked")}
	case strings.Contains(text, "CHANGE"):
		return Ruling{Instead: []byte(strings.ReplaceAll(text, "CHANGE", "changed")), Findings: found("modified")}
	case strings.Contains(text, "NOTE"):
		return Ruling{Findings: found("passed")}
	case strings.Contains(text, "FAULT"):
		return Ruling{Fault: errors.New("the inspection failed")}
	}
	return Ruling{}
}

func (i *inspector) OverCap(from Side) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.seen = append(i.seen, fmt.Sprintf("over the cap from %s", from))
}

func (i *inspector) wantSeen(t testing.TB, want ...string) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	if !slices.Equal(i.seen, want) {
		t.Errorf("the inspector saw\n%q, want\n%q", i.seen, want)
	}
}

// guardVoice words errors in a few letters.
type guardVoice struct{}

func (guardVoice) Name() string { return "guard" }

func (guardVoice) Refused(dst []byte, r Refusal) []byte {
	return fmt.Appendf(dst, `{"refused":%s,"code":%q,"rule":%q,"tool":%q}`, r.ID.AppendAnswer(nil), r.Code, r.Rule, r.Tool)
}

func (guardVoice) Gone(dst []byte, id wire.ID, abort *StrictAbort) []byte {
	if abort != nil {
		return fmt.Appendf(dst, `{"aborted":%s}`, id.Raw)
	}
	return fmt.Appendf(dst, `{"gone":%s}`, id.Raw)
}

// guarded adds an inspector and a voice to a session.
func guarded(adjust ...func(*Config)) (*inspector, func(*Config)) {
	i := &inspector{}
	return i, func(c *Config) {
		c.Inspector, c.Voice = i, guardVoice{}
		for _, f := range adjust {
			f(c)
		}
	}
}

func unrecordedSession(c *Config) { c.Recorder = nil }

// answerOf is an answer whose result says something.
func answerOf(id, says string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"says":"` + says + `"}}`
}

func TestARulingReplacesTheAnswer(t *testing.T) {
	for _, tc := range []struct {
		says, client, action string
		refused              bool
	}{
		{"BLOCK", blockedError, "blocked", true},
		{"CHANGE", answerOf("1", "changed"), "modified", false},
		{"NOTE", answerOf("1", "NOTE"), "passed", false},
	} {
		t.Run(tc.says, func(t *testing.T) {
			_, with := guarded()
			sent := answerOf("1", tc.says)
			s := start(t, script("read", "say "+sent+"\n"), with)
			s.send(call("1", "t"))
			s.wantNext(tc.client)
			s.finish()
			o := s.calls()[0].Outcome
			if !slices.Equal(o.Findings, []aar.Finding{{Rule: "WRD-TEST", Action: tc.action}}) {
				t.Errorf("findings %v", o.Findings)
			}
			if changed := tc.client != sent; changed != (o.ReceivedDigest != nil) || changed && *o.ReceivedDigest != aar.DigestResponse([]byte(sent)) {
				t.Errorf("received_digest %v", o.ReceivedDigest)
			}
			switch {
			case tc.refused && o.ResponseDigest != nil:
				t.Errorf("response_digest %v of an answer that was replaced", o.ResponseDigest)
			case !tc.refused && (o.ResponseDigest == nil || *o.ResponseDigest != aar.DigestResponse([]byte(tc.client))):
				t.Errorf("response_digest %v, want that of what the client got", o.ResponseDigest)
			}
			if o.Execution.Status != aar.Success {
				t.Errorf("execution %v: the server did its work", o.Execution)
			}
		})
	}
}

// Of an array of answers only the one that is ruled on changes: not a byte of
// the others, nor of the white space between them.
func TestOneAnswerOfABatchIsReplacedAlone(t *testing.T) {
	_, with := guarded()
	array := ` [ %s , {"jsonrpc":"2.0", "method":"notifications/x"} ,%s,  7 ] ` + "\r\n"
	s := start(t, script("read", "say "+fmt.Sprintf(array, answerOf("1", "BLOCK"), answerOf("2", "1.50e1"))), with)
	s.send("[" + strings.TrimSuffix(call("1", "t"), "\n") + "," + strings.TrimSuffix(call("2", "u"), "\n") + "]\n")
	if got, want := s.next(), fmt.Sprintf(array, blockedError, answerOf("2", "1.50e1")); got != want {
		t.Errorf("the client got %q, want %q", got, want)
	}
	s.finish()
	calls := s.calls()
	if calls[0].Outcome.ResponseDigest != nil || calls[1].Outcome.ResponseDigest == nil {
		t.Error("only the replaced call has no response")
	}
}

// An inspector is told what was asked, and that nothing is known where an
// answer may be one to something else.
func TestTheInspectorKnowsTheRequest(t *testing.T) {
	i, with := guarded(unrecordedSession, func(c *Config) { c.MaxInFlight = 3 })
	list := `{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{"cursor":"p2"}}` + "\n"
	says := []string{
		answerOf("1", "a"), answerOf("1", "again"), // the second is one to nothing
		answerOf(`"l"`, "page"), answerOf("99", "never asked"),
		answerOf("5", "its id came twice"),
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":6,"result":{"a":1,"a":2}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","result":{}}`,
		"a banner",
	}
	s := start(t, script("read 5", "say "+strings.Join(says, "\n")+"\n"), with)
	s.send(call("1", "t"), list, ping("5"), call("5", "t"), call("6", "u"))
	for _, want := range says {
		s.wantNext(want)
	}
	s.finish()
	// Room is for three: the sixth request let go of the first.
	i.wantSeen(t, "unknown", "unknown", `tools/list "p2"`, "unknown", "tools/call t", "tools/call u not exact", "unknown not exact", "unknown not exact")
}

func TestWhatTheServerLeavesOpenIsAnswered(t *testing.T) {
	for _, tc := range []struct {
		name string
		last []string // what the server does after it has read three requests
		want string
	}{
		{"at its exit", []string{"exit 3"}, ""},
		{"at its death", []string{"die"}, ""},
		{"at the end of its stdout", []string{"close-stdout", "end-of-input"}, ""},
		{"behind half a line", []string{`say {"half":`, "exit 0"}, `{"half":` + "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, with := guarded()
			s := start(t, script(append([]string{"read 4", "say " + result("2") + "\n"}, tc.last...)...), with)
			s.send(call("1", "t"), call("2", "t"), ping(`"p"`), cancelled("7"))
			want := result("2") + "\n" + tc.want + `{"gone":1}` + "\n" + `{"gone":"p"}` + "\n"
			if got := s.rest(); got != want {
				t.Errorf("the client got %q, want %q", got, want)
			}
			s.wait()
			s.wantEndings(childExited, success)
		})
	}
}

func TestWrapLeavesOpenWhatTheServerLeavesOpen(t *testing.T) {
	s := start(t, script("read", "exit 0"))
	s.send(call("1", "t"))
	if got := s.rest(); got != "" {
		t.Errorf("the client got %q", got)
	}
}

// A client that does not read does not hold up the end.
func TestAnUnreadClientDoesNotHoldUpLastWords(t *testing.T) {
	p := defaultPatience
	p.drain, p.hurry = p.hurry, p.hurry/2
	_, with := guarded(unrecordedSession, withPatience(p))
	s := start(t, script("read", "show "+saysFile(t, 1<<20), "exit 0"), with)
	s.send(call("1", "t"), call("2", "t"))
	if _, err := s.lines.Peek(1); err != nil { // the rest fills the pipe to the client
		t.Fatal(err)
	}
	s.signals <- os.Interrupt
	s.wait()
}

// A strict session ends with the first station that fails. What could not be
// inspected does not pass, every open request is answered once, and nothing of
// the server follows.
func TestStrictEndsWithAFailedInspection(t *testing.T) {
	_, with := guarded(func(c *Config) { c.Strict = true })
	s := start(t, script("read 3", "say "+answerOf("2", "FAULT")+"\n"+answerOf("1", "late")+"\n", "end-of-input"), with)
	s.send(call("1", "t"), call("2", "t"), ping("3"))
	if got, want := s.rest(), `{"aborted":1}`+"\n"+`{"aborted":3}`+"\n"+`{"aborted":2}`+"\n"; got != want {
		t.Errorf("the client got %q, want %q", got, want)
	}
	if _, err := s.wait(); !isAbort(err) {
		t.Errorf("the session ended with %v", err)
	}
	s.wantEndings(byAbort, byAbort)
}

func TestAFailedInspectionPassesWithoutStrict(t *testing.T) {
	_, with := guarded()
	s := start(t, script("read", "say "+answerOf("1", "FAULT")+"\n"), with)
	s.send(call("1", "t"))
	s.wantNext(answerOf("1", "FAULT"))
	s.finish()
}

// failing is a Decider that cannot decide.
type failing struct{}

func (failing) Decide(calls []ToolCall, verdicts []Verdict) (aar.PolicySetHash, error) {
	for i := range calls {
		verdicts[i] = Verdict{Policy: aar.Policy{Status: aar.Denied, Reason: "the evaluation failed"}}
	}
	return aar.PassThrough, errors.New("the evaluation failed")
}

func (failing) Unread(wire.Message, string) bool { return true }

func TestAFailedDecisionRefuses(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	_, with := guarded(func(c *Config) { c.Decider = failing{} })
	s := start(t, server("tap", log), with)
	s.send(call("1", "t"))
	s.wantNext(`{"refused":1,"code":"POLICY_DENIED","rule":"","tool":"t"}`)
	s.finish()
	s.wantLog(log, "")
}

func TestStrictEndsWithAFailedDecision(t *testing.T) {
	_, with := guarded(func(c *Config) { c.Decider, c.Strict = failing{}, true })
	s := start(t, server("echo"), with)
	s.send(ping("1"))
	s.wantNext(result("1"))
	s.send(call("2", "t"))
	if got, want := s.rest(), `{"aborted":2}`+"\n"; got != want { // echo would have answered
		t.Errorf("the client got %q, want %q", got, want)
	}
	if _, err := s.wait(); !isAbort(err) {
		t.Errorf("the session ended with %v", err)
	}
	s.wantEndings("not executed")
}

func TestFramesOverTheCapUnderGuard(t *testing.T) {
	const frameCap = 100
	long := padded(frameCap+1, `{"jsonrpc":"2.0","id":1,"result":"`, `"}`)
	longCall := padded(frameCap+1, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`, `"}}`)
	t.Run("pass when nothing is armed", func(t *testing.T) {
		log := filepath.Join(t.TempDir(), "log")
		i, with := guarded(unrecordedSession, func(c *Config) { c.MaxFrame = frameCap })
		s := start(t, server("tap", log), with)
		s.send(longCall, ping("2"))
		s.hangUp()
		s.wait()
		s.wantLog(log, longCall+ping("2"))
		i.wantSeen(t, "over the cap from client")
	})
	t.Run("are refused where there is a record", func(t *testing.T) {
		log := filepath.Join(t.TempDir(), "log")
		_, with := guarded(func(c *Config) { c.MaxFrame = frameCap })
		s := start(t, server("tap", log), with)
		s.send(longCall)
		s.wantNext(`{"refused":1,"code":"HOST_DENIED","rule":"","tool":""}`)
		s.finish()
		s.wantLog(log, "")
	})
	t.Run("of the server pass", func(t *testing.T) {
		i, with := guarded(unrecordedSession, func(c *Config) { c.MaxFrame = frameCap })
		s := start(t, script("read", "say "+long), with)
		s.send(call("1", "t"))
		s.wantNext(strings.TrimSuffix(long, "\n"))
		s.finish()
		i.wantSeen(t, "over the cap from server")
	})
	t.Run("of the server end a session that is strict about them", func(t *testing.T) {
		_, with := guarded(unrecordedSession, func(c *Config) { c.MaxFrame, c.StrictFrameCap = frameCap, true })
		s := start(t, script("read", "say "+long), with)
		s.send(call("1", "t"))
		if got := s.rest(); got != `{"aborted":1}`+"\n" {
			t.Errorf("the client got %q", got)
		}
		if _, err := s.wait(); !isAbort(err) {
			t.Errorf("the session ended with %v", err)
		}
	})
}

func isAbort(err error) bool { _, ok := errors.AsType[*StrictAbort](err); return ok }

// tracer keeps what it is shown.
type tracer struct {
	mu     sync.Mutex
	frames []string
}

func (tr *tracer) Frame(from Side, body []byte) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.frames = append(tr.frames, fmt.Sprintf("%s %s", from, body))
}

func (tr *tracer) Omitted(from Side, bytes int64) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.frames = append(tr.frames, fmt.Sprintf("%s omitted %d", from, bytes))
}

// A tracer sees what came, not what was made of it.
func TestATracerSeesWhatCame(t *testing.T) {
	tr := &tracer{}
	_, with := guarded(unrecordedSession, func(c *Config) { c.Tracer = tr })
	s := start(t, script("read", "say "+answerOf("1", "BLOCK")+"\r\n"), with)
	s.send("\n", call("1", "t"))
	s.next()
	s.finish()
	want := []string{"client " + strings.TrimSuffix(call("1", "t"), "\n"), "server " + answerOf("1", "BLOCK") + "\r"}
	if !slices.Equal(tr.frames, want) {
		t.Errorf("the tracer saw\n%q, want\n%q", tr.frames, want)
	}
}

// A server that speaks with a length gets a new one for what is changed.
func TestARulingUnderContentLength(t *testing.T) {
	_, with := guarded(unrecordedSession)
	frame := func(body string) string { return string(wire.Append(nil, wire.ContentLength, []byte(body))) }
	s := start(t, script("say "+frame(answerOf("1", "CHANGE"))+frame(answerOf("2", "same"))), with)
	s.send(frame(strings.TrimSuffix(call("1", "t"), "\n")))
	s.hangUp()
	if got, want := s.rest(), frame(answerOf("1", "changed"))+frame(answerOf("2", "same")); got != want {
		t.Errorf("the client got %q, want %q", got, want)
	}
}
