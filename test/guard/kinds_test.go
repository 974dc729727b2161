package guard

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// Faults that users of such relays have met, one test a kind. What a plain relay
// does about them is tested in internal/interpose; here guard stands in between.

// A line is as long as it is: no buffer ends it, and what follows is read.
func TestLongLines(t *testing.T) {
	a := answers{"small": textResult(`"ok"`)}
	sizes := []int{65535, 65536, 65537, 1 << 20, 5 << 20}
	for _, n := range sizes {
		frame := withID(textResult(`""`), "7") + "\n"
		a[fmt.Sprint("long", n)] = textResult(`"` + strings.Repeat("x", n-len(frame)) + `"`)
	}
	s := start(t, a)
	for _, n := range sizes {
		name := fmt.Sprint("long", n)
		s.send(callWith("7", name, `{"text":"`+strings.Repeat("y", n)+`"}`), call("8", "small"))
		if got := s.next(); got != withID(a[name], "7") || len(got)+1 != n {
			t.Errorf("%d bytes: the client got %d, %.100q", n, len(got)+1, got)
		}
		if got := s.next(); got != withID(a["small"], "8") {
			t.Errorf("behind %d bytes: %.100q", n, got)
		}
	}
}

// Bytes that are not UTF-8 neither end the session nor are they repaired. That
// the server's line passes as it came is the contract's transparency, which wins
// over the wish to keep it from the client.
func TestALineThatIsNotUTF8(t *testing.T) {
	t.Run("of the server", func(t *testing.T) {
		s := start(t, answers{
			"bad": "!base64 " + base64.StdEncoding.EncodeToString([]byte("\xff\xfe\n"+withID(textResult(`"third"`), "3"))), "fine": textResult(`"x"`),
		})
		s.send(call("1", "fine"), call("3", "bad"), call("4", "fine"))
		for _, want := range []string{withID(textResult(`"x"`), "1"), "\xff\xfe", withID(textResult(`"third"`), "3"), withID(textResult(`"x"`), "4")} {
			if got := s.next(); got != want {
				t.Errorf("the client got %q, want %q", got, want)
			}
		}
	})
	t.Run("of the server, with a secret", func(t *testing.T) {
		s := start(t, answers{"bad": "!base64 " + base64.StdEncoding.EncodeToString([]byte(withID(textResult("\"\xff "+token+"\""), "1")))})
		wantBlocked(t, s.ask(call("1", "bad")), -32001, "response", "WRD-RES-SECRET-ECHO")
	})
	t.Run("of the client, where a policy would judge it", func(t *testing.T) {
		dir := t.TempDir()
		must(t, writeFile(dir+"/p.yaml", []byte("version: 1\ndefaults:\n  filesystem_read: {allow_paths: [\"/srv/**\"]}\n")))
		s := startScript(t, dir, serverScript{Answers: answers{}}, "--policy", "@p.yaml")
		wantBlocked(t, s.ask(callWith("1", "read_file", "{\"path\":\"/srv/notes/\xffa\"}")), -32001, "request", "HOST_DENIED")
		s.wantAnswer(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	})
}

// What a server prints that is no message passes as it came (a transparent relay
// is the contract; strict clients see what they would see without us), it is no
// answer to anybody, and what is around it is inspected.
func TestStrayOutput(t *testing.T) {
	banner := "Example Server 1.2.0\n\n\u2500\u2500 ready \u2500\u2500\n{\"status\":200,\"duration\":12}\n"
	a := answers{
		"initialize": `{"jsonrpc":"2.0","id":%ID%,"result":{"capabilities":{}}}`,
		"a":          textResult(`"fine"`) + "\nlog: called \"a\"", "b": textResult(`"` + token + `"`),
	}
	s := startScript(t, t.TempDir(), serverScript{Answers: a, Greeting: banner})
	s.send(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`, call("1", "a"), call("2", "b"))
	for line := range strings.Lines(banner + withID(a["initialize"], "0") + "\n" + withID(a["a"], "1") + "\n") {
		if got := s.next(); got != strings.TrimSuffix(line, "\n") {
			t.Errorf("the client got %q, want %q", got, line)
		}
	}
	wantBlocked(t, s.next(), -32001, "response", "WRD-RES-SECRET-ECHO")
}

// Ids are text. Those that one float64 holds for both are two; a number is never
// a string; each answer is inspected as one to its own call.
func TestIDsThatLookTheSame(t *testing.T) {
	ids := []string{"9007199254740992", "9007199254740993", "7", `"7"`, "1e0", "12345678901234567890", "3.14", `"` + strings.Repeat("long", 2500) + `"`, "-0"}
	a := answers{"last": textResult(`"` + token + `"`)}
	for i := range ids {
		a[fmt.Sprint("tool", i)] = "!keep\n" + textResult(fmt.Sprintf(`"%d %s"`, i, token))
	}
	s := start(t, a)
	for i, id := range ids {
		s.send(call(id, fmt.Sprint("tool", i)))
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993}}`, call(`"last"`, "last"))
	wantBlocked(t, s.next(), -32001, "response", "WRD-RES-SECRET-ECHO")
	for i := len(ids) - 1; i >= 0; i-- { // the server says them backwards
		b := wantBlocked(t, s.next(), -32001, "response", "WRD-RES-SECRET-ECHO")
		if want := fmt.Sprint("tool", i); string(b.ID) != ids[i] || b.Error.Data.Tool != want {
			t.Errorf("%.40s was answered for %s, want %.40s for %s", b.ID, b.Error.Data.Tool, ids[i], want)
		}
	}
}

// A server that fills its stderr is read all the same.
func TestAFloodOfStderr(t *testing.T) {
	for name, text := range map[string]string{"lines": strings.Repeat("!", 63) + "\n", "no line end": strings.Repeat("!", 64), "escapes": strings.Repeat(ansiRaw, 12)} {
		t.Run(name, func(t *testing.T) {
			s := startScript(t, t.TempDir(), serverScript{Answers: answers{"a": textResult(`"x"`)}, Stderr: text})
			s.wantAnswer(call("1", "a"), withID(textResult(`"x"`), "1"))
			s.wantAnswer(call("2", "a"), withID(textResult(`"x"`), "2"))
			s.finish()
			if n := strings.Count(s.stderr.String(), text[:5]); n < 4096 {
				t.Errorf("stderr has it %d times", n)
			}
		})
	}
}

const ansiRaw = "\x1b[31m"

// A server that dies before it says hello does not leave its client waiting.
func TestDeathBeforeTheHandshake(t *testing.T) {
	for name, tc := range map[string]struct {
		act  string
		code int
	}{"exits": {"!exit 1", 1}, "exits with success": {"!exit 0", 0}, "is killed": {"!die", 128 + 9}} {
		t.Run(name, func(t *testing.T) {
			s := start(t, answers{"initialize": tc.act})
			wantBlocked(t, s.ask(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{}}`), -32002, "lifecycle", "")
			if rest, code := s.finish(); rest != "" || code != tc.code {
				t.Errorf("%q and %d, want %d", rest, code, tc.code)
			}
		})
	}
}

// An answer with the last breath arrives, and is none that is open.
func TestAnAnswerAndTheEnd(t *testing.T) {
	s := start(t, answers{"a": textResult(`"x"`) + "\n!exit 0"})
	s.wantAnswer(call("7", "a"), withID(textResult(`"x"`), "7"))
	if rest, code := s.finish(); rest != "" || code != 0 {
		t.Errorf("%q and %d", rest, code)
	}
}

// Nothing is written anew but the string that changes: no escape, no order of
// members, no spelling of a number, no member that nobody knows.
func TestContentIsNotWrittenAnew(t *testing.T) {
	odd := `{"result":{"_meta":{"k":"<>&"},"x-vendor":{"k":[1, 1.0,1E2]},"structuredContent":{"z":1,"a":"a < b && c > d"},"content":[{"annotations":{"p":1e-0},"type":"text","text":"%s\u003cb\/>"}]},"id":%%ID%%,"jsonrpc":"2.0"}`
	a := answers{"clean": fmt.Sprintf(odd, ""), "dirty": fmt.Sprintf(odd, ansi)}
	s := start(t, a)
	s.wantAnswer(call("1", "clean"), withID(a["clean"], "1"))
	got := s.ask(call("2", "dirty"))
	want := withID(fmt.Sprintf(odd, "[31m"), "2")
	want = strings.Replace(want, `{"k":"<>&"}`, `{"k":"<>&","warden":{"modified":true,"rules":["WRD-RES-ANSI"]}}`, 1)
	if unescaped := strings.NewReplacer(`\u003c`, "<", `\/`, "/"); unescaped.Replace(got) != unescaped.Replace(want) {
		t.Errorf("the client got\n%s, want\n%s", got, want)
	}
}

// Calls in an array are calls, answers in an array are answers.
func TestArraysAreNoWayAround(t *testing.T) {
	dir := t.TempDir()
	must(t, writeFile(dir+"/p.yaml", []byte("version: 1\ndefault: allow\nrules:\n- {id: r1, action: deny, tool: bad}\n")))
	a := answers{"a": "[" + textResult(`"x"`) + " , " + strings.Replace(textResult(`"`+token+`"`), "%ID%", "2", 1) + `,{"jsonrpc":"2.0","method":"notifications/x"}]`, "b": "!silent"}
	s := startScript(t, dir, serverScript{Answers: a}, "--policy", "@p.yaml")
	// The refused sibling takes the array with it.
	got := s.ask(`[{"jsonrpc":"2.0","id":1,"method":"ping"},` + call("2", "bad") + "]")
	if strings.Count(got, `"code":-32001`) != 2 || !strings.HasPrefix(got, "[") {
		t.Errorf("the client got %s", got)
	}
	for _, odd := range []string{"[[" + call("1", "a") + "]]", `[{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}]`} {
		wantBlocked(t, strings.Trim(s.ask(odd), "[]"), -32001, "request", "HOST_DENIED")
	}
	s.send(call("2", "b"), call("1", "a"))
	got = s.next()
	if !strings.HasPrefix(got, "["+withID(textResult(`"x"`), "1")+` , {"jsonrpc":"2.0","id":2,"error":{"code":-32001,`) || !strings.HasSuffix(got, `,{"jsonrpc":"2.0","method":"notifications/x"}]`) {
		t.Errorf("the client got %s", got)
	}
}

// A slow call holds up nothing; its late answer is inspected though the client
// has cancelled it.
func TestASlowCallThatIsCancelled(t *testing.T) {
	s := start(t, answers{"slow": "!keep\n" + textResult(`"`+token+`"`), "release": textResult(`"x"`)})
	s.send(call("1", "slow"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	s.wantAnswer(call("2", "release"), withID(textResult(`"x"`), "2"))
	wantBlocked(t, s.next(), -32001, "response", "WRD-RES-SECRET-ECHO")
	if rest, code := s.finish(); rest != "" || code != 0 {
		t.Errorf("%q and %d", rest, code)
	}
}
