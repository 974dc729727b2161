package interpose

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/aar"
)

const childGone = "child exited before responding"

// hurried is the patience of tests that wait until it is at an end.
var hurried = patience{silence: 300 * time.Millisecond, drain: 200 * time.Millisecond, term: 300 * time.Millisecond, signal: 300 * time.Millisecond, hurry: 100 * time.Millisecond, notice: 100 * time.Millisecond}

// The server sees the end of its stdin behind the last frame, and its exit code
// is passed on.
func TestTheClientsEndIsTheServersEnd(t *testing.T) {
	s := start(t, script("read 2", "end-of-input", "say bye", "exit 7"))
	s.send(ping("1"), ping("2"))
	s.hangUp()
	if got := s.rest(); got != "bye" {
		t.Errorf("the client got %q", got)
	}
	if exit, err := s.wait(); exit != (Exit{Code: 7}) || err != nil {
		t.Errorf("%+v, %v", exit, err)
	}
}

// A frame that waits for its sync when the client leaves is still forwarded.
func TestAFrameThatWaitsIsDelivered(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	s := start(t, server("tap", log))
	release := s.sink.HoldSync()
	frames := []string{call("1", "t"), call("2", "t"), ping("3"), "half a li"}
	s.send(frames...)
	s.hangUp()
	s.awaitRecord(aar.TypeIntent, 2)
	release()
	s.wait()
	logged, err := os.ReadFile(log)
	must(t, err)
	wantSame(t, "the server got", string(logged), strings.Join(frames, ""))
	s.wantEndings(childGone, childGone)
}

// A server that goes on talking after the client has left is not cut short.
func TestAServerThatTalksIsHeardOut(t *testing.T) {
	p := defaultPatience
	p.silence = 1500 * time.Millisecond
	s := start(t, script("read", "end-of-input", "pause 800", "say a\n", "pause 800", "say "+result("1")+"\n", "exit 3"), withPatience(p))
	s.send(call("1", "t"))
	s.hangUp()
	if got := s.rest(); got != "a\n"+result("1")+"\n" {
		t.Errorf("the client got %q", got)
	}
	if exit, err := s.wait(); exit != (Exit{Code: 3}) || err != nil {
		t.Errorf("%+v, %v", exit, err)
	}
	s.wantEndings(success)
}

// Calls that are open when the server ends get their outcome in call order; those
// that it never saw are told apart.
func TestTheServerEndsInMidCall(t *testing.T) {
	s := start(t, script("read 3", "say "+result("2")+"\n", "exit 5"))
	s.send(call("1", "a"), call("2", "b"), call("3", "c"))
	if exit, err := s.wait(); exit != (Exit{Code: 5, Early: true}) || err != nil {
		t.Errorf("%+v, %v", exit, err)
	}
	if got := s.rest(); got != result("2")+"\n" {
		t.Errorf("the client got %q", got)
	}
	s.wantEndings(childGone, success, childGone)
	wantOutcome(t, s.calls()[2], "c", digestOf(call("3", "c")), unanswered("call-3", "c", childGone))
}

func TestTheServerEndsAtOnce(t *testing.T) {
	for code, steps := range map[int][]string{0: {"exit 0"}, 1: {"exit 1"}, 255: {"exit 255"}} {
		s := start(t, script(steps...))
		if exit, err := s.wait(); exit != (Exit{Code: code, Early: true}) || err != nil {
			t.Errorf("exit %d: %+v, %v", code, exit, err)
		}
	}
}

// An answer that the server writes with its last breath arrives whole.
func TestAnAnswerAndTheEndInOneInstant(t *testing.T) {
	says := filepath.Join(t.TempDir(), "says")
	answer := padded(60_000, `{"jsonrpc":"2.0","id":1,"result":"`, `"}`) // fits a pipe: the server need not wait for us
	must(t, os.WriteFile(says, []byte(answer), 0o600))
	for range 8 {
		s := start(t, script("read", "complain 1000", "show "+says, "complain 60000", "exit 0"))
		s.send(call("1", "t"))
		wantSame(t, "the client got", s.rest(), answer)
		if exit, err := s.wait(); exit != (Exit{Early: true}) || err != nil {
			t.Errorf("%+v, %v", exit, err)
		}
		s.wantEndings(success)
		if got := len(s.stderr.String()); got != 61_000 {
			t.Fatalf("%d bytes of stderr arrived, of 61000", got)
		}
	}
}

// Nobody will hear of a server again that has closed its stdout.
func TestTheServerClosesItsStdoutAndLives(t *testing.T) {
	s := start(t, script("read", "close-stdout", "sleep"), withPatience(hurried))
	s.send(call("1", "t"))
	exit, err := s.wait()
	if err != nil || !exit.Early || exit.Code == 0 && exit.Signal == "" {
		t.Errorf("%+v, %v", exit, err)
	}
	s.wantEndings(childGone)
}

// A server that closed its stdin takes no more calls: each is refused, for
// nobody else will ever answer it. The session goes on.
func TestTheServerClosesItsStdin(t *testing.T) {
	enough := filepath.Join(t.TempDir(), "enough")
	s := start(t, script("read", "close-stdin", "say ready\n", "until "+enough, "say "+result("1")+"\n", "exit 0"))
	s.send(call("1", "before"))
	s.wantNext("ready")
	for _, id := range []string{"2", "3", "4"} { // the first of these finds the pipe broken
		s.send(call(id, "after"), ping("5"))
		s.wantNext(refusal(HostDenied, id))
	}
	// Nor does the record say of a call without an id, or of one that was not
	// read, that it was forwarded.
	s.send(`{"method":"tools/call","params":{"name":"after"}}`+"\n", `{"id":6,"method":"tools/call","method":"ping"}`+"\n")
	s.wantNext(refusal(HostDenied, "null"))
	s.wantNext(refusal(HostDenied, "6"))
	must(t, os.WriteFile(enough, nil, 0o600))
	s.wantNext(result("1"))
	if exit, err := s.wait(); !exit.Early || err != nil {
		t.Errorf("%+v, %v", exit, err)
	}
	const deaf = "not executed: the server takes no more input"
	s.wantEndings(success, deaf, deaf, deaf, deaf, deaf)
}

// When the client reads no more, its stream ends for the server too.
func TestTheClientReadsNoMore(t *testing.T) {
	s := start(t, server("echo"))
	s.send(ping("1"))
	s.wantNext(result("1"))
	s.stdout.Close()
	s.send(call("2", "t"))
	if exit, err := s.wait(); exit != (Exit{}) || err != nil {
		t.Errorf("%+v, %v", exit, err)
	}
	s.wantEndings(success)
}

func TestAServerThatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	must(t, os.WriteFile(plain, []byte("no program"), 0o600))
	for _, tc := range []struct {
		argv0 string
		want  error
	}{
		{filepath.Join(dir, "missing"), fs.ErrNotExist},
		{plain, fs.ErrPermission},
		{dir, nil},
		{"no-such-program-on-the-path", nil},
	} {
		s := start(t, []string{tc.argv0, "arg"})
		exit, err := s.wait()
		if exit != (Exit{}) || !errors.Is(err, ErrStart) || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s: %+v, %v", tc.argv0, exit, err)
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "could not spawn child `"+tc.argv0+"`: ") || strings.Count(err.Error(), tc.argv0) != 1) {
			t.Errorf("%s: the message is %q", tc.argv0, err)
		}
	}
}
