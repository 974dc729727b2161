package report

import (
	"path/filepath"
	"strings"
	"testing"
)

// A secret in any text of a finding is in no output, and the caller's finding is
// as it was.
func TestNoSecretComesOut(t *testing.T) {
	t.Parallel()
	const token = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
	dir := t.TempDir()
	o := Options{JSON: filepath.Join(dir, "x.jsonl"), SARIF: filepath.Join(dir, "x.sarif"), Rules: testRules}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	phrases := []string{"you are now", token}
	s.Report(Finding{
		RuleID: "WRD-RES-URL", Severity: Low, RPCID: []byte(`"\u0067` + token[1:] + `"`), Tool: token, Pointer: "/result/" + token,
		Message: "tools/" + token + ": found", Snippet: token, Target: "tools/" + token, Matched: phrases,
	})
	if err := s.Close(Summary{}); err != nil {
		t.Fatal(err)
	}
	if phrases[1] != token {
		t.Error("the caller's phrases have changed")
	}
	for _, path := range []string{o.JSON, o.SARIF} {
		text := string(read(t, path))
		if strings.Contains(text, token[8:]) {
			t.Errorf("%s", text)
		}
		if n := strings.Count(text, "ghp_…(len=40)"); n < 7 {
			t.Errorf("%d redactions in %s", n, text)
		}
	}
	// An id that is no secret is spelt as it was sent.
	f := Finding{RPCID: []byte(`"\u0061"`)}
	if got := f.redacted(); string(got.RPCID) != `"\u0061"` {
		t.Errorf("%s", got.RPCID)
	}
}
