//go:build linux

package confine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/test/internal/harness"
)

// npmServer is where test/interop/install puts a server. It fails the test if the
// servers are not there, so that a run without them cannot pass for one with them.
func npmServer(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv("AEGIS_TEST_NPM") == "skip" {
		t.Skip("AEGIS_TEST_NPM=skip: the real servers are not run")
	}
	path, err := filepath.Abs("../interop/node_modules/@modelcontextprotocol/server-" + name + "/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; run `make interop-deps`, or set AEGIS_TEST_NPM=skip to go without", err)
	}
	return path
}

// realDir is a directory for a test, without links on the way to it.
func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The reference servers run with what they are for granted, and nothing else.
func TestServerFilesystem(t *testing.T) {
	needConfinement(t)
	dir := realDir(t)
	writeFile(t, filepath.Join(dir, "note"), "a note")
	argv := []string{"node", npmServer(t, "filesystem"), dir}
	read := toolCall{"read_text_file", fmt.Sprintf(`{"path":%q}`, dir+"/note"), "a note", false}
	write := toolCall{"write_file", fmt.Sprintf(`{"path":%q,"content":"x"}`, dir+"/made"), "", true}

	t.Run("to read", func(t *testing.T) {
		write.text = "EACCES"
		session(t, confine.Request{Argv: argv, Read: []string{dir}}, []toolCall{read, write})
	})
	t.Run("to write", func(t *testing.T) {
		write.text, write.failed = "Successfully wrote", false
		session(t, confine.Request{Argv: argv, Write: []string{dir}}, []toolCall{read, write})
	})
	t.Run("more than it was granted", func(t *testing.T) {
		// The server itself would read all of its directory.
		writeFile(t, filepath.Join(dir, "secret"), "secret")
		session(t, confine.Request{Argv: argv, Read: []string{dir + "/note"}}, []toolCall{
			read, {"read_text_file", fmt.Sprintf(`{"path":%q}`, dir+"/secret"), "EACCES", true},
		})
	})
}

func TestServerEverything(t *testing.T) {
	needConfinement(t)
	report := session(t, confine.Request{Argv: []string{"node", npmServer(t, "everything")}}, []toolCall{
		{"echo", `{"message":"hello"}`, "hello", false},
		{"get-sum", `{"a":1,"b":2}`, "3", false},
	})
	if kernel().abi >= 6 && kernel().errata&2 != 0 && report.Level != confine.LevelFull {
		t.Errorf("level %s: %+v", report.Level, report.Controls)
	}
}

func TestServerMemory(t *testing.T) {
	needConfinement(t)
	dir := realDir(t)
	session(t, confine.Request{
		Argv: []string{"node", npmServer(t, "memory")}, Write: []string{dir}, Env: []string{"MEMORY_FILE_PATH=" + dir + "/memory.jsonl"},
	}, []toolCall{
		{"create_entities", `{"entities":[{"name":"a","entityType":"b","observations":[]}]}`, "a", false},
		{"read_graph", `{}`, "entityType", false},
	})
	if _, err := os.Stat(dir + "/memory.jsonl"); err != nil {
		t.Error(err)
	}
}

// Through npx a server needs a shell and the project it is installed in: the flags
// that docs/confine.md gives.
func TestServerThroughNpx(t *testing.T) {
	needConfinement(t)
	npmServer(t, "everything")
	lookPath(t, "npx")
	project, err := filepath.Abs("../interop")
	if err != nil {
		t.Fatal(err)
	}
	session(t, confine.Request{
		Argv: []string{"npx", "--no-install", "mcp-server-everything"}, Dir: project,
		Exec: []string{"/bin/sh", "node_modules/.bin/mcp-server-everything"}, Read: []string{"."}, Env: []string{"npm_config_offline=true"},
	}, []toolCall{{"echo", `{"message":"hello"}`, "hello", false}})
}

func TestServerPython(t *testing.T) {
	needConfinement(t)
	python := systemPython(t)
	script, err := filepath.Abs("testdata/server.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := realDir(t)
	writeFile(t, dir+"/note", "a note")
	session(t, confine.Request{Argv: []string{python, script}, Read: []string{dir}, Exec: []string{"/bin/sh"}}, []toolCall{
		{"do", fmt.Sprintf(`{"what":"read","path":%q}`, dir+"/note"), "a note", false},
		{"do", fmt.Sprintf(`{"what":"write","path":%q}`, dir+"/note"), "PermissionError", true},
		{"do", `{"what":"read","path":"/etc/shadow"}`, "PermissionError", true},
		{"do", `{"what":"user"}`, userName(t), false},
		{"do", `{"what":"thread"}`, "thread", false},
		{"do", `{"what":"subprocess","path":"/bin/sh"}`, "child", false},
		{"do", `{"what":"ssl"}`, "CERT_REQUIRED", false},
		{"do", `{"what":"modules"}`, "1e3b0", false},
		{"do", `{"what":"socket"}`, "PermissionError", true},
	})
}

func userName(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("id", "-un").Output()
	if err != nil {
		t.Skip(err)
	}
	return string(out[:len(out)-1])
}

// A static program needs nothing but itself.
func TestServerStaticGo(t *testing.T) {
	needConfinement(t)
	root, err := harness.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	server := filepath.Join(realDir(t), "server")
	build := exec.Command("go", "build", "-o", server, harness.ModelServer)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, r := range map[string]confine.Request{
		"auto": {Argv: []string{server}},
		"none": {Argv: []string{server}, Exec: []string{confine.ExecNone}, Read: []string{server}},
	} {
		t.Run(name, func(t *testing.T) {
			session(t, r, []toolCall{{"touch", `{}`, "touched", false}, {"fail", `{}`, "failed as asked", true}})
		})
	}
}
