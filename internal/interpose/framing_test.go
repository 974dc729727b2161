package interpose

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

func decimal(n int) string { return strconv.Itoa(n) }

// framed is a body in Content-Length framing.
func framed(body string) string {
	return "Content-Length: " + decimal(len(body)) + "\r\nContent-Type: application/json\r\n\r\n" + body
}

// Content-Length framing is relayed as it came; the digests are of the bodies.
func TestContentLengthFraming(t *testing.T) {
	says := filepath.Join(t.TempDir(), "says")
	request := strings.TrimSuffix(call("1", "t"), "\n")
	answer := "{\n\"id\":1,\n\"result\":{}}"
	must(t, os.WriteFile(says, []byte("\r\n"+framed(answer)+framed(`{"method":"x"}`)), 0o600))
	s := start(t, script("read 3", "show "+says))
	s.send(framed(request))
	s.hangUp()
	wantSame(t, "the client got", s.rest(), "\r\n"+framed(answer)+framed(`{"method":"x"}`))
	s.finish()
	c := s.calls()[0]
	if c.Intent.RequestDigest != digestOf(request) || c.Outcome.ResponseDigest == nil || *c.Outcome.ResponseDigest != digestOf(answer) {
		t.Errorf("%+v", c.Outcome)
	}

	log := filepath.Join(t.TempDir(), "log")
	s = start(t, server("tap", log))
	sent := "\n" + framed(request) + "\r\n\r\n" + framed(`{"id":2,"method":"ping"}`) + framed("")
	s.send(sent)
	s.finish()
	logged, err := os.ReadFile(log)
	must(t, err)
	wantSame(t, "the server got", string(logged), sent)
}

// A refusal comes in the framing of the client.
func TestARefusalIsFramedAsTheClientFrames(t *testing.T) {
	s := start(t, script(), func(c *Config) { c.MaxFrame = 100 })
	s.send(framed(`{"id":1,"method":"x","params":"` + strings.Repeat("x", 100) + `"}`))
	s.hangUp()
	refused := refusal(HostDenied, "1")
	wantSame(t, "the client got", s.rest(), "Content-Length: "+decimal(len(refused))+"\r\n\r\n"+refused)
	s.finish()
}

func TestAFramedAnswerOverTheCapPasses(t *testing.T) {
	says := filepath.Join(t.TempDir(), "says")
	answer := `{"result":"` + strings.Repeat("x", 200_000) + `","id":1}`
	must(t, os.WriteFile(says, []byte(framed(answer)+framed("{}")), 0o600))
	s := start(t, script("read 3", "show "+says), func(c *Config) { c.MaxFrame = 1000 })
	s.send(framed(strings.TrimSuffix(call("1", "t"), "\n")))
	s.hangUp()
	wantSame(t, "the client got", s.rest(), framed(answer)+framed("{}"))
	s.finish()
	if d := s.calls()[0].Outcome.ResponseDigest; d == nil || *d != digestOf(answer) {
		t.Errorf("response_digest %v", d)
	}
}

// Two sides that tell their messages apart in different ways cannot be relayed
// to each other.
func TestAMismatchOfFramingsEndsTheSession(t *testing.T) {
	for _, tc := range []struct {
		name, client, server string
		want                 FramingMismatch
		message              string
	}{
		{"client speaks lines", call("1", "t"), framed(result("1")), FramingMismatch{wire.Newline, wire.ContentLength},
			"the client speaks newline framing, but the server speaks Content-Length framing"},
		{"server speaks lines", framed(ping("1")), "Example Server 1.2.0\n", FramingMismatch{wire.ContentLength, wire.Newline},
			"the client speaks Content-Length framing, but the server speaks newline framing"},
	} {
		for _, first := range []string{"client", "server"} {
			t.Run(tc.name+", "+first+" first", func(t *testing.T) {
				steps := []string{"read", "say " + tc.server, "sleep"}
				if first == "server" {
					steps = []string{"say " + tc.server, "sleep"}
				}
				s := start(t, script(steps...))
				if first == "server" {
					s.stdout.Read(make([]byte, 1)) // the relay has seen it
				}
				s.send(tc.client)
				_, err := s.wait()
				mismatch, ok := errors.AsType[*FramingMismatch](err)
				if !ok || *mismatch != tc.want || err.Error() != tc.message {
					t.Errorf("the session ended with %v", err)
				}
				for _, e := range s.endings() {
					if e != "session ended by an error of the relay" && e != "not executed: the session ended before the request was forwarded" {
						t.Errorf("a call ended as %q", e)
					}
				}
			})
		}
	}
}

