package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/policy"
)

func writeSuite(t *testing.T, src string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.test.yaml")
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSuite(t *testing.T) {
	s := mustParse(t, "default: deny\nrules:\n- {id: rl, action: rate_limit, tool: x, rate: {max: 2, per_seconds: 60}}\n- {id: ask, action: pending_approval, tool: q}\n")
	u, err := policy.LoadSuite(writeSuite(t, `policy: p.yaml
cases:
  - {name: good, tool: x, expect: allowed, rule: rl}
  - {name: default, tool: other, expect: denied, rule: "", reason: no matching rule (default deny)}
  - name: window
    steps:
      - {tool: x, expect: allowed, times: 2}
      - {tool: x, expect: rate_limited, after_seconds: 59}
      - {tool: x, expect: allowed, after_seconds: 1}
  - {name: wrong verdict, tool: q, expect: allowed}
  - {name: wrong rule, tool: x, expect: allowed, rule: ask}
  - {name: wrong reason, tool: other, expect: denied, reason: because}
  - name: wrong later
    steps:
      - {tool: x, expect: allowed, times: 3}
`))
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(u.Policy) != "p.yaml" || !filepath.IsAbs(u.Policy) {
		t.Errorf("policy %s", u.Policy)
	}
	want := []string{"", "", "",
		"want allowed, got pending_approval by rule `ask`",
		"allowed as wanted, but by rule `rl`, want rule `ask`",
		"denied as wanted, but with reason `no matching rule (default deny)`, want `because`",
		"call 3 of 3: want allowed, got rate_limited by rule `rl`",
	}
	for i, r := range u.Run(s) {
		if r.Failure != want[i] || r.Passed() != (want[i] == "") {
			t.Errorf("%s: %q, want %q", r.Case.Name, r.Failure, want[i])
		}
	}
	if last := u.Run(s)[6]; last.Step.Line != 15 {
		t.Errorf("line %d", last.Step.Line)
	}
}

func TestSuiteErrors(t *testing.T) {
	for src, want := range map[string]string{
		"":                            "the file is empty; an empty policy test is not a policy test",
		"policy: p.yaml\n":            "a policy test needs `cases`",
		"policy: p.yaml\ncases: []\n": "`cases` is a list of one case or more, found a list",
		"cases: [{}]\n":               "a policy test needs `policy`",
		"policy: p\ncases: [{name: a, tool: x}]\n":                                                   "a case needs `expect`",
		"policy: p\ncases: [{name: a, tool: x, expect: alowed}]\n":                                   "did you mean `allowed`?",
		"policy: p\ncases: [{name: a, steps: [{tool: x}]}]\n":                                        "a step needs `expect`",
		"policy: p\ncases: [{name: a, tool: x, expects: allowed}]\n":                                 "unknown key `expects` in a case; did you mean `expect`?",
		"policy: p\ncases: [{tool: x, expect: allowed}]\n":                                           "a case needs `name`",
		"policy: p\ncases: [{name: a, tool: x, steps: []}]\n":                                        "`tool` stands in each step of a case with `steps`",
		"policy: p\ncases: [{name: a, steps: [{tool: x, expect: denied, times: 0}]}]":                "`times` is at least 1",
		"policy: p\ncases: [{name: a, tool: x, expect: denied}, {name: a, tool: x, expect: denied}]": "a case named `a` is on line 2 already",
	} {
		if _, err := policy.LoadSuite(writeSuite(t, src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", src, err, want)
		}
	}
	if _, err := policy.LoadSuite(t.TempDir()); err == nil || !strings.Contains(err.Error(), "policy test source read error for") {
		t.Error(err)
	}
}

// TestExamples runs the test file of every starter policy.
func TestExamples(t *testing.T) {
	files, _ := filepath.Glob("../examples/policies/*.test.yaml")
	if len(files) != 3 {
		t.Fatalf("%d policy tests", len(files))
	}
	for _, file := range files {
		u, err := policy.LoadSuite(file)
		if err != nil {
			t.Error(err)
			continue
		}
		s, err := policy.Load(u.Policy)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, w := range s.Warnings() {
			t.Errorf("%v", w)
		}
		for _, r := range u.Run(s) {
			if !r.Passed() {
				t.Errorf("%s:%d: %s: %s", file, r.Step.Line, r.Case.Name, r.Failure)
			}
		}
	}
}
