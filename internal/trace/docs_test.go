package trace

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// The recording in docs/outputs.md is what is written for its frames.
func TestDocumentedRecording(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/outputs.md")
	if err != nil {
		t.Fatal(err)
	}
	at := func(ms int) time.Time { return time.Date(2026, 3, 1, 12, 0, 0, ms*1_000_000, time.UTC) }
	var out bytes.Buffer
	w := NewWriter(&out)
	w.Frame(Client, at(5), []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"notes.txt"}}}`))
	w.Frame(Server, at(21), []byte(`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"fine"}]}}`))
	w.Frame(Server, at(1000), []byte("Listening on 3000"))
	w.Omitted(Server, at(2000), 9_000_000)
	for line := range strings.Lines(out.String()) {
		if !bytes.Contains(doc, []byte("\n    "+line)) {
			t.Errorf("the docs do not show\n    %s", line)
		}
	}
}
