package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/policy"
)

func codesAt(warnings []policy.Warning) []string {
	var out []string
	for _, w := range warnings {
		if strings.HasPrefix(string(w.Code), "POL-LINT") || w.Code == policy.NotAPattern {
			out = append(out, fmt.Sprintf("%d %s", w.Line, w.Code))
		}
	}
	return out
}

// TestLintArguments holds every warning about the argument half, with its line.
func TestLintArguments(t *testing.T) {
	t.Parallel()
	section := func(s string) string { return "version: 1\ntools:\n  t:\n    " + s + "\n" }
	for _, c := range []struct {
		name, src string
		want      []string
	}{
		{"nothing to say", section(`filesystem_read: {allow_paths: ["/srv/**"], deny_paths: ["**/.env", "**/.env.*"]}`), nil},
		{"no version", "tools: {}\n", []string{"1 POL-LINT-VERSION"}},
		{"both allowed and denied", section("filesystem_write: {allow_paths: [/a, /b], deny_paths: [/A]}"), []string{"4 POL-LINT-CONFLICT"}},
		{"a network both opened and denied", section("http_request: {allow_cidrs: [10.0.0.0/8], deny_cidrs: [10.0.0.0/8]}"), []string{"4 POL-LINT-CONFLICT"}},
		{"an empty allow list", section("shell_exec: {allow: true, allow_commands: []}"), []string{"4 POL-LINT-EMPTY-ALLOW"}},
		{"an empty list of hosts", section("http_request: {allow_hosts: []}"), []string{"4 POL-LINT-EMPTY-ALLOW"}},
		{"a pattern that is no path", section(`filesystem_read: {allow_paths: ["/a/../b", /c/**]}`), []string{"4 POL-LINT-NEVER-MATCHES"}},
		{"a command with blanks", section("shell_exec: {allow: true, allow_commands: [git status]}"), []string{"4 POL-LINT-NEVER-MATCHES"}},
		{"a list of commands that may not run", section("shell_exec: {allow: false, allow_commands: [git]}"), []string{"4 POL-LINT-NO-EFFECT"}},
		{"opened though private is allowed", section("http_request: {deny_private: false, allow_cidrs: [10.0.0.0/8]}"), []string{"4 POL-LINT-NO-EFFECT"}},
		{"unresolved beside a list", section("http_request: {allow_hosts: [a.example], allow_unresolved: true}"), []string{"4 POL-LINT-NO-EFFECT"}},
		{"an environment file of another name", section(`filesystem_read: {allow_paths: [/a/**], deny_paths: ["**/*.env"]}`), []string{"4 POL-LINT-EXAMPLE"}},
		{"a deny that a tool drops", "version: 1\ndefaults:\n  filesystem_read: {deny_paths: [/a, /b]}\ntools:\n  t:\n    filesystem_read:\n      deny_paths: [/b]\n", []string{"7 POL-LINT-REPLACED"}},
		{"an unpinned binding", "version: 1\nbindings:\n  t: {other: [a]}\n", []string{"3 POL-LINT-UNPINNED"}},
		{"a pattern for tools", "version: 1\ntools:\n  \"delete_*\": {}\n", []string{"2 not-a-pattern"}},
	} {
		if got := codesAt(mustParse(t, c.src).Warnings()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestProposedBindings: what is proposed loads, fits the lock it was made from,
// names every argument, and judges a call as its guess would.
func TestProposedBindings(t *testing.T) {
	t.Parallel()
	hash := "sha256:" + strings.Repeat("a", 64)
	text, number := []string{"string"}, []string{"number"}
	tools := []policy.ToolSurface{
		{Name: "read_file", Capabilities: []string{"fs-read"}, InputSchemaHash: hash, Properties: []policy.Property{{Path: "$root"}, {Path: "path", Types: text}, {Path: "head", Types: number}}},
		{Name: "copy", InputSchemaHash: hash, Properties: []policy.Property{{Path: "jobs[]"}, {Path: "jobs[].source", Types: text}, {Path: "jobs[].dest", Types: text}, {Path: "jobs[].note", Types: text}}},
		{Name: "on", InputSchemaHash: hash, Properties: []policy.Property{{Path: "a~b/c", Types: text}, {Path: "url", Types: nil}}},
		{Name: "fetch_inbox", Capabilities: []string{"http-request"}, InputSchemaHash: hash},
		{Name: "no hash", Properties: []policy.Property{{Path: "command", Types: text}, {Path: "paths", Types: []string{"array"}}, {Path: "paths[]", Types: text}}},
	}
	src := "version: 1\n" + policy.ProposeBindings(tools)
	set := mustParse(t, src)
	if got := codesAt(set.LintAgainst(policy.NewSurface(tools))); len(got) > 0 {
		t.Errorf("%q\n%s", got, src)
	}
	e := policy.NewEngine(set, policy.WithSurface(policy.NewSurface(tools)))
	for _, c := range []struct{ tool, arguments, want string }{
		{"read_file", `{"path":"/a"}`, "fs.read/path"},
		{"copy", `{"jobs":[{"source":"/a","dest":"/b","note":"/c"}]}`, "fs.read/jobs/0/source fs.write/jobs/0/dest"},
		{"on", `{"a~b/c":"x","url":"http://h/"}`, "net/url"},
		{"fetch_inbox", `{}`, ""},
		{"no hash", `{"command":"ls","paths":["/a","/b"]}`, "exec/command fs.read/paths/0 fs.read/paths/1"},
	} {
		var got []string
		for _, p := range decideOne(e, c.tool, c.arguments).Params {
			got = append(got, p.Shape.Axis()+p.Arg)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q\n%s", c.tool, got, c.want, src)
		}
	}
	if got := policy.ProposeBindings(nil); mustParse(t, got).Warnings() == nil {
		t.Error(got)
	}
}

// TestExplainArguments: the edits are those of the constraint that decides, for
// every refusal, and the rules' where they would refuse as well.
func TestExplainArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src, arguments string
		want                 []string
		then                 policy.Action
	}{
		{"a deny", "tools:\n  t:\n    filesystem_read:\n      allow_paths: [/a/**]\n      deny_paths: [/a/b]\n", `{"path":"/a/b"}`, []string{"line 5: remove `/a/b`"}, policy.Allow},
		{"not allowed", "tools:\n  t:\n    filesystem_read:\n      allow_paths: [/a]\n", `{"path":"/b"}`, []string{"line 4: change `allow_paths: [\"/a\"]` to `allow_paths: [\"/a\", \"/b\"]` in rule `tools.t.filesystem_read`"}, policy.Allow},
		{"no list", "tools:\n  t:\n    filesystem_read: {}\n", `{"path":"/b"}`, []string{"after line 3: add `allow_paths: [\"/b\"]`"}, policy.Allow},
		{"no section", "tools: {}\n", `{"path":"/b"}`, []string{"after line 1: add `t: {filesystem_read: {allow_paths: [\"/b\"]}}`"}, policy.Allow},
		{"no tools", "defaults: {}\n", `{"command":"ls"}`, []string{"at the top: add `tools: {t: {shell_exec: {allow: true}}}`"}, policy.Allow},
		{"two refusals", "tools:\n  t:\n    filesystem_read: {allow_paths: []}\n    shell_exec: {allow: false}\n", `{"path":"/b","command":"ls"}`,
			[]string{"line 3: change `allow_paths: []` to `allow_paths: [\"/b\"]` in rule `tools.t.filesystem_read`", "line 4: change `allow: false` to `allow: true` in rule `tools.t.shell_exec`"}, policy.Allow},
		{"a private host", "tools:\n  t:\n    http_request: {}\n", `{"url":"http://10.0.0.5/"}`, []string{"after line 3: add `allow_cidrs: [\"10.0.0.5/32\"]`"}, policy.Allow},
		{"a metadata host", "tools: {}\n", `{"url":"http://169.254.169.254/"}`, nil, policy.Deny},
		{"a host that is not listed", "tools:\n  t:\n    http_request: {allow_hosts: [a.example]}\n", `{"url":"http://b.example/"}`, []string{"line 3: change `allow_hosts: [a.example]` to `allow_hosts: [a.example, b.example]` in rule `tools.t.http_request`"}, policy.Allow},
		{"a kind that is built in", "tools:\n  t:\n    sql_query: {allow_readonly_only: false}\n", `{"sql":"DROP TABLE t"}`, []string{"after line 3: add `deny_statements: [DELETE, TRUNCATE, ALTER, GRANT, REVOKE, UPDATE]`"}, policy.Allow},
		{"no reading", "tools: {}\n", `{"command":"ls"}`, []string{"after line 1: add `t: {shell_exec: {allow: true}}`"}, policy.Allow},
		{"the rules refuse as well", "default: deny\ntools:\n  t:\n    filesystem_read: {}\n", `{"path":"/b"}`, []string{"after line 4: add `allow_paths: [\"/b\"]`", "line 1: change `default: deny` to `default: allow`"}, policy.Allow},
		{"a human is asked then", "rules: [{id: ask, action: pending_approval}]\ntools:\n  t:\n    filesystem_read: {}\n", `{"path":"/b"}`, []string{"after line 4: add `allow_paths: [\"/b\"]`"}, policy.PendApproval},
	} {
		x := mustParse(t, c.src).Explain(policy.Request{Tool: "t", Arguments: []byte(c.arguments)})
		var got []string
		for _, e := range x.Edits {
			got = append(got, e.String())
		}
		if !slices.Equal(got, c.want) || x.Then != c.then || x.Judgement.Denied == nil {
			t.Errorf("%s: then %v\n got %q\nwant %q", c.name, x.Then, got, c.want)
		}
	}
}
