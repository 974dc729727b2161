package interpose

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/aar"
)

// Around the sizes of a pipe and of a buffer, and far beyond.
var sizes = []int{65535, 65536, 65537, 1 << 20, 5 << 20}

// padded makes a line of n bytes, LF not counted, out of two parts.
func padded(n int, before, after string) string {
	return before + strings.Repeat("x", n-len(before)-len(after)) + after + "\n"
}

func TestALongLinePassesBothWays(t *testing.T) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir := t.TempDir()
			log, says := filepath.Join(dir, "log"), filepath.Join(dir, "says")
			request := padded(n, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"x":"`, `"}}}`)
			answer := padded(n, `{"jsonrpc":"2.0","id":7,"result":"`, `"}`)
			must(t, os.WriteFile(says, []byte(answer), 0o600))

			s := start(t, script("read", "show "+says, "answer 1"))
			go s.send(request, ping("8"))
			wantSame(t, "the client got", s.next(), answer)
			s.wantNext(result("8"))
			s.finish()
			c := s.calls()[0]
			if got, want := c.Intent.RequestDigest, digestOf(request); got != aar.RequestDigest(want) {
				t.Errorf("request_digest %s, want %x", got, want)
			}
			if got, want := c.Outcome.ResponseDigest, digestOf(answer); got == nil || *got != aar.ResponseDigest(want) {
				t.Errorf("response_digest %v, want %x", got, want)
			}

			s = start(t, server("tap", log))
			go func() { s.send(request, ping("8")); s.hangUp() }()
			s.wait()
			logged, err := os.ReadFile(log)
			must(t, err)
			wantSame(t, "the server got", string(logged), request+ping("8"))
		})
	}
}

// A client frame over the cap cannot be judged: it is refused, with its id if
// that can be read, and put on record. What comes behind it is relayed.
func TestAClientFrameOverTheCapIsRefused(t *testing.T) {
	const frameCap = 1000
	for _, tc := range []struct{ name, frame, id string }{
		{"id first", padded(frameCap+1, `{"id":"a","method":"tools/call","params":"`, `"}`), `"a"`},
		{"id last", padded(frameCap+1, `{"method":"tools/call","params":"`, `","id":7}`), "7"},
		{"id behind a megabyte", padded(1<<20, `{"method":"tools/call","params":"`, `","id":7.0}`), "7.0"},
		{"two ids", padded(frameCap+1, `{"id":1,"params":"`, `","id":2}`), "null"},
		{"no id", padded(frameCap+1, `{"method":"x","params":"`, `"}`), "null"},
		{"not JSON", padded(frameCap+1, "", ""), "null"},
		{"CRLF", padded(frameCap+1, `{"id":1,"params":"`, "\"}\r"), "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			s := start(t, server("tap", log), func(c *Config) { c.MaxFrame = frameCap })
			fits := padded(frameCap, `{"jsonrpc":"2.0","method":"x","params":"`, `"}`)
			s.send(fits, tc.frame, ping("8"))
			s.wantNext(refusal(HostDenied, tc.id))
			s.finish()
			logged, err := os.ReadFile(log)
			must(t, err)
			wantSame(t, "the server got", string(logged), fits+ping("8"))

			want := aar.Unevaluated(aar.PassThrough)
			want.Policy.Reason = "frame over the cap of 1000 bytes"
			want.Capability.Reason = want.Policy.Reason
			wantOutcome(t, s.calls()[0], "<unknown>", digestOf(tc.frame), want)
		})
	}
}

// The id of an answer is one of the server's: the error must not carry it, or it
// would answer another request.
func TestAnAnswerOfTheClientOverTheCapIsRefusedWithoutItsID(t *testing.T) {
	s := start(t, server("echo"), func(c *Config) { c.MaxFrame = 100 })
	s.send(padded(101, `{"id":1,"result":"`, `"}`), ping("1"))
	s.wantNext(refusal(HostDenied, "null"))
	s.wantNext(result("1"))
	s.finish()
}

// A line that never ends is not held: it costs no memory, and once it does end
// the session goes on.
func TestAnEndlessLineIsNotHeld(t *testing.T) {
	s := start(t, server("echo"), func(c *Config) { c.MaxFrame = 64 << 10 })
	chunk := strings.Repeat("x", 1<<20)
	s.send(ping("1"))
	s.wantNext(result("1"))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 8 {
		s.send(chunk)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("8 MiB of a line took %d bytes of memory", got)
	}
	s.send("\n", ping("2"))
	s.wantNext(refusal(HostDenied, "null"))
	s.wantNext(result("2"))
	s.finish()
}

// A server frame over the cap is not held back, but its last byte is until the
// outcome is written.
func TestAServerFrameOverTheCapPasses(t *testing.T) {
	for _, tc := range []struct{ name, lineEnd string }{
		{"LF", "\n"},
		{"CRLF", "\r\n"},
		{"unterminated", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, n := range []int{64<<10 + 1, 128 << 10, 128<<10 + 1, 1 << 20} {
				answer := strings.TrimSuffix(padded(n, `{"jsonrpc":"2.0","result":"`, `","id":7}`), "\n") + tc.lineEnd
				says := filepath.Join(t.TempDir(), "says")
				must(t, os.WriteFile(says, []byte(answer), 0o600))
				client := &overhearing{length: len(answer)}
				s := start(t, script("read", "show "+says, "end-of-input"), func(c *Config) {
					c.MaxFrame = 64 << 10
					c.Answer = client
				})
				client.s = s
				s.send(call("7", "t"))
				s.finish()
				wantSame(t, "the client got", string(client.got), answer)
				if client.early {
					t.Errorf("%d bytes: the end of the answer was written before its outcome", n)
				}
				c := s.calls()[0]
				if got, want := c.Outcome.ResponseDigest, digestOf(answer); got == nil || *got != aar.ResponseDigest(want) {
					t.Errorf("%d bytes: response_digest %v, want %x", n, got, want)
				}
				if !strings.Contains(s.stderr.String(), "which is over the cap of 65536") {
					t.Errorf("stderr: %q", s.stderr)
				}
			}
		})
	}
}

// overhearing is a client that notes whether the last byte of an answer came
// before there was an outcome on record.
type overhearing struct {
	s      *session
	length int // of the answer
	got    []byte
	early  bool
}

func (o *overhearing) Write(p []byte) (int, error) {
	o.got = append(o.got, p...)
	if len(o.got) == o.length && !bytes.Contains(o.s.record(), []byte(`"line_type":"outcome"`)) {
		o.early = true
	}
	return len(p), nil
}
