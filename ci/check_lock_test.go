//go:build unix

// Package ci holds what continuous integration runs of aegis, and its tests.
package ci

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// serveEnv makes the test binary an MCP server; its value is the description of
// its one tool.
const serveEnv = "AEGIS_CI_TEST_SERVER"

func TestMain(m *testing.M) {
	if description, ok := os.LookupEnv(serveEnv); ok {
		serve(description)
		return
	}
	os.Exit(m.Run())
}

func serve(description string) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
		if m.Method == "tools/list" {
			// Its arguments are in the answer, so that the lock pins what it got.
			text, _ := json.Marshal(description + strings.Join(os.Args[1:], "|"))
			result = fmt.Sprintf(`{"tools":[{"name":"t","description":%s,"inputSchema":{"type":"object"}}]}`, text)
		}
		fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", m.ID, result)
	}
}

// fixture is a folder with a lock of the server, and the aegis that made it.
type fixture struct {
	dir, aegis string
	command    []string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{dir: t.TempDir(), aegis: filepath.Join(t.TempDir(), "aegis")}
	if out, err := exec.Command("go", "build", "-o", f.aegis, "../cmd/aegis").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	// Words that a shell would take apart, expand or run.
	f.command = []string{os.Args[0], "two words", "$HOME", "`id`", "$(touch ran)", "*", "a;b", `"`}
	pin := exec.Command(f.aegis, append([]string{"pin", "--approve", "--approver", "tester", "--"}, f.command...)...)
	pin.Dir, pin.Env = f.dir, append(os.Environ(), serveEnv+"=as pinned")
	if out, err := pin.CombinedOutput(); err != nil {
		t.Fatalf("pin: %v\n%s", err, out)
	}
	return f
}

// run runs the script as the action does, or with arguments as the hook does.
func (f *fixture) run(t *testing.T, args []string, env ...string) (code int, output, told string) {
	t.Helper()
	script, err := filepath.Abs("check-lock.sh")
	if err != nil {
		t.Fatal(err)
	}
	outputs := filepath.Join(t.TempDir(), "github-output")
	cmd := exec.Command(script, args...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), append([]string{"AEGIS=" + f.aegis, "GITHUB_OUTPUT=" + outputs, serveEnv + "=as pinned", "AEGIS_COMMAND=" + strings.Join(f.command, "\n")}, env...)...)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(outputs)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return code, string(out), string(text)
}

func TestAction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const drifted = serveEnv + "=as pinned, and more"
	tampered := filepath.Join(f.dir, "tampered.lock")
	text, err := os.ReadFile(filepath.Join(f.dir, "warden.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tampered, bytes.Replace(text, []byte(`"name": "t"`), []byte(`"name": "u"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		env  []string
		code int
		told string // in GITHUB_OUTPUT
		says string
	}{
		{"as pinned", []string{"AEGIS_SARIF=out.sarif"}, 0, "sarif=written\nexit-code=0\n", "no drift"},
		{"drift still leaves SARIF to upload", []string{drifted, "AEGIS_SARIF=out.sarif"}, 1, "sarif=written\nexit-code=1\n", "description-modified"},
		{"no SARIF asked for", []string{drifted}, 1, "exit-code=1\n", "description-modified"},
		{"a tampered lock leaves none", []string{"AEGIS_LOCK=tampered.lock", "AEGIS_SARIF=out.sarif"}, 2, "exit-code=2\n", "error: "},
		{"no lock", []string{"AEGIS_LOCK=none.lock"}, 2, "exit-code=2\n", "none.lock"},
		{"a key that did not sign", []string{"AEGIS_KEY=" + strings.Repeat("ab", 32)}, 2, "exit-code=2\n", "error: "},
		{"a line end of Windows, and empty lines", []string{"AEGIS_COMMAND=\n" + strings.Join(f.command, "\r\n") + "\r\n\n"}, 0, "exit-code=0\n", "no drift"},
		{"another command is another server", []string{"AEGIS_COMMAND=" + os.Args[0]}, 1, "exit-code=1\n", "server-identity"},
		{"no command", []string{"AEGIS_COMMAND=\n\n"}, 2, "", "one argument a line"},
		{"no aegis", []string{"AEGIS=/nonexistent/aegis"}, 2, "", "there is no /nonexistent/aegis"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, told := f.run(t, nil, c.env...)
			if code != c.code || told != c.told || !strings.Contains(out, c.says) {
				t.Errorf("exit %d, outputs %q, want %d, %q and %q in\n%s", code, told, c.code, c.told, c.says, out)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(f.dir, "ran")); err == nil {
		t.Error("an argument was evaluated by a shell")
	}
}

// A file of an earlier run is not taken for that of a run that found out nothing.
func TestStaleFindingsAreNotUploaded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	stale := filepath.Join(f.dir, "out.sarif")
	if err := os.WriteFile(stale, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, told := f.run(t, nil, "AEGIS_LOCK=none.lock", "AEGIS_SARIF=out.sarif")
	if code != 2 || told != "exit-code=2\n" {
		t.Errorf("exit %d, outputs %q:\n%s", code, told, out)
	}
}

// What an earlier run left is removed first: that must not be the lock.
func TestTheLockIsNotRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	code, out, _ := f.run(t, nil, "AEGIS_SARIF=./warden.lock")
	if code != 2 || !strings.Contains(out, "the file for SARIF is the lock") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "warden.lock")); err != nil {
		t.Error(err)
	}
}

func TestHook(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	args := append([]string{"--lock", "warden.lock", "--"}, f.command...)
	if code, out, _ := f.run(t, args); code != 0 {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if code, out, _ := f.run(t, args, serveEnv+"=other"); code != 1 {
		t.Errorf("exit %d after drift:\n%s", code, out)
	}
}

// The definitions run the script, and no input stands in the text of a script.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	var action struct {
		Inputs map[string]struct{ Description string }
		Runs   struct {
			Using string
			Steps []struct {
				Uses, Shell, Run, If string
				Env, With            map[string]string
			}
		}
	}
	load(t, "../action.yml", &action)
	for _, name := range []string{"lock", "command", "key", "sarif"} {
		if action.Inputs[name].Description == "" {
			t.Errorf("the action has no described input %s", name)
		}
	}
	var runs, uploads bool
	for _, s := range action.Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("an expression in the text of a script: %s", s.Run)
		}
		if strings.Contains(s.Run, "/ci/check-lock.sh") {
			runs = s.Shell == "bash" && s.Env["AEGIS_COMMAND"] == "${{ inputs.command }}" && s.Env["AEGIS_LOCK"] == "${{ inputs.lock }}" &&
				s.Env["AEGIS_KEY"] == "${{ inputs.key }}" && s.Env["AEGIS_SARIF"] == "${{ inputs.sarif }}"
		}
		if strings.HasPrefix(s.Uses, "github/codeql-action/upload-sarif@") {
			uploads = strings.Contains(s.If, "!cancelled()") && s.With["sarif_file"] == "${{ inputs.sarif }}"
		}
	}
	if action.Runs.Using != "composite" || !runs || !uploads {
		t.Errorf("composite %q, runs the script %v, uploads after drift %v", action.Runs.Using, runs, uploads)
	}
	var hooks []struct{ ID, Entry, Language string }
	load(t, "../.pre-commit-hooks.yaml", &hooks)
	if len(hooks) != 1 || hooks[0].Entry != "ci/check-lock.sh" || hooks[0].Language != "script" {
		t.Errorf("hooks %+v", hooks)
	}
	if info, err := os.Stat("check-lock.sh"); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("the script cannot be run: %v", err)
	}
}

func load(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
