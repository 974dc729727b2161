//go:build unix

package guard

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// An output that cannot be written from the start is an error before the server
// runs.
func TestAnOutputThatCannotBeWritten(t *testing.T) {
	for _, flag := range []string{"--json", "--sarif", "--record"} {
		t.Run(flag, func(t *testing.T) {
			dir := t.TempDir()
			must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
			for _, path := range []string{"@no/such/dir", "@", "@pipe"} { // nobody reads the pipe
				s := startScript(t, dir, serverScript{Greeting: "started\n", Answers: answers{}}, flag, path)
				rest, code := s.finish()
				if code != 2 || rest != "" || !strings.Contains(s.stderr.String(), "error: ") {
					t.Errorf("%s: %q and %d; stderr: %s", path, rest, code, s.stderr.String())
				}
			}
		})
	}
}

// One that fails later is told once, and the session goes on blocking.
func TestAnOutputThatFails(t *testing.T) {
	for _, flag := range []string{"--json", "--record"} {
		t.Run(flag+" on a full disk", func(t *testing.T) {
			if _, err := os.Stat("/dev/full"); err != nil {
				t.Skip(err)
			}
			s := start(t, answers{"b": textResult(`"` + token + `"`)}, flag, "/dev/full")
			for _, id := range []string{"1", "2", "3"} {
				wantBlocked(t, s.ask(call(id, "b")), -32001, "response", "WRD-RES-SECRET-ECHO")
			}
			if rest, code := s.finish(); rest != "" || code != 0 {
				t.Errorf("%q and %d", rest, code)
			}
			if n := strings.Count(s.stderr.String(), "no space left on device"); n != 1 {
				t.Errorf("it is told %d times: %s", n, s.stderr.String())
			}
		})
		t.Run(flag+" on a pipe whose reader goes", func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "pipe")
			must(t, syscall.Mkfifo(path, 0o600))
			reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			must(t, err)
			s := startScript(t, dir, serverScript{Answers: answers{"b": textResult(`"` + token + `"`)}}, flag, path)
			wantBlocked(t, s.ask(call("1", "b")), -32001, "response", "WRD-RES-SECRET-ECHO")
			reader.Close()
			wantBlocked(t, s.ask(call("2", "b")), -32001, "response", "WRD-RES-SECRET-ECHO")
			wantBlocked(t, s.ask(call("3", "b")), -32001, "response", "WRD-RES-SECRET-ECHO")
			if rest, code := s.finish(); rest != "" || code != 0 {
				t.Errorf("%q and %d", rest, code)
			}
			if n := strings.Count(s.stderr.String(), "broken pipe"); n != 1 {
				t.Errorf("it is told %d times: %s", n, s.stderr.String())
			}
		})
	}
}

// A kill -9 leaves outputs that parse, with every finding whose answer the
// client has.
func TestOutputsSurviveAKill(t *testing.T) {
	s := start(t, answers{"b": textResult(`"` + token + `"`)}, "--json", "@f.jsonl", "--sarif", "@f.sarif", "--record", "@trace.jsonl")
	const n = 50
	for i := range n {
		wantBlocked(t, s.ask(call(string(rune('1'+i%9)), "b")), -32001, "response", "WRD-RES-SECRET-ECHO")
	}
	must(t, s.cmd.Process.Kill())
	s.cmd.Wait()
	if got := len(s.findings("f.jsonl")); got != n {
		t.Errorf("%d findings of %d", got, n)
	}
	for line := range bytes.Lines(s.file("trace.jsonl")) {
		if !json.Valid(line) {
			t.Errorf("the recording has %q", line)
		}
	}
	var sarif struct {
		Runs []struct{ Results []struct{ RuleID string } }
	}
	// SARIF is one document: it is whole at any time, and may be a moment behind.
	if err := json.Unmarshal(s.file("f.sarif"), &sarif); err != nil || len(sarif.Runs) != 1 {
		t.Errorf("the SARIF: %v, %.300s", err, s.file("f.sarif"))
	}
}

// A recording holds secrets: it is its owner's, also if the file was there.
func TestARecordingIsPrivate(t *testing.T) {
	for _, before := range []os.FileMode{0, 0o666} {
		dir := t.TempDir()
		path := filepath.Join(dir, "trace.jsonl")
		if before != 0 {
			must(t, os.WriteFile(path, nil, before))
			must(t, os.Chmod(path, before))
		}
		s := startScript(t, dir, serverScript{Answers: answers{}}, "--record", path)
		s.finish()
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("the mode of a recording is %v", info.Mode())
		}
		if !strings.Contains(s.stderr.String(), "--record writes raw frames, secrets included") {
			t.Errorf("stderr does not say what is in it: %s", s.stderr.String())
		}
	}
}
