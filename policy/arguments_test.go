package policy_test

import (
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/policy"
	"github.com/go-json-experiment/json/jsontext"
)

func judged(t testing.TB, src, tool, arguments string) policy.Verdict {
	t.Helper()
	return decideOne(policy.NewEngine(mustParse(t, src)), tool, arguments)
}

func decideOne(e *policy.Engine, tool, arguments string) policy.Verdict {
	var raw []byte
	if arguments != "" {
		raw = []byte(arguments)
	}
	var v [1]policy.Verdict
	e.Decide([]policy.Request{{Tool: tool, Arguments: raw}}, v[:])
	return v[0]
}

// jsonText spells a string as JSON.
func jsonText(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestConstraints holds each constraint, its default and what it says.
func TestConstraints(t *testing.T) {
	t.Parallel()
	tool := func(section string) string { return "version: 1\ntools: {t: {" + section + "}}\n" }
	for _, c := range []struct{ name, src, arguments, want, reason string }{
		{"no allow_paths", tool("filesystem_write: {}"), `{"path":"/a"}`, "denied POL-FS-DENY", "path `/a` is not allowed: there is no allow_paths"},
		{"deny_paths alone", tool("filesystem_write: {deny_paths: [/b/**]}"), `{"path":"/a"}`, "denied POL-FS-DENY", "there is no allow_paths"},
		{"empty allow_paths", tool("filesystem_write: {allow_paths: []}"), `{"path":"/a"}`, "denied POL-FS-DENY", "path `/a` is not in allow_paths"},
		{"allowed path", tool("filesystem_write: {allow_paths: [/a/**]}"), `{"path":"/a/b"}`, "allowed", ""},
		{"deny beats allow", tool("filesystem_write: {allow_paths: [/a/**], deny_paths: [/a/b]}"), `{"path":"/a/b"}`, "denied POL-FS-DENY", "path `/a/b` matches deny_paths `/a/b`"},
		{"deny is blind to case", tool("filesystem_write: {allow_paths: [/a/**], deny_paths: [/a/b]}"), `{"path":"/a/B"}`, "denied POL-FS-DENY", "path `/a/B` matches deny_paths `/a/b`"},
		{"allow is exact", tool("filesystem_write: {allow_paths: [/a/b]}"), `{"path":"/a/B"}`, "denied POL-FS-DENY", "is not in allow_paths"},
		{"one of many denied", tool("filesystem_read: {allow_paths: [/a/**]}"), `{"paths":["/a/1","/b/2","/a/3"]}`, "denied POL-FS-DENY", "path `/b/2` is not in allow_paths"},
		{"control characters are escaped", tool("filesystem_read: {allow_paths: [/a/**]}"), `{"path":"/a\u001b[2J"}`, "denied POL-ARG-AMBIGUOUS", "argument `/path`: the path cannot be read one way: "},
		{"home as written", tool("filesystem_read: {allow_paths: [\"~/notes\"]}"), `{"path":"~/notes"}`, "allowed", ""},
		{"home otherwise", tool("filesystem_read: {allow_paths: [\"~/**\"]}"), `{"path":"~/notes"}`, "denied POL-ARG-AMBIGUOUS", "cannot be read one way"},
		{"missing", tool("filesystem_read: {allow_paths: [/**]}"), `{}`, "denied POL-ARG-MISSING", "no argument says which path is read"},
		{"of another type", tool("filesystem_read: {allow_paths: [/**]}"), `{"path":7}`, "denied POL-ARG-MISSING", "argument `/path` is a number, not a string"},
		{"path_arg", tool("filesystem_read: {allow_paths: [/a/**], path_arg: where}"), `{"where":"/b"}`, "denied POL-FS-DENY", "path `/b`"},

		{"nothing runs", tool("shell_exec: {}"), `{"command":"ls"}`, "denied POL-SHELL-DENY", "no command may run (allow: false)"},
		{"nothing runs, listed or not", tool("shell_exec: {allow_commands: [ls]}"), `{"command":"ls"}`, "denied POL-SHELL-DENY", "no command may run"},
		{"a listed command", tool("shell_exec: {allow: true, allow_commands: [ls]}"), `{"command":"ls -l '/a b'"}`, "allowed", ""},
		{"an unlisted command", tool("shell_exec: {allow: true, allow_commands: [ls]}"), `{"command":"rm -rf /"}`, "denied POL-SHELL-DENY", "command `rm` is not in allow_commands"},
		{"no list", tool("shell_exec: {allow: true}"), `{"command":"rm x"}`, "allowed", ""},
		{"an empty list", tool("shell_exec: {allow: true, allow_commands: []}"), `{"command":"ls"}`, "denied POL-SHELL-DENY", "command `ls` is not in allow_commands"},
		{"a metacharacter, whatever is listed", tool("shell_exec: {allow: true}"), `{"command":"ls; id"}`, "denied POL-SHELL-METACHAR", "more than run one command"},
		{"not understood", tool("shell_exec: {allow: true}"), `{"command":"ls 'x"}`, "denied POL-ARG-AMBIGUOUS", "the command line is not understood"},

		{"link-local", tool("http_request: {}"), `{"url":"http://169.254.1.1/"}`, "denied POL-HTTP-SSRF", "host 169.254.1.1 is in deny_private range 169.254.0.0/16 (link-local)"},
		{"metadata", tool("http_request: {}"), `{"url":"http://169.254.169.254/"}`, "denied POL-HTTP-SSRF", "host 169.254.169.254 is in deny_private range 169.254.0.0/16 (link-local)"},
		{"metadata is never opened", tool("http_request: {allow_cidrs: [169.254.0.0/16]}"), `{"url":"http://169.254.169.254/"}`, "denied POL-HTTP-SSRF", "a metadata service, which nothing opens"},
		{"metadata is denied though private is allowed", tool("http_request: {deny_private: false}"), `{"url":"http://169.254.169.254/"}`, "denied POL-HTTP-SSRF", "a metadata service, which nothing opens"},
		{"an opened range", tool("http_request: {allow_cidrs: [10.1.0.0/16]}"), `{"url":"http://10.1.2.3/"}`, "allowed", ""},
		{"beside an opened range", tool("http_request: {allow_cidrs: [10.1.0.0/16]}"), `{"url":"http://10.2.2.3/"}`, "denied POL-HTTP-SSRF", "10.0.0.0/8 (RFC1918 (10))"},
		{"deny_cidrs beats allow_cidrs", tool("http_request: {allow_cidrs: [10.1.0.0/16], deny_cidrs: [10.1.2.0/24]}"), `{"url":"http://10.1.2.3/"}`, "denied POL-HTTP-SSRF", "host 10.1.2.3 is in deny_cidrs 10.1.2.0/24"},
		{"an address that a translator delivers to is denied", tool("http_request: {deny_cidrs: [203.0.113.0/24]}"), `{"url":"http://[64:ff9b::203.0.113.9]/"}`, "denied POL-HTTP-SSRF", "deny_cidrs 203.0.113.0/24"},
		{"a carried address is denied as well", tool("http_request: {deny_private: false, deny_cidrs: [203.0.113.0/24]}"), `{"url":"http://[::ffff:203.0.113.9]/"}`, "denied POL-HTTP-SSRF", "deny_cidrs 203.0.113.0/24"},
		{"private allowed", tool("http_request: {deny_private: false}"), `{"url":"http://10.1.2.3/"}`, "allowed", ""},
		{"allow_hosts opens no range", tool("http_request: {allow_hosts: [10.0.0.5]}"), `{"url":"http://10.0.0.5/"}`, "denied POL-HTTP-SSRF", "deny_private"},
		{"public", tool("http_request: {}"), `{"url":"http://8.8.8.8/"}`, "allowed", ""},
		{"public, not listed", tool("http_request: {allow_hosts: [a.example]}"), `{"url":"http://8.8.8.8/"}`, "denied POL-HTTP-HOST-DENY", "host 8.8.8.8 is not in allow_hosts"},
		{"a name that is not looked up", tool("http_request: {}"), `{"url":"http://a.example/"}`, "denied POL-HTTP-HOST-DENY", "host a.example is a name that is not looked up"},
		{"allow_unresolved", tool("http_request: {allow_unresolved: true}"), `{"url":"http://a.example/"}`, "allowed POL-HTTP-DNS-UNRESOLVED", ""},
		{"a name where private is allowed", tool("http_request: {deny_private: false}"), `{"url":"http://a.example/"}`, "allowed POL-HTTP-DNS-UNRESOLVED", ""},
		{"a listed name", tool("http_request: {allow_hosts: [a.example]}"), `{"url":"http://A.example./"}`, "allowed POL-HTTP-DNS-UNRESOLVED", ""},
		{"a host by itself", tool("http_request: {allow_hosts: [a.example]}"), `{"host":"a.example"}`, "allowed POL-HTTP-DNS-UNRESOLVED", ""},
		{"localhost", tool("http_request: {allow_unresolved: true}"), `{"url":"http://localhost:80/"}`, "denied POL-HTTP-SSRF", "host localhost is denied by deny_private"},
		{"below localhost", tool("http_request: {allow_unresolved: true}"), `{"url":"http://a.LOCALHOST./"}`, "denied POL-HTTP-SSRF", "host a.localhost is denied"},
		{"localhost listed", tool("http_request: {allow_hosts: [localhost]}"), `{"url":"http://localhost/"}`, "denied POL-HTTP-SSRF", "host localhost is denied"},
		{"localhost opened as its addresses are", tool("http_request: {allow_hosts: [localhost], allow_cidrs: [127.0.0.0/8, \"::1\"]}"), `{"url":"http://localhost/"}`, "allowed POL-HTTP-DNS-UNRESOLVED", ""},
		{"metadata by name", tool("http_request: {allow_unresolved: true}"), `{"url":"http://metadata/"}`, "denied POL-HTTP-SSRF", "host metadata is denied by deny_private"},
		{"metadata at another provider, which nothing opens", tool("http_request: {deny_private: false}"), `{"url":"http://metadata.tencentyun.com/"}`, "denied POL-HTTP-SSRF", "metadata service"},
		{"metadata by its full name, which nothing opens", tool("http_request: {deny_private: false}"), `{"url":"http://metadata.google.internal/"}`, "denied POL-HTTP-SSRF", "metadata service"},

		{"reading", tool("sql_query: {}"), `{"sql":"SELECT 1"}`, "allowed", ""},
		{"not reading", tool("sql_query: {}"), `{"sql":"INSERT INTO t VALUES (1)"}`, "denied POL-SQL-DENY", "INSERT is not read-only"},
		{"writing", tool("sql_query: {allow_readonly_only: false}"), `{"sql":"INSERT INTO t VALUES (1)"}`, "allowed", ""},
		{"denied by default though writing", tool("sql_query: {allow_readonly_only: false}"), `{"sql":"DROP TABLE t"}`, "denied POL-SQL-DENY", "statement DROP is in deny_statements"},
		{"a list of one's own", tool("sql_query: {allow_readonly_only: false, deny_statements: [insert]}"), `{"sql":"INSERT INTO t VALUES (1)"}`, "denied POL-SQL-DENY", "statement INSERT is in deny_statements"},
		{"stacked", tool("sql_query: {allow_readonly_only: false}"), `{"sql":"SELECT 1; SELECT 2"}`, "denied POL-SQL-STACKED", "more than one statement"},
	} {
		v := judged(t, c.src, "t", c.arguments)
		got := v.Status.String()
		if v.Code != "" {
			got += " " + string(v.Code)
		}
		for _, n := range v.Notes {
			got += " " + string(n)
		}
		if got != c.want || !strings.Contains(v.Reason, c.reason) || (c.reason == "") != (v.Reason == "") {
			t.Errorf("%s: %s\n got %s: %s\nwant %s: %s", c.name, c.arguments, got, v.Reason, c.want, c.reason)
		}
	}
}

// TestMerge: a tool's key takes the place of the default's, a list as a whole.
func TestMerge(t *testing.T) {
	t.Parallel()
	const src = `version: 1
defaults:
  filesystem_read: {allow_paths: [/a/**], deny_paths: [/a/x]}
  http_request: {allow_hosts: [a.example]}
tools:
  own: {filesystem_read: {allow_paths: [/b/**]}}
  loose: {filesystem_read: {deny_paths: []}}
  same: {filesystem_read: {}}
`
	for _, c := range []struct{ tool, arguments, want, rule string }{
		{"own", `{"path":"/b/1"}`, "allowed", ""},
		{"own", `{"path":"/a/1"}`, "denied", "tools.own.filesystem_read"},
		{"own", `{"url":"http://b.example/"}`, "denied", "defaults.http_request"}, // the first refusal; it has no path, either
		{"loose", `{"path":"/a/x"}`, "allowed", ""},
		{"same", `{"path":"/a/x"}`, "denied", "tools.same.filesystem_read"},
		{"same", `{"path":"/a/1"}`, "allowed", ""},
		{"other", `{"path":"/a/1"}`, "allowed", ""},
		{"other", `{"path":"/b/1"}`, "denied", "defaults.filesystem_read"},
		{"other", `{"url":"http://b.example/"}`, "denied", "defaults.http_request"},
		{"other", `{"command":"ls"}`, "denied", "defaults.shell_exec"}, // built in
	} {
		if v := judged(t, src, c.tool, c.arguments); v.Status.String() != c.want || v.MatchedRule != c.rule && c.want == "denied" {
			t.Errorf("%s %s: %v by %q: %s", c.tool, c.arguments, v.Status, v.MatchedRule, v.Reason)
		}
	}
}

// TestArgumentsComeFirst: a refusal by the argument half ends the matter. It
// charges no rate slot and gives out no approval id; what it lets pass is for
// the rules.
func TestArgumentsComeFirst(t *testing.T) {
	t.Parallel()
	const src = `version: 1
default: deny
rules:
  - {id: slow, action: rate_limit, tool: read, rate: {max: 2, per_seconds: 60}}
  - {id: ask, action: pending_approval, tool: save}
tools:
  read: {filesystem_read: {allow_paths: [/a/**]}}
  save: {filesystem_write: {allow_paths: [/a/**]}}
`
	e := policy.NewEngine(mustParse(t, src), policy.WithSessionToken("s"))
	for range 3 {
		if v := decideOne(e, "read", `{"path":"/b"}`); v.Code != policy.CodeFSDeny || v.Status != policy.Denied {
			t.Fatalf("%+v", v)
		}
		if v := decideOne(e, "save", `{"path":"/b"}`); v.Code != policy.CodeFSDeny || v.ApprovalID != "" {
			t.Fatalf("%+v", v)
		}
	}
	for i, want := range []policy.Code{"", "", policy.CodeRuleRate} {
		if v := decideOne(e, "read", `{"path":"/a/b"}`); v.Code != want || len(v.Params) != 1 {
			t.Fatalf("call %d: %+v", i, v)
		}
	}
	if v := decideOne(e, "save", `{"path":"/a/b"}`); v.Code != policy.CodeRulePending || v.ApprovalID != "apr-ask-save-1-s" {
		t.Fatalf("%+v", v)
	}
	if v := decideOne(e, "other", ``); v.Code != policy.CodeRuleDeny || v.Reason == "" {
		t.Fatalf("%+v", v)
	}
	// A frame goes as a whole: the slot of a sibling is given back.
	e = policy.NewEngine(mustParse(t, src))
	reqs := []policy.Request{{Tool: "read", Arguments: []byte(`{"path":"/a/b"}`)}, {Tool: "read", Arguments: []byte(`{"path":"/b"}`)}}
	var vs [2]policy.Verdict
	for range 5 {
		if _, refused := e.Decide(reqs, vs[:]); !refused || vs[0].Code != "" || vs[1].Code != policy.CodeFSDeny {
			t.Fatalf("%+v", vs)
		}
	}
	if v := decideOne(e, "read", `{"path":"/a/b"}`); v.Status != policy.Allowed {
		t.Fatalf("%+v", v)
	}
}

// TestWhatArmsTheHalf: the argument half is armed exactly by its keys, and then
// the defaults hold for every shape that is recognised.
func TestWhatArmsTheHalf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		src   string
		armed bool
	}{
		{"version: 1\n", false}, {"default: allow\nrules: []\n", false},
		{"defaults: {}\n", true}, {"tools: {}\n", true}, {"bindings: {}\n", true},
	} {
		s := mustParse(t, c.src)
		v := decideOne(policy.NewEngine(s), "run", `{"command":"ls"}`)
		if s.HasArguments() != c.armed || v.Derived != c.armed || (v.Status == policy.Denied) != c.armed || (v.Params == nil) == c.armed {
			t.Errorf("%q: %+v", c.src, v)
		}
	}
	// A record may want the parameters in any case.
	if v := decideOne(policy.NewEngine(nil, policy.WithDerive()), "run", `{"command":"ls"}`); v.Status != policy.Allowed || len(v.Params) != 1 || !v.Derived {
		t.Errorf("%+v", v)
	}
	if v := decideOne(policy.NewEngine(mustParse(t, "tools: {}\n")), "echo", `{"x":"y"}`); v.Status != policy.Allowed || len(v.Notes) != 1 || v.Notes[0] != policy.NoteUnmatched {
		t.Errorf("%+v", v)
	}
}