// A stream that breaks its framing cannot be read on.
func TestABrokenFramingEndsTheSession(t *testing.T) {
	for _, tc := range []struct{ name, client, server, want string }{
		{"of the client", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "", "client: Content-Length framing: conflicting lengths 2 and 3"},
		{"of the server", "\n", "Content-Length: -1\r\n\r\n{}", `server: Content-Length framing: length "-1" is not a decimal number`},
		{"cut short by the client", "Content-Length: 20\r\n\r\n{}", "", "client: Content-Length framing: stream ended 18 bytes before the end of a body"},
		{"cut short by the server", "\n", "Content-Length: 20\r\n\r\n{}", "server: Content-Length framing: stream ended 18 bytes before the end of a body"},
		{"over the cap and cut short by the client", "Content-Length: 2000\r\n\r\n{}" + strings.Repeat(" ", 1500), "", "client: Content-Length framing: stream ended 498 bytes before the end of a body"},
		{"over the cap and cut short by the server", "\n", "Content-Length: 2000\r\n\r\n{}" + strings.Repeat(" ", 1500), "server: Content-Length framing: stream ended 498 bytes before the end of a body"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := start(t, script("say "+tc.server, "end-of-input"), func(c *Config) { c.MaxFrame = 1000 })
			s.send(tc.client)
			s.hangUp()
			if _, err := s.wait(); err == nil || err.Error() != tc.want {
				t.Errorf("the session ended with %v, want %s", err, tc.want)
			}
			if err := s.err; err != nil {
				if _, ok := errors.AsType[*wire.FramingError](err); !ok {
					t.Errorf("%T", err)
				}
			}
		})
	}
}

// Behind half a line of the server nothing is authored: it would end that line.
func TestNothingIsAuthoredBehindHalfALine(t *testing.T) {
	var got strings.Builder
	o := &outlet{to: &got}
	o.write([]byte("whole\n"), true)
	o.author([]byte("refusal\n"), wire.Newline)
	o.write([]byte("half a li"), false)
	o.author([]byte("refusal\n"), wire.Newline)
	if want := "whole\nrefusal\nhalf a li"; got.String() != want {
		t.Errorf("the client got %q, want %q", got.String(), want)
	}
}

// Refusals and answers do not cut into each other, nor do they wait for each
// other when the client sends all it has to say before it reads.
func TestAClientThatReadsLate(t *testing.T) {
	const n = 1000
	s := start(t, server("echo"), func(c *Config) { c.Recorder = unrecordable{c.Recorder, "unlucky"} })
	var frames, want []string
	for i := range n {
		id, tool := decimal(i), "lucky"
		if i%2 == 0 {
			tool = "unlucky"
			want = append(want, refusal(AuditError, id)+"\n")
		} else {
			want = append(want, result(id)+"\n")
		}
		frames = append(frames, call(id, tool))
	}
	go s.send(frames...)
	s.awaitRecord(aar.TypeOutcome, 1)
	got := map[string]int{}
	for range n {
		got[s.next()]++
	}
	s.finish()
	for _, line := range want {
		if got[line] != 1 {
			t.Errorf("%q came %d times", line, got[line])
		}
	}
}
