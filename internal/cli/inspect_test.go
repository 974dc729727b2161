package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the catalog finds in these is its own affair; a block and a monitor rule.
const (
	ansiText   = `a\u001b[31mb`
	phraseText = `you are now`
)

func runInspect(in string, args ...string) (code int, stdout, stderr string) {
	var out, errw bytes.Buffer
	code = Main(append([]string{"inspect"}, args...), strings.NewReader(in), &out, &errw)
	return code, out.String(), errw.String()
}

const (
	tracedCall   = `{"direction":"c2s","ts":"2026-03-01T12:00:00Z","frame":{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"show"}}}` + "\n"
	tracedAnswer = `{"direction":"s2c","ts":"2026-03-01T12:00:00Z","frame":{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}}` + "\n"
)

func traced(texts ...string) string {
	var b strings.Builder
	for i, text := range texts {
		fmt.Fprintf(&b, tracedCall, i)
		fmt.Fprintf(&b, tracedAnswer, i, text)
	}
	return b.String()
}

func TestInspectExits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		in             string
		args           []string
		code           int
		stdout, stderr string
	}{
		"nothing":           {"", []string{"-"}, 0, "stdin: 0 frames, 0 inspected; no finding\n", ""},
		"clean":             {traced("fine", "fine"), []string{"-"}, 0, "stdin: 4 frames, 2 inspected; no finding\n", ""},
		"the monitor tier":  {traced(phraseText), []string{"-"}, 0, "stdin:2: monitor: WRD-RES-INJECT-PHRASE medium: tools/show: result matched curated injection phrase(s): you are now\nstdin: 2 frames, 1 inspected; 1 finding: 0 block, 1 monitor, 0 note\n", ""},
		"the block tier":    {traced("fine", ansiText), []string{"-"}, 1, "stdin:4: block: WRD-RES-ANSI high: tools/show: 1 disallowed control code point(s) (U+001B)\nstdin: 4 frames, 2 inspected; 1 finding: 1 block, 0 monitor, 0 note\n", ""},
		"audit only":        {traced(ansiText), []string{"-", "--audit-only"}, 0, "stdin:2: block: WRD-RES-ANSI high: tools/show: 1 disallowed control code point(s) (U+001B)\nstdin: 2 frames, 1 inspected; 1 finding: 1 block, 0 monitor, 0 note\n", ""},
		"a frame not held":  {`{"direction":"s2c","omitted_bytes":9000000}`, []string{"-"}, 0, "stdin:1: note: WRD-RES-FRAME-ERROR low: a frame over the cap was not inspected\nstdin: 1 frame, 0 inspected; 1 finding: 0 block, 0 monitor, 1 note\n", ""},
		"stray output":      {`{"direction":"s2c","raw":"YRtb"}`, []string{"-"}, 1, "stdin:1: note: WRD-RES-FRAME-ERROR low: frame is not JSON; inspected as text\nstdin:1: block: WRD-RES-ANSI high: 1 disallowed control code point(s) (U+001B)\nstdin: 1 frame, 1 inspected; 2 findings: 1 block, 0 monitor, 1 note\n", ""},
		"another answer":    {`{"id":1,"method":"tools/list"}` + "\n" + `{"id":1,"result":"\\u001b"}`, []string{"-"}, 0, "stdin: 2 frames, 0 inspected; no finding\n", ""},
		"a line of no JSON": {"{}\n\nBLOCK \x1b[2J\n", []string{"-"}, 2, "", "error: stdin: line 3: no JSON value\n"},
		"a cut line":        {"{}\n{\"id\"", []string{"-", "--audit-only"}, 2, "", "error: stdin: line 2: cut off: no JSON value\n"},
		"no trace":          {"", []string{filepath.Join(dir, "none")}, 2, "", "error: open " + filepath.Join(dir, "none") + ": no such file or directory\n"},
		"a folder":          {"", []string{dir}, 2, "", "error: read " + dir + ": is a directory\n"},
		"a bad list":        {"", []string{"-", "--inject-phrases", "bad"}, 2, "", "error: --inject-phrases: open bad: no such file or directory\n"},
		"a bad sink":        {"", []string{"-", "--json", dir}, 2, "", "error: open " + dir + ": is a directory\n"},
	} {
		code, stdout, stderr := runInspect(c.in, c.args...)
		if code != c.code || stdout != c.stdout || stderr != c.stderr {
			t.Errorf("%s: exit %d\nstdout %q\nstderr %q", name, code, stdout, stderr)
		}
	}
	for name, args := range map[string][]string{
		"no TRACE":          {},
		"two":               {"a", "b"},
		"an unknown flag":   {"-", "--block-ansi-please"},
		"no room":           {"-", "--max-inflight", "0"},
		"one file for both": {"-", "--json", filepath.Join(dir, "x"), "--sarif", filepath.Join(dir, ".", "x")},
	} {
		if code, stdout, _ := runInspect("", args...); code != 2 || stdout != "" {
			t.Errorf("%s: exit %d, stdout %q", name, code, stdout)
		}
	}
}

func TestInspectWritesItsOutputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, sarif, lines := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.sarif"), filepath.Join(dir, "out.jsonl")
	if err := os.WriteFile(in, []byte(traced(phraseText, ansiText)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runInspect("", in, "--json", lines, "--sarif", sarif); code != 1 || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	quoted := strings.ReplaceAll(in, `\`, `\\`)
	want := `{"kind":"result-finding","rule_id":"WRD-RES-INJECT-PHRASE","level":"warning","severity":"medium","tier":"monitor","action":"shadowed","direction":"s2c","rpc_id":0,"tool":"show","block_index":0,"pointer":"/result/content/0/text","matched_phrases":["you are now"],"file":"` + quoted + `","line":2,"message":"result matched curated injection phrase(s): you are now"}
{"kind":"result-finding","rule_id":"WRD-RES-ANSI","level":"error","severity":"high","tier":"block","action":"shadowed","direction":"s2c","rpc_id":1,"tool":"show","block_index":0,"pointer":"/result/content/0/text","file":"` + quoted + `","line":4,"message":"1 disallowed control code point(s) (U+001B)"}
{"kind":"run-summary","frames_inspected":2,"findings":2,"inject_phrase_findings":1,"actions":{"shadowed":2},"rules":{"WRD-RES-ANSI":1,"WRD-RES-INJECT-PHRASE":1}}
`
	if got, _ := os.ReadFile(lines); string(got) != want {
		t.Errorf("%s", got)
	}
	for _, part := range []string{`"uri":"in.jsonl"},"region":{"startLine":4}`, `"executionSuccessful":true`, `"ruleId":"WRD-RES-ANSI"`} {
		if got, _ := os.ReadFile(sarif); !strings.Contains(string(got), part) {
			t.Errorf("no %s in %s", part, got)
		}
	}

	// The trace is never written over.
	if code, _, stderr := runInspect("", in, "--sarif", in); code != 2 || stderr != "error: "+in+" is the trace\n" {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if got, _ := os.ReadFile(in); string(got) != traced(phraseText, ansiText) {
		t.Error("the trace has changed")
	}
}

// What is printed is bounded, whatever is found.
func TestInspectPrintsSoMuch(t *testing.T) {
	t.Parallel()
	code, stdout, _ := runInspect(traced(slices.Repeat([]string{ansiText}, maxTold+3)...), "-")
	if n := strings.Count(stdout, "\n"); code != 1 || n != maxTold+2 || !strings.Contains(stdout, "\nand 3 findings more\n") {
		t.Errorf("exit %d, %d lines", code, n)
	}
}

// An output that cannot be written is no verdict: CI would upload half of it.
func TestInspectWithAFullDisk(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	code, _, stderr := runInspect(traced(phraseText), "-", "--json", "/dev/full")
	if code != 2 || stderr != "warning: /dev/full is not written any more: write /dev/full: no space left on device\n" {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// The session in the docs is one that runs.
func TestDocumentedInspection(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/outputs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, stdout, _ := runInspect(traced(ansiText), "-")
	for line := range strings.Lines(strings.ReplaceAll(stdout, "stdin:", "trace.jsonl:")) {
		if !bytes.Contains(doc, []byte("\n    "+line)) {
			t.Errorf("the docs do not show\n    %s", line)
		}
	}
}

// More findings than are told of one answer still fail the run.
func TestInspectCountsWhatIsDropped(t *testing.T) {
	t.Parallel()
	text := `x"},{"type":"text","text":"see https://example.com/`
	out := filepath.Join(t.TempDir(), "out.jsonl")
	code, stdout, _ := runInspect(traced(strings.Repeat(text, 300)+`"},{"type":"text","text":"`+ansiText), "-", "--json", out)
	lines, err := os.ReadFile(out)
	if code != 1 || err != nil || !bytes.Contains(lines, []byte(`"findings_dropped":`)) {
		t.Errorf("exit %d, %.300s", code, stdout)
	}
}