// TestSurface: with a lock its capabilities say what a tool does, and a binding
// that is pinned to another schema refuses.
func TestSurface(t *testing.T) {
	t.Parallel()
	const hash = "sha256:0000000000000000000000000000000000000000000000000000000000000001"
	surface := policy.NewSurface([]policy.ToolSurface{
		{Name: "list_things", Properties: []policy.Property{{Path: "$root"}, {Path: "id", Types: []string{"string"}}}, InputSchemaHash: hash},
		{Name: "run", Capabilities: []string{"shell-exec"}, Properties: []policy.Property{{Path: "x", Types: []string{"string"}}}, InputSchemaHash: hash},
		{Name: "move", Properties: []policy.Property{{Path: "source", Types: []string{"string"}}, {Path: "destination", Types: []string{"string"}}}, InputSchemaHash: hash},
		{Name: "bound", InputSchemaHash: hash},
		{Name: "stale", InputSchemaHash: hash},
	})
	src := `version: 1
defaults: {filesystem_read: {allow_paths: [/a/**]}}
bindings:
  bound: {schema_hash: ` + hash + `, arguments: [{arg: p, axis: fs.read}]}
  stale: {schema_hash: sha256:` + strings.Repeat("f", 64) + `, arguments: [{arg: p, axis: fs.read}]}
`
	e := policy.NewEngine(mustParse(t, src), policy.WithSurface(surface))
	for _, c := range []struct {
		tool, arguments string
		want            policy.Code
	}{
		{"list_things", `{"id":"1","url":"http://127.0.0.1/"}`, ""}, // an argument that the tool does not have
		{"run", `{"x":"ls"}`, policy.CodeShellDeny},
		{"move", `{"source":"/a/1","destination":"/a/2"}`, policy.CodeFSDeny}, // a lock does not know that a move writes; a policy does
		{"bound", `{"p":"/a/1"}`, ""},
		{"stale", `{"p":"/a/1"}`, policy.CodeArgAmbiguous},
		{"unlocked", `{"url":"http://127.0.0.1/"}`, policy.CodeHTTPSSRF}, // by its names
	} {
		if v := decideOne(e, c.tool, c.arguments); v.Code != c.want {
			t.Errorf("%s %s: %q %s", c.tool, c.arguments, v.Code, v.Reason)
		}
	}
	if v := decideOne(e, "stale", `{"p":"/a/1"}`); v.MatchedRule != "bindings.stale" {
		t.Errorf("by %q", v.MatchedRule)
	}
}
