package interpose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aegis-aar/aegis/aar"
)

// Every byte passes as it came, both ways: calls and other messages, but also
// blank lines, either line end, what is no JSON, what is no UTF-8, and a last
// line without its end. A server's stray output is no exception: a strict
// client fails on it with us as it does without us.
func TestEveryBytePassesBothWays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		log, says := filepath.Join(dir, "log"), filepath.Join(dir, "says")
		sent := strings.Join(rapid.SliceOfN(anyFrame(), 0, 40).Draw(rt, "client"), "") + lastLine().Draw(rt, "client's last")
		said := strings.Join(rapid.SliceOfN(anyFrame(), 0, 40).Draw(rt, "server"), "") + lastLine().Draw(rt, "server's last")
		must(t, os.WriteFile(says, []byte(said), 0o600))
		chunk := rapid.SampledFrom([]int{1 << 20, 4096, 61, 7}).Draw(rt, "chunk")

		s := start(t, server("tap", log, says))
		sending := make(chan struct{})
		go func() {
			defer close(sending)
			for rest := sent; len(rest) > 0; {
				n := min(len(rest), chunk)
				s.send(rest[:n])
				rest = rest[n:]
			}
			s.hangUp()
		}()
		got := s.rest()
		<-sending
		s.finish()
		logged, err := os.ReadFile(log)
		must(t, err)
		wantSame(rt, "the server got", string(logged), sent)
		wantSame(rt, "the client got", got, said)
	})
}

// anyFrame is a line, with its line end, that some client or server might send.
func anyFrame() *rapid.Generator[string] {
	id := rapid.SampledFrom([]string{"1", "2", `"1"`, "1.0", "null", `"\u0031"`})
	return rapid.Custom(func(t *rapid.T) string {
		end := rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "end")
		return rapid.OneOf(
			rapid.Map(id, func(id string) string { return strings.TrimSuffix(call(id, "echo"), "\n") }),
			rapid.Map(id, result),
			rapid.SampledFrom([]string{
				"", " \t", "\r", "\v\f",
				"Example Server 1.2.0", "╭─ ready ─╮", "\x1b[31mred\x1b[0m", `{"status":200,"duration":12}`,
				"\xff\xfe", `{"path":"/srv/` + "\xff" + `"}`, `{"id":1,"result":"\ud800"}`, "\x00", "\ufeff{}",
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`,
				`{"id":1,"result":{"q":"a < b && c > d","n":1.0,"e":1E2,"z":1,"a":2,"x-vendor":{"k":[1]}}}`,
				`{"id":1,"method":"tools/call"}`, `{"id":1,"method":"tools/call","METHOD":"ping","params":{"name":"x"}}`,
				`{"id":1,"id":2,"result":{}}`, `{"id":1,"method":"x","result":{}}`,
				`[]`, `[[]]`, ` [{"id":1,"result":{}},{"id":2,"error":{}}]`, `{"id":3,` + "\r" + `"result":{}}`,
				strings.Repeat("x", 70_000), `{"id":2,"result":"` + strings.Repeat("y", 70_000) + `"}`,
			}),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return strings.ReplaceAll(string(b), "\n", "") }),
		).Draw(t, "line") + end
	})
}

func lastLine() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "half a li", strings.TrimSuffix(call("1", "unterminated"), "\n"), "\r", result("1"), " "})
}

func wantSame(t rapid.TB, what, got, want string) {
	if got == want {
		return
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	t.Fatalf("%s %d bytes, want %d; they differ at %d: %.80q, want %.80q", what, len(got), len(want), at, got[at:], want[at:])
}

// A call waits until its intent is durable, and what comes behind it waits too.
func TestAFrameDoesNotOvertakeACall(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	s := start(t, server("tap", log))
	release := s.sink.HoldSync()
	frames := []string{ping("1"), call("2", "first"), ping("3"), "\n", "noise\n", call("4", "second"), ping("5"), call("6", "third")}
	s.send(frames...)
	s.awaitRecord(aar.TypeIntent, 3) // the relay has read all of them
	release()
	s.finish()
	logged, err := os.ReadFile(log)
	must(t, err)
	wantSame(t, "the server got", string(logged), strings.Join(frames, ""))
}

// The relay keeps the numbers, escapes, key order and unknown members of what
// it relays: it never writes a message anew.
func TestAMessageIsNotWrittenAnew(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	says := filepath.Join(t.TempDir(), "says")
	answer := `{"result":{"_meta":{"k":1.0},"structuredContent":{"e":1E2},"content":[{"type":"text","text":"<&>","annotations":{}}],"x-vendor":{"k":[1]}},"id":1,"jsonrpc":"2.0"}` + "\n"
	must(t, os.WriteFile(says, []byte(answer), 0o600))
	requests := []string{
		`{"method":"tools/call","params":{"arguments":{"q":"a < b && c > d","n":1.0,"e":1E2,"z":1,"a":2},"name":"t"},"id":1,"jsonrpc":"2.0"}` + "\n",
		`{ "jsonrpc" : "2.0", "id":2, "method":"tools\/call", "params":{"name":"\u0074"} }` + "\n",
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","arguments":{}},"x":"é\u00e9"}` + "\r\n",
	}
	s := start(t, server("tap", log, says))
	s.send(requests...)
	s.hangUp()
	wantSame(t, "the client got", s.rest(), answer)
	s.finish()
	logged, err := os.ReadFile(log)
	must(t, err)
	wantSame(t, "the server got", string(logged), strings.Join(requests, ""))
	for _, c := range s.calls() {
		if c.Intent.ToolID != "t" {
			t.Errorf("%s is of tool %q", c.Intent.CallID, c.Intent.ToolID)
		}
	}
}
