package guard

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// 1,024 requests are kept account of. One more lets go of the oldest: its answer
// is inspected all the same, and at the end nobody answers it.
func TestTheOldestRequestIsLetGo(t *testing.T) {
	s := start(t, answers{
		"first": "!keep\n" + textResult(`"`+token+`"`), "silent": "!silent",
		"release": textResult(`"x"`), "die": "!die",
	})
	frames := []string{call("0", "first")}
	for i := range 1024 {
		frames = append(frames, call(fmt.Sprint(i+1), "silent"))
	}
	s.send(frames...)
	s.wantAnswer(call(`"r"`, "release"), withID(textResult(`"x"`), `"r"`))
	if b := wantBlocked(t, s.next(), -32001, "response", "WRD-RES-SECRET-ECHO"); string(b.ID) != "0" || b.Error.Data.Tool != "" {
		t.Errorf("the answer to a call that was let go of: %+v", b)
	}
	s.send(call(`"d"`, "die"))
	rest, _ := s.finish()
	lines := strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
	// Each of 1,025 silent ones but the oldest, which "r" made room for, and "d".
	if len(lines) != 1024 {
		t.Fatalf("%d answers at the end, want 1024", len(lines))
	}
	for i, line := range lines {
		want := fmt.Sprint(i + 2)
		if i == 1023 {
			want = `"d"`
		}
		if b := wantBlocked(t, line, -32002, "lifecycle", ""); string(b.ID) != want {
			t.Fatalf("answer %d is one to %s, want %s", i, b.ID, want)
		}
	}
}

// Every kind of request is answered when the server goes, also those in arrays;
// what asks nothing is not.
func TestTheEndAnswersEveryKindOfRequest(t *testing.T) {
	s := start(t, answers{"silent": "!silent", "b": "!silent", "x/silent": "!silent", "die": "!die"})
	s.send(`{"jsonrpc":"2.0","id":1,"method":"x/silent"}`, call("2", "silent"), `{"jsonrpc":"2.0","method":"notifications/x"}`,
		"["+call(`"a"`, "silent")+`,{"jsonrpc":"2.0","id":"b","method":"x/silent"},{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":5,"result":{}}]`,
		`{"jsonrpc":"2.0","id":6,"result":{}}`, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","name":"b"}}`, call("8", "die"))
	rest, code := s.finish()
	var ids []string
	for line := range strings.Lines(rest) {
		ids = append(ids, string(wantBlocked(t, line, -32002, "lifecycle", "").ID))
	}
	if got, want := strings.Join(ids, " "), `1 2 "a" "b" 7 8`; got != want || code != 128+9 {
		t.Errorf("answered are %s, want %s; exit %d", got, want, code)
	}
}

func TestStrictFrameCap(t *testing.T) {
	s := start(t, answers{"long": textResult(`"` + strings.Repeat("x", 2000) + `"`), "silent": "!silent"}, "--strict-frame-cap", "--max-frame-bytes", "1000")
	s.send(call("1", "silent"), call("2", "long"))
	rest, code := s.finish()
	lines := strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
	if len(lines) != 2 || code != 3 {
		t.Fatalf("the client got %.300q and %d", rest, code)
	}
	for _, line := range lines {
		wantBlocked(t, line, -32003, "strict_abort", "WRD-RES-FRAME-ERROR")
	}
}

// A client that does not read holds up no signal.
func TestASignalWhileTheClientDoesNotRead(t *testing.T) {
	s := start(t, answers{"long": textResult(`"` + strings.Repeat("x", 4<<20) + `"`)})
	s.send(call("1", "long"), call("2", "long"))
	if _, err := s.stdout.Peek(1); err != nil { // guard is writing, and cannot go on
		t.Fatal(err)
	}
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	state, err := s.cmd.Process.Wait()
	must(t, err)
	if code := state.ExitCode(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit %d", code)
	}
}

// Two sides that frame differently cannot be relayed. The client is told, in its
// own framing.
func TestFramingsThatDoNotMatch(t *testing.T) {
	t.Run("the server speaks with a length", func(t *testing.T) {
		s := start(t, answers{"a": "Content-Length: 2\r\n\r\n{}"})
		s.send(call("1", "a"))
		rest, code := s.finish()
		wantBlocked(t, strings.TrimSuffix(rest, "\n"), -32002, "lifecycle", "")
		if code != 2 || !strings.Contains(s.stderr.String(), "framing") {
			t.Errorf("exit %d; stderr: %s", code, s.stderr.String())
		}
	})
	t.Run("the client speaks with a length that is short", func(t *testing.T) {
		s := start(t, answers{})
		_, err := s.stdin.Write([]byte("Content-Length: 50\r\n\r\n{}"))
		must(t, err)
		if rest, code := s.finish(); rest != "" || code != 2 {
			t.Errorf("%q and %d", rest, code)
		}
	})
	for _, header := range []string{"Content-Length: -1", "Content-Length: 2\r\nContent-Length: 3", "Content-Length: 99999999999999999999"} {
		t.Run(header, func(t *testing.T) {
			s := start(t, answers{})
			_, err := s.stdin.Write([]byte(header + "\r\n\r\n{}"))
			must(t, err)
			if rest, code := s.finish(); rest != "" || code != 2 {
				t.Errorf("%q and %d", rest, code)
			}
		})
	}
}
