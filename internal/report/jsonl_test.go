package report

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

type closer struct{ bytes.Buffer }

func (*closer) Close() error { return nil }

func TestJSONLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out.jsonl")
	s, err := Open(Options{JSON: path})
	if err != nil {
		t.Fatal(err)
	}
	s.Report(Finding{
		RuleID: "WRD-RES-SECRET-ECHO", SubRule: "WRD-SEC-GITHUB", Severity: Critical, Tier: "block", Action: Blocked, Direction: "s2c",
		RPCID: []byte(`9007199254740993`), Tool: "read", Block: new(0), Message: "tools/read: a token", Snippet: "ghp_…(len=40)",
	})
	// Lines are there as they come.
	if got := string(read(t, path)); got != `{"kind":"result-finding","rule_id":"WRD-RES-SECRET-ECHO","level":"error","sub_rule":"WRD-SEC-GITHUB","severity":"critical",`+
		`"tier":"block","action":"blocked","direction":"s2c","rpc_id":9007199254740993,"tool":"read","block_index":0,"snippet":"ghp_…(len=40)","message":"tools/read: a token"}`+"\n" {
		t.Errorf("%s", got)
	}
	s.Report(Finding{RuleID: "WRD-RES-INJECT-PHRASE", Severity: Medium, Tier: "monitor", Action: Passed, RPCID: []byte(`"\u0061\/"`), Pointer: "/result/x", Matched: []string{"you are now"}})
	s.Report(Finding{Kind: "drift", RuleID: "WRD-DRIFT-TOOL-ADDED", Severity: High, DriftClass: "tool-added", Target: "tools/x", Message: "a tool", File: "warden.lock", Line: 3})
	if err := s.Close(Summary{Frames: 12}); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(read(t, path)), "\n")
	for i, want := range []string{
		1: `{"kind":"result-finding","rule_id":"WRD-RES-INJECT-PHRASE","level":"warning","severity":"medium","tier":"monitor","action":"passed","rpc_id":"\u0061\/","pointer":"/result/x","matched_phrases":["you are now"]}`,
		2: `{"kind":"drift","rule_id":"WRD-DRIFT-TOOL-ADDED","level":"error","severity":"high","drift_class":"tool-added","target":"tools/x","file":"warden.lock","line":3,"message":"a tool"}`,
		3: `{"kind":"run-summary","frames_inspected":12,"findings":3,"inject_phrase_findings":1,"actions":{"blocked":1,"passed":1},` +
			`"rules":{"WRD-DRIFT-TOOL-ADDED":1,"WRD-RES-INJECT-PHRASE":1,"WRD-RES-SECRET-ECHO":1}}`,
	} {
		if want != "" && lines[i] != want+"\n" {
			t.Errorf("line %d is %s", i, lines[i])
		}
	}
}

func TestJSONLinesAreBounded(t *testing.T) {
	t.Parallel()
	out := &closer{}
	j := NewJSONL(out)
	j.bound = 1000
	count := newTally()
	var told []error
	for i := range 50 {
		f := ansi(i)
		count.add(&f)
		if err := j.write(&f); err != nil {
			told = append(told, err)
		}
	}
	if err := j.close(Summary{}, &count); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !strings.Contains(told[0].Error(), "1000 bytes") {
		t.Errorf("told %v", told)
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	var last struct {
		Findings   int
		NotWritten int `json:"findings_not_written"`
	}
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil || last.Findings != 50 || last.NotWritten != 50-(len(lines)-1) {
		t.Errorf("%+v with %d lines: %v", last, len(lines), err)
	}

	f := worst()
	big := NewJSONL(&closer{})
	if err := big.write(&f); err != nil || big.size > 128<<10 {
		t.Errorf("one finding has %d bytes: %v", big.size, err)
	}
}
