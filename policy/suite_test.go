package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/policy"
	"github.com/go-json-experiment/json"
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

// TestExamplesKnowTheirServers: each starter policy judges every tool of its
// server, as the server lists it, and its bindings are to the schemas of today.
func TestExamplesKnowTheirServers(t *testing.T) {
	t.Parallel()
	for server, tools := range map[string]int{"filesystem": 14, "memory": 9, "everything": 19} {
		text, err := os.ReadFile("testdata/reference/" + server + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var listed []struct {
			Name            string `json:"name"`
			InputSchemaHash string `json:"input_schema_hash"`
			Properties      []struct {
				Path  string   `json:"path"`
				Types []string `json:"types"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(text, &listed); err != nil || len(listed) != tools {
			t.Fatal(err, len(listed))
		}
		u, err := policy.LoadSuite("../examples/policies/" + server + ".test.yaml")
		if err != nil {
			t.Fatal(err)
		}
		tried := map[string]bool{}
		for _, c := range u.Cases {
			for _, s := range c.Steps {
				tried[s.Request.Tool] = true
			}
		}
		surface := make([]policy.ToolSurface, len(listed))
		for i, l := range listed {
			if !tried[l.Name] {
				t.Errorf("%s: no case for %s", server, l.Name)
			}
			surface[i] = policy.ToolSurface{Name: l.Name, InputSchemaHash: l.InputSchemaHash}
			for _, p := range l.Properties {
				surface[i].Properties = append(surface[i].Properties, policy.Property(p))
			}
		}
		s, err := policy.Load(u.Policy)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range s.LintAgainst(policy.NewSurface(surface)) {
			t.Errorf("%v", w)
		}
		if text := "version: 1\n" + policy.ProposeBindings(surface); codesAt(mustParse(t, text).LintAgainst(policy.NewSurface(surface))) != nil {
			t.Errorf("%s: the proposed bindings do not fit", server)
		}
	}
}

// TestSuiteArguments: the arguments of a test are JSON as it is written, and what
// YAML readers take for different things must be quoted.
func TestSuiteArguments(t *testing.T) {
	t.Parallel()
	load := func(arguments string) (string, error) {
		u, err := policy.LoadSuite(writeSuite(t, "policy: p\ncases: [{name: n, tool: t, expect: allowed, arguments: "+arguments+"}]\n"))
		if err != nil {
			return "", err
		}
		return string(u.Cases[0].Steps[0].Request.Arguments), nil
	}
	for arguments, want := range map[string]string{
		`{}`: `{}`,
		`{a: x, "b": [1, 1.50, -0, 1e400, 9007199254740993], c: {d: null, e: ~, f: true}}`: `{"a":"x","b":[1,1.50,-0,1e400,9007199254740993],"c":{"d":null,"e":null,"f":true}}`,
		`{a: "1", b: 'true', c: "\u0007é"}`:                                                `{"a":"1","b":"true","c":"\u0007é"}`,
		`{a: ~/x, b: "", "c\"d": /srv/**}`:                                                 `{"a":"~/x","b":"","c\"d":"/srv/**"}`,
	} {
		if got, err := load(arguments); err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", arguments, got, err, want)
		}
	}
	for arguments, want := range map[string]string{
		`[a]`: "`arguments` is a mapping, found a list", `{a: yes}`: "`yes` may be read as a boolean", `{a: 0123}`: "may be read as a number",
		`{a: 2026-01-02}`: "may be read as a date", `{a: 1, a: 2}`: "given once", `{[a]: 1}`: "a name of an argument is text",
	} {
		if _, err := load(arguments); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", arguments, err, want)
		}
	}
}
