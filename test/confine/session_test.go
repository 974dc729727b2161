//go:build linux

package confine

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/confine"
)

// toolCall is one call of a session, and its answer's text.
type toolCall struct {
	tool      string
	arguments string // JSON
	text      string // a part of what the answer says
	failed    bool   // it is an error result
}

// answerPatience bounds one answer of a real server.
const answerPatience = 60 * time.Second

// session runs an MCP session with a confined server and checks every answer.
func session(t *testing.T, r confine.Request, calls []toolCall) *confine.Report {
	t.Helper()
	plan := newPlan(t, r)
	var stderr bytes.Buffer
	cmd := &exec.Cmd{Stderr: &stderr}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	launch, err := plan.Prepare(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer launch.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	report, err := launch.Await()
	if err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(answerPatience, func() { cmd.Process.Kill() })
	defer overdue.Stop()
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	answer(t, lines, 0, &stderr)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i, c := range calls {
		fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", i+1, c.tool, c.arguments)
		text, failed := answer(t, lines, i+1, &stderr)
		if !strings.Contains(text, c.text) || failed != c.failed {
			t.Errorf("%s %s: failed %v, %s", c.tool, c.arguments, failed, text)
		}
	}
	stdin.Close()
	io.Copy(io.Discard, stdout)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, stderr.String())
	}
	return report
}

// answer reads up to the answer of one id.
func answer(t *testing.T, lines *bufio.Scanner, id int, stderr *bytes.Buffer) (text string, failed bool) {
	t.Helper()
	for lines.Scan() {
		var m struct {
			ID     *int           `json:"id"`
			Method string         `json:"method"`
			Result jsontext.Value `json:"result"`
			Error  jsontext.Value `json:"error"`
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if m.ID == nil || *m.ID != id || m.Method != "" {
			continue
		}
		var result struct {
			IsError bool `json:"isError"`
		}
		if len(m.Result) > 0 {
			if err := json.Unmarshal(m.Result, &result); err != nil {
				t.Fatal(err)
			}
		}
		return string(m.Result) + string(m.Error), result.IsError || len(m.Error) > 0
	}
	t.Fatalf("the server ended before it answered %d\n%s", id, stderr.String())
	return "", false
}
