package policy_test

import (
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/policy"
)

// TestArgumentLoadErrors: what is not understood to the last key does not load,
// and the message names the place, the key and what was probably meant.
func TestArgumentLoadErrors(t *testing.T) {
	t.Parallel()
	tool := func(section string) string { return "version: 1\ntools:\n  t:\n    " + section + "\n" }
	bind := func(binding string) string { return "version: 1\nbindings:\n  t: " + binding + "\n" }
	for _, c := range []struct{ name, src, want string }{
		{"unknown shape of a tool", tool("filesystem_wirte: {}"), "p.yaml:4:5: policy parse error: unknown key `filesystem_wirte` in tool `t`; did you mean `filesystem_write`?"},
		{"unknown shape of the defaults", "defaults: {fs: {}}\n", "p.yaml:1:12: policy parse error: unknown key `fs` in `defaults` (known: filesystem_write, filesystem_read, shell_exec, http_request, sql_query)"},
		{"unknown constraint", tool("filesystem_read: {allow_path: []}"), "p.yaml:4:23: policy parse error: unknown key `allow_path` in `filesystem_read` of tool `t`; did you mean `allow_paths`?"},
		{"a constraint of another shape", tool("shell_exec: {allow_hosts: [a]}"), "unknown key `allow_hosts` in `shell_exec` of tool `t`"},
		{"text for a boolean", tool("shell_exec: {allow: 'yes'}"), "p.yaml:4:25: policy parse error: `allow` is true or false, found the text `yes`; remove the quotes"},
		{"another spelling of a boolean", tool("shell_exec: {allow: yes}"), "`allow` is true or false, found the text `yes`"},
		{"no value for a boolean", tool("http_request: {deny_private: }"), "`deny_private` is true or false, found nothing"},
		{"number for a list", tool("filesystem_write: {allow_paths: 5}"), "`allow_paths` is a list, found the text `5`"},
		{"text for a list", tool("filesystem_write: {allow_paths: /srv/**}"), "`allow_paths` is a list, found the text `/srv/**`"},
		{"number in a list", tool("shell_exec: {allow_commands: [7]}"), "`allow_commands` is text, but `7` may be read as a number; quote this: \"7\""},
		{"nothing in a list", tool("shell_exec: {allow_commands: [ls, ~]}"), "an entry of `allow_commands` is text, found nothing"},
		{"a list in a list", tool("shell_exec: {allow_commands: [[ls]]}"), "an entry of `allow_commands` is text, found a list"},
		{"empty text in a list", tool("shell_exec: {allow_commands: [\"\"]}"), "an entry of `allow_commands` is empty"},
		{"boolean for a text", tool("sql_query: {query_arg: true}"), "`query_arg` is text, but `true` may be read as a boolean"},
		{"null section", tool("sql_query:"), "`sql_query` of tool `t` is a mapping, found nothing"},
		{"null tool", "tools: {t: null}\n", "tool `t` is a mapping, found nothing"},
		{"null tools", "tools:\n", "`tools` is a mapping, found nothing"},
		{"list of tools", "tools: [a]\n", "`tools` is a mapping, found a list"},
		{"list of defaults", "defaults: []\n", "`defaults` is a mapping, found a list"},
		{"a tool given twice", "tools:\n  t: {}\n  t: {}\n", "p.yaml:3:3: policy parse error: duplicate tool `t` on line 3; it was given on line 2"},
		{"a tool that may be a boolean", "tools: {on: {}}\n", "the name of a tool is text, but `on` may be read as a boolean; quote it"},
		{"a merge key", "tools: {<<: {}}\n", "merge keys are not supported"},
		{"a network", tool("http_request: {deny_cidrs: [not-a-cidr]}"), "`not-a-cidr` in `deny_cidrs` is no network, such as 192.0.2.0/24 or 2001:db8::/32"},
		{"a network with host bits", tool("http_request: {allow_cidrs: [10.0.0.5/8]}"), "`10.0.0.5/8` in `allow_cidrs` has bits below its length; did you mean `10.0.0.0/8`?"},
		{"a host pattern", tool("http_request: {allow_hosts: [\"a*.example.com\"]}"), "in `allow_hosts`"},
		{"a dialect", tool("sql_query: {dialect: oracle7}"), "dialect"},
		{"a statement", tool("sql_query: {deny_statements: [INSRT]}"), "INSRT"},
		{"a pointer", tool("filesystem_read: {path_arg: /a~b}"), "`/a~b` is no JSON pointer"},
		{"an argument without a name", tool("filesystem_read: {path_arg: \"\"}"), "`path_arg` names no argument"},

		{"unbound", bind("{unbound: true}"), "p.yaml:3:7: policy parse error: `unbound` is for the cell only"},
		{"a binding that says nothing", bind("{}"), "the binding of `t` says nothing"},
		{"a limit in a binding", bind("{allow_paths: [/]}"), "unknown key `allow_paths` in the binding of `t` (known: schema_hash, arguments, other)"},
		{"a limit of an argument", bind("{arguments: [{arg: a, axis: fs.read, allow_paths: [/]}]}"), "unknown key `allow_paths` in a bound argument"},
		{"an axis", bind("{arguments: [{arg: a, axis: fs.raed}]}"), "`axis` is one of fs.write, fs.read, exec, net, sql, found the text `fs.raed`; did you mean `fs.read`?"},
		{"a bound argument without axis", bind("{arguments: [{arg: a}]}"), "a bound argument needs `axis`"},
		{"an argument bound twice", bind("{arguments: [{arg: a, axis: net}, {arg: /a, axis: net}]}"), "binds `/a` to net twice"},
		{"bound and set aside", bind("{arguments: [{arg: /o/a, axis: net}], other: [o]}"), "sets `o` aside, and binds `/o/a`"},
		{"a schema hash", bind("{schema_hash: abc, other: [a]}"), "`schema_hash` is `sha256:` and 64 lower-case hex digits, found `abc`"},
		{"arguments no list", bind("{arguments: {a: net}}"), "`arguments` is a list, found a mapping"},
	} {
		_, err := policy.Parse("p.yaml", []byte(c.src))
		if err == nil {
			t.Errorf("%s: loads, want %q", c.name, c.want)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, err, c.want)
		}
	}
}

