package lock

import (
	"bufio"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/internal/wire"
)

// An event stream is read as the HTML Living Standard, 9.2, has it: what a client
// takes for the answer is what is pinned.
func TestEvents(t *testing.T) {
	t.Parallel()
	const answer, decoy = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{"x":1}}`
	for name, stream := range map[string]string{
		"LF":                    "data: " + answer + "\n\n",
		"CRLF":                  "data: " + answer + "\r\n\r\n",
		"CR":                    "data: " + answer + "\r\r",
		"a byte order mark":     "\ufeffdata: " + answer + "\n\n",
		"a type":                "event: message\ndata: " + answer + "\n\n",
		"an empty type":         "event\ndata: " + answer + "\n\n",
		"another type":          "event: decoy\ndata: " + decoy + "\n\ndata: " + answer + "\n\n",
		"another type, CR":      "data: " + decoy + "\revent: decoy\r\rdata: " + answer + "\r\r",
		"the last type counts":  "event: decoy\nevent: message\ndata: " + answer + "\n\n",
		"data over two lines":   "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n",
		"a comment, other keys": ": hello\nid: 7\nretry: 1\ndata: " + answer + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := (&overHTTP{}).events(context.Background(), 1, strings.NewReader(stream))
			if err != nil || strings.Contains(string(e.Raw), `"x"`) {
				t.Errorf("%s, %v", e.Raw, err)
			}
		})
	}
	if _, err := (&overHTTP{}).events(context.Background(), 1, strings.NewReader("event: decoy\ndata: "+decoy+"\n\n")); err == nil {
		t.Error("an event of another type was taken for the answer")
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	l := &lineReader{r: bufio.NewReader(strings.NewReader("a\n\nb\r\n\r\nc\r\rd\n\re"))}
	var lines []string
	for {
		line, err := l.next()
		lines = append(lines, string(line))
		if err != nil {
			break
		}
	}
	if got := strings.Join(lines, "|"); got != "a||b||c||d||e" {
		t.Error(got)
	}
}

// One client takes the first of two answers, another the last.
func TestTwoAnswersInOneFrame(t *testing.T) {
	t.Parallel()
	one, other := `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, `{"jsonrpc":"2.0","id":1.0,"result":{"tools":[1]}}`
	for frame, want := range map[string]error{
		one:                           nil,
		"[" + one + "]":               nil,
		"[" + one + "," + one + "]":   errTwice,
		"[" + one + "," + other + "]": errTwice,
	} {
		m := wire.Classify([]byte(frame))
		if _, ok, err := answerTo(&m, 1); !errors.Is(err, want) || ok != (want == nil) {
			t.Errorf("%s: %v %v", frame, ok, err)
		}
	}
}

func TestVersionText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"2025-11-25": true, "DRAFT-2026-v1": true, "": false, "1\x1b[31m": false, "2025-11-25\n": false,
		"2025 11 25": false, strings.Repeat("1", 33): false,
	} {
		if versionText(text) != want {
			t.Errorf("%q: not %v", text, want)
		}
	}
}
