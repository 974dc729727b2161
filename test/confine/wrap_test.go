//go:build linux

package confine

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// wrapped is one session of `aegis wrap --confine`.
type wrapped struct {
	audit, stdout, stderr string
	code                  int
}

// wrap runs the command with a key and a record of its own.
func wrap(t *testing.T, input string, env []string, flags []string, argv ...string) wrapped {
	t.Helper()
	return wrapBy(t, harness.Binary(t, harness.Aegis), input, env, flags, argv...)
}

func wrapBy(t *testing.T, aegis, input string, env []string, flags []string, argv ...string) wrapped {
	t.Helper()
	dir := realDir(t)
	if out, err := exec.Command(aegis, "keygen", "--out", dir+"/key").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := wrapped{audit: dir + "/a.jsonl"}
	args := append([]string{"wrap", "--audit", w.audit, "--signing-key", dir + "/key", "--confine"}, flags...)
	cmd := exec.Command(aegis, append(append(args, "--"), argv...)...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	w.stdout, w.stderr, w.code = stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	return w
}

// confinementOf is the confinement member of a line of a record.
type confinementOf struct {
	Type        string `json:"line_type"`
	Confinement *struct {
		Level      string `json:"level"`
		BestEffort bool   `json:"best_effort"`
		Digest     string `json:"plan_digest"`
		Cause      string `json:"cause"`
		Controls   []struct {
			Name     string `json:"name"`
			Enforced bool   `json:"enforced"`
		} `json:"controls"`
	} `json:"confinement"`
	Child *struct {
		Signal string `json:"signal"`
		Stage  string `json:"stage"`
	} `json:"child"`
}

func (w wrapped) lines(t *testing.T) (lines []confinementOf) {
	t.Helper()
	text, err := os.ReadFile(w.audit)
	if err != nil {
		t.Fatalf("%v\n%+v", err, w)
	}
	for row := range strings.Lines(string(text)) {
		var line confinementOf
		if err := json.Unmarshal([]byte(row), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// The record says of every call and at the end what the kernel enforced, as the
// files beside it do.
func TestWrapRecordsConfinement(t *testing.T) {
	needConfinement(t)
	python := systemPython(t)
	script, err := filepath.Abs("testdata/server.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := realDir(t)
	writeFile(t, dir+"/note", "a note")
	report := realDir(t) + "/report.json"
	var input strings.Builder
	input.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"do","arguments":{"what":"read","path":%q}}}`+"\n", dir+"/note")
	fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"do","arguments":{"what":"read","path":"/etc/shadow"}}}`+"\n")
	w := wrap(t, input.String(), nil, []string{"--allow-read", dir, "--confine-report", report}, python, script)
	if w.code != 0 || !strings.Contains(w.stdout, "a note") || !strings.Contains(w.stdout, "PermissionError") {
		t.Fatalf("%+v", w)
	}
	if !strings.Contains(w.stderr, "aegis wrap: the server is confined") {
		t.Errorf("stderr: %s", w.stderr)
	}
	outcomes := 0
	var level, digest string
	for _, line := range w.lines(t) {
		switch line.Type {
		case "outcome":
			outcomes++
			if line.Confinement == nil || line.Confinement.Level == "" || line.Confinement.Controls != nil {
				t.Errorf("an outcome says %+v", line.Confinement)
			}
		case "close":
			if line.Confinement == nil || len(line.Confinement.Controls) != 8 || line.Confinement.Cause != "" {
				t.Fatalf("the close line says %+v", line.Confinement)
			}
			level, digest = line.Confinement.Level, line.Confinement.Digest
		}
	}
	if outcomes != 2 || level == "" || len(digest) != 64 {
		t.Errorf("%d outcomes, level %q, digest %q", outcomes, level, digest)
	}
	for _, file := range []string{w.audit + ".enforced.json", report} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		var got struct {
			ABI     int    `json:"landlock_abi"`
			Full    bool   `json:"landlock_fully_enforced"`
			Applied bool   `json:"seccomp_applied"`
			Denied  bool   `json:"seccomp_network_denied"`
			Level   string `json:"level"`
			Digest  string `json:"plan_digest"`
		}
		if err := json.Unmarshal(text, &got); err != nil || got.ABI != kernel().abi || !got.Full || !got.Applied || !got.Denied || got.Level != level || got.Digest != digest {
			t.Errorf("%s: %v: %s", file, err, text)
		}
	}
}

// How a confined server ended is told apart in the record and on stderr.
func TestWrapTellsEndings(t *testing.T) {
	needConfinement(t)
	sh := lookPath(t, "sh")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := realDir(t)
	writeFile(t, dir+"/settings", "")
	plain := filepath.Join(dir, "server")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		env    []string
		flags  []string
		argv   []string
		code   int
		cause  string
		signal string
		stage  string
		stderr string
	}{
		{"killed by the filter", []string{probeName + "=tcp"}, []string{"--confine-kill", "--env", probeName}, []string{self},
			128 + int(syscall.SIGSYS), "killed by seccomp", "SIGSYS", "run", "without --confine-kill"},
		{"denied at start", nil, nil, []string{sh, "-c", "cat <" + dir + "/settings"},
			2, "denied", "", "run", "--allow-read " + dir + "/settings"},
		{"cannot be executed", nil, []string{"--allow-exec", "none"}, []string{plain},
			1, "denied", "", "start", "--allow-read " + plain},
		{"a crash", nil, nil, []string{sh, "-c", "kill -SEGV $$"}, 128 + int(syscall.SIGSEGV), "", "SIGSEGV", "run", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := wrap(t, "", c.env, c.flags, c.argv...)
			lines := w.lines(t)
			end := lines[len(lines)-1]
			if end.Type != "close" || end.Confinement == nil || end.Child == nil {
				t.Fatalf("no such end: %+v\n%+v", end, w)
			}
			if w.code != c.code || end.Confinement.Cause != c.cause || end.Child.Signal != c.signal || end.Child.Stage != c.stage {
				t.Errorf("exit %d, cause %q, child %+v\n%s", w.code, end.Confinement.Cause, *end.Child, w.stderr)
			}
			if !strings.Contains(w.stderr, c.stderr) {
				t.Errorf("stderr: %s", w.stderr)
			}
		})
	}
}

// A server that cannot be confined as asked is not started, and the record says so.
func TestWrapRefusesToStart(t *testing.T) {
	needConfinement(t)
	sh := lookPath(t, "sh")
	for _, c := range []struct {
		flags []string
		err   string
	}{
		{[]string{"--allow-read", "/no/such"}, "--allow-read /no/such: no such file or directory"},
		{[]string{"--allow-net", "example.com:443"}, "--allow-net is not available yet"},
	} {
		w := wrap(t, "", nil, c.flags, sh, "-c", "echo ran")
		if w.code != 1 || w.stdout != "" || !strings.Contains(w.stderr, "error: "+c.err) {
			t.Errorf("%v: %+v", c.flags, w)
		}
		if _, err := os.Stat(w.audit); !os.IsNotExist(err) {
			t.Errorf("%v: a record was made", c.flags)
		}
	}
}