// TestPeerPolicyLint walks the peer's lint of files. Where it answers
// otherwise, or crashes, the difference is listed.
func TestPeerPolicyLint(t *testing.T) {
	t.Parallel()
	type row struct {
		ID       string `json:"id"`
		Policy   string `json:"policy_yaml"`
		Exit     int    `json:"exit"`
		Messages []struct {
			Code  string `json:"code"`
			Level string `json:"level"`
		} `json:"messages"`
	}
	differences := map[string]difference{
		"ok":                 {"loads", "either", "the peer has no rules half, so that it has no warning about a file without rules"},
		"no_version":         {"loads with POL-LINT-VERSION", "ours", "`version` left out means 1: a warning, as a policy without an argument half has long been read"},
		"bool_version":       {"does not load", "ours", "true is no version; in the peer's language true equals 1"},
		"wrong_type_allow":   {"does not load", "ours", "'yes' is no boolean; the peer takes any text for true, 'no' as well"},
		"defaults_list":      {"does not load", "ours", "a list holds no constraints; the peer passes over it"},
		"int_paths":          {"does not load", "ours", "both refuse the file; the peer's linter crashes over it"},
		"tool_null":          {"does not load", "either", "both refuse the file"},
		"unknown_top":        {"does not load", "either", "both refuse the file"},
		"unknown_shape_tool": {"does not load", "either", "both refuse the file"},
		"conflict":           {"loads with POL-LINT-CONFLICT", "either", "the same warning"},
		"empty_file":         {"does not load", "either", "both refuse the file"},
		"list_top":           {"does not load", "either", "both refuse the file"},
	}
	for _, r := range readRows[row](t, "testdata/peer/policy_lint.jsonl") {
		set, err := policy.Parse("p.yaml", []byte(r.Policy))
		ours := "loads"
		if err != nil {
			ours = "does not load"
		} else {
			for _, w := range set.Warnings() {
				if strings.HasPrefix(string(w.Code), "POL-") {
					ours += " with " + string(w.Code)
				}
			}
		}
		d, ok := differences[r.ID]
		if !ok || d.ours != ours {
			t.Errorf("%s: %s, want %s", r.ID, ours, d.ours)
		}
		same := (err != nil) == (r.Exit != 0)
		if same == (d.right == "ours" && r.ID != "int_paths") {
			t.Errorf("%s: %s is right, but the peer ended with %d", r.ID, d.right, r.Exit)
		}
		delete(differences, r.ID)
	}
	if len(differences) > 0 {
		t.Errorf("no rows: %v", differences)
	}
}
