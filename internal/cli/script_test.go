package cli

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/lock"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"aegis": func() {
			confine.RunHelper(os.Args)
			os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// TestScripts runs every command as a user does, one script a subject.
func TestScripts(t *testing.T) {
	vectors, err := filepath.Abs("../../aar/testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("VECTORS", vectors)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":        exits,
			"bytes":        writeBytes,
			"foreign-line": foreignLine,
			"await":        await,
			"name":         name,
			"lock":         pinned,
		},
	})
}

// pinned writes a lock file of tools, whose secrets are no echo if a third
// argument says so: lock FILE TOOLS.json [exempt].
func pinned(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: lock FILE TOOLS.json [exempt]")
	}
	var tools []jsontext.Value
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &tools))
	s := &lock.Surface{Command: "server", ProtocolVersion: "2025-06-18", Tools: tools}
	o := lock.PinOptions{Schema: lock.Level4, Version: "test", Now: time.Unix(0, 0), Approver: "tester"}
	l, err := lock.New(s, o)
	ts.Check(err)
	if len(args) > 2 {
		applies := false
		for i := range l.Tools {
			l.Tools[i].Inspection = &lock.Inspection{SecretEchoApplies: &applies}
		}
		o.Keep = l
		l, err = lock.New(s, o)
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), l.Bytes(), 0o600))
}

// exits runs a command and holds it to an exit code: `exits 3 aegis verify x`.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit %d, not %d", code, want)
	}
}

// writeBytes writes a file that a script cannot hold: `bytes FILE "\xff\n"`.
func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bytes FILE GO_STRING")
	}
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// foreignLine appends a line of a type we do not know, in its right place
// behind a record: `foreign-line RECORD OUT SEQ GO_STRING`.
func foreignLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: foreign-line RECORD OUT SEQ GO_STRING")
	}
	lineType, err := strconv.Unquote(`"` + args[3] + `"`)
	ts.Check(err)
	record := bytes.TrimSpace([]byte(ts.ReadFile(args[0])))
	last := record[bytes.LastIndexByte(record, '\n')+1:]
	name, err := jsontext.AppendQuote(nil, lineType)
	ts.Check(err)
	line := fmt.Sprintf(`{"line_type":%s,"prev_hash":"%x","schema_version":2,"seq":%s}`, name, sha256.Sum256(last), args[2])
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(string(record)+"\n"+line+"\n"), 0o600))
}

// await waits until a file has something in it: `await FILE`.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if info, err := os.Stat(ts.MkAbs(args[0])); err == nil && info.Size() > 0 {
			return
		}
	}
	ts.Fatalf("%s is still empty", args[0])
}

// name sets a variable to a text that a script cannot hold: `name VAR GO_STRING`.
func name(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: name VAR GO_STRING")
	}
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Setenv(args[0], text)
}
