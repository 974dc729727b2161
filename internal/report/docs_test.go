package report

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The examples of docs/outputs.md are what is written.
func TestDocumentedExamples(t *testing.T) {
	t.Parallel()
	doc := string(read(t, "../../docs/outputs.md"))
	dir := t.TempDir()
	o := Options{
		JSON: filepath.Join(dir, "x.jsonl"), SARIF: filepath.Join(dir, "x.sarif"), Subject: "../../warden.lock",
		Rules: []Rule{{ID: "WRD-RES-SECRET-ECHO", Severity: Critical, Short: "x"}},
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	s.doc(t).subject = "warden.lock" // wherever the tests run
	s.Report(Finding{
		RuleID: "WRD-RES-SECRET-ECHO", SubRule: "WRD-SEC-GITHUB", Severity: Critical, Tier: "block", Action: Blocked, Direction: "s2c",
		RPCID: []byte("2"), Tool: "read_file", Block: new(0), Snippet: "ghp_…(len=40)",
		Message: "secret pattern WRD-SEC-GITHUB echoed in result",
	})
	if err := s.Close(Summary{Frames: 2}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(read(t, o.JSON))) {
		inDocs(t, doc, line)
	}
	var log struct {
		Runs []struct{ Results []json.RawMessage }
	}
	if err := json.Unmarshal(read(t, o.SARIF), &log); err != nil {
		t.Fatal(err)
	}
	inDocs(t, doc, string(log.Runs[0].Results[0])+"\n")
	for _, bound := range []string{"25,000 results", "ends at 256 MiB", "cut at 900 bytes"} {
		if !strings.Contains(doc, bound) {
			t.Errorf("the docs do not say: %s", bound)
		}
	}
	if MaxResults != 25_000 || maxJSONL != 256<<20 {
		t.Error("the docs say other bounds")
	}
	for severity, score := range map[string]string{Critical: "9.5", High: "8.0", Medium: "5.5", Low: "2.0"} {
		if securitySeverity(severity) != score || !strings.Contains(strings.ReplaceAll(doc, "\n", " "), fmt.Sprint(severity, " ", score)) {
			t.Errorf("%s is not documented as %s", severity, score)
		}
	}
}

func (s *Sinks) doc(t *testing.T) *SARIF {
	for _, sink := range s.sinks {
		if doc, ok := sink.to.(*SARIF); ok {
			return doc
		}
	}
	t.Fatal("no SARIF")
	return nil
}

func inDocs(t *testing.T, doc, line string) {
	t.Helper()
	if !strings.Contains(doc, "\n    "+line) {
		t.Errorf("the docs do not show\n    %s", line)
	}
}
