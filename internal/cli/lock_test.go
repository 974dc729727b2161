package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"
)

// Every character of a text is seen, and no two texts look alike.
func TestEscaped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain é 日本 😀":          "plain é 日本 😀",
		`a\u200b`:               `a\\u200b`,
		"a\u200b":               `a\u200b{ZERO WIDTH SPACE}`,
		"a\u200d\u200c\u00ad":   `a\u200d{ZERO WIDTH JOINER}\u200c{ZERO WIDTH NON-JOINER}\u00ad{SOFT HYPHEN}`,
		"\u202e\u2066":          `\u202e{RIGHT-TO-LEFT OVERRIDE}\u2066{LEFT-TO-RIGHT ISOLATE}`,
		"\U000e0041\U000e007f":  `\U000e0041{TAG A}\U000e007f{CANCEL TAG}`,
		"\ufe0f\U000e0100":      `\ufe0f{VARIATION SELECTOR-16}\U000e0100{VARIATION SELECTOR-17}`,
		"\x1b[2J\x00\x7f\u0085": `\u001b[2J\u0000\u007f\u0085`,
		"a\r\n\tb":              `a\r\n\tb`,
		"a\u00a0b\u3000c":       `a\u00a0{SPACE}b\u3000{SPACE}c`,
		"\xff":                  `\xff`,
		"\ue000":                `\ue000`,
	} {
		got := escaped(in)
		if got != want {
			t.Errorf("%q: %s, not %s", in, got, want)
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if s := escaped(string(r)); strings.ContainsFunc(s, func(r rune) bool {
			return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
		}) {
			t.Fatalf("%U is shown as %q", r, s)
		}
	}
}

// A long text is cut in its middle; both ends, and both ends of what changed,
// are shown whole.
func TestCutMiddle(t *testing.T) {
	t.Parallel()
	long := "BEGIN " + strings.Repeat("é", 10_000) + " END"
	got := cutMiddle(long, 100)
	if !strings.HasPrefix(got, "BEGIN é") || !strings.HasSuffix(got, "é END") || !strings.Contains(got, "…[9910 characters, sha256:") {
		t.Error(got)
	}
	if cutMiddle(long, 100) == cutMiddle(strings.Replace(long, "éé END", "èé END", 1), 100) {
		t.Error("a change at the end is not seen")
	}
	var b bytes.Buffer
	was, is := long, strings.Replace(long, " END", " EVIL END", 1)
	sideBySide(&b, &was, &is)
	lines := strings.Split(b.String(), "\n")
	if !strings.HasSuffix(lines[0], "é END") || !strings.HasSuffix(lines[1], "é EVIL END") || strings.ContainsRune(b.String(), 0x1b) {
		t.Error(b.String())
	}
	// A character is never cut in two.
	was, is = "aéb", "aèb"
	b.Reset()
	sideBySide(&b, &was, &is)
	if b.String() != "    - aéb\n    + aèb\n" {
		t.Error(b.String())
	}
}

// A server that is asked over HTTP gets its header from the environment, and no
// secret of the call is in any output or file.
func TestPinOverHTTP(t *testing.T) {
	const header, query = "Bearer canary-in-the-header-1", "canary-in-the-query-1"
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != header || r.URL.Query().Get("key") != query {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		result := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`
		switch {
		case bytes.Contains(body, []byte("tools/list")):
			result = `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"t"}]}}`
		case bytes.Contains(body, []byte("notifications/")):
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, result)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	t.Setenv("MCP_AUTHORIZATION", header)
	t.Setenv("MCP_WRONG", "Bearer canary-that-is-wrong")
	var out, errw bytes.Buffer
	run := func(code int, args ...string) {
		t.Helper()
		if got := Main(args, strings.NewReader(""), &out, &errw); got != code {
			t.Fatalf("%v: exit %d: %s%s", args, got, &out, &errw)
		}
	}
	url := server.URL + "/mcp?key=" + query
	run(0, "pin", "--out", path("w.lock"), "--keep-text", path("w.text"), "--sarif", path("p.sarif"), "--url", url, "--header", "Authorization=MCP_AUTHORIZATION")
	run(0, "check", "--lock", path("w.lock"), "--json", path("c.jsonl"), "--url", url, "--header", "Authorization=MCP_AUTHORIZATION")
	run(1, "check", "--lock", path("w.lock"), "--url", server.URL+"/mcp?v=2&key="+query, "--header", "Authorization=MCP_AUTHORIZATION")
	run(2, "check", "--lock", path("w.lock"), "--url", url, "--header", "Authorization=MCP_WRONG")
	run(2, "check", "--lock", path("w.lock"), "--run-pinned")
	if asked.Load() == 0 {
		t.Error("the server was not asked")
	}
	texts := out.String() + errw.String()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(path(e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		texts += string(text)
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if want := os.FileMode(0o600); e.Name() != "w.lock" && runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", e.Name(), info.Mode().Perm())
		}
	}
	if strings.Contains(texts, "canary") {
		t.Errorf("a secret is in the outputs:\n%s", texts)
	}
}
