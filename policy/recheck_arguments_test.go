package policy_test

import (
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/policy"
)

// TestRecheckArguments holds what a record can and cannot answer for, one line of
// `derived` each.
func TestRecheckArguments(t *testing.T) {
	t.Parallel()
	const read = "tools: {t: {filesystem_read: {allow_paths: [/a/**]}}}\n"
	path := func(p string) string {
		return `{"axis":"fs.read","arg":"/path","path_raw":"` + p + `","path":"` + p + `","resolved":"lexical"}`
	}
	for _, c := range []struct{ name, src, derived, want, rule string }{
		{"allowed", read, `[` + path("/a/b") + `]`, "unchanged allowed", ""},
		{"denied", read, `[` + path("/b") + `]`, "newly_blocked was=allowed now=denied", "tools.t.filesystem_read"},
		{"one of two denied", read, `[` + path("/a/b") + `,` + path("/b") + `]`, "newly_blocked was=allowed now=denied", "tools.t.filesystem_read"},
		{"nobody derived anything", read, ``, "indeterminate no_binding", ""},
		{"nothing that can be read", read, `{"axis":"fs.read"}`, "indeterminate no_binding", ""},
		{"null", read, `null`, "indeterminate no_binding", ""},
		{"nothing to judge", "tools: {}\n", `[]`, "unchanged allowed", ""},
		{"a shape that the record has nothing of", read, `[]`, "indeterminate no_binding", ""},
		{"nobody derived anything, and the rules refuse", read + "default: deny\n", ``, "newly_blocked was=allowed now=denied", ""},
		{"no value", read, `[{"axis":"fs.read","arg":"/path"}]`, "newly_blocked was=allowed now=denied", "tools.t.filesystem_read"},
		{"no reading", read, `[{"axis":"fs.read","arg":"/path","path_raw":"/a/\u0000","resolved":"lexical"}]`, "newly_blocked was=allowed now=denied", "tools.t.filesystem_read"},
		{"a path as written", "tools: {t: {filesystem_read: {allow_paths: [\"~/n\"]}}}\n", `[{"axis":"fs.read","arg":"/path","path_raw":"~/n","resolved":"lexical"}]`, "unchanged allowed", ""},
		{"truncated", read, `[{"axis":"fs.read","arg":"/path","truncated":true,"sha256":"00"}]`, "indeterminate truncated", ""},
		{"truncated, and another refuses", read, `[` + path("/b") + `,{"truncated":true,"sha256":"00"}]`, "newly_blocked was=allowed now=denied", "tools.t.filesystem_read"},
		{"redacted", read, `[{"axis":"fs.read","arg":"/path","path_raw":"/a/ghp_…","path":"/a/ghp_…","resolved":"lexical","redacted":true}]`, "indeterminate redacted", ""},
		{"another resolve", "tools: {t: {filesystem_read: {allow_paths: [/a/**], resolve: true}}}\n", `[` + path("/a/b") + `]`, "indeterminate resolve", ""},
		{"another dialect", "tools: {t: {sql_query: {dialect: mysql}}}\n", `[{"axis":"sql","arg":"/sql","kinds":["SELECT"],"dialect":"postgres","stacked":false}]`, "indeterminate dialect", ""},
		{"a query", "tools: {}\n", `[{"axis":"sql","arg":"/sql","kinds":["DELETE"],"stacked":false}]`, "newly_blocked was=allowed now=denied", "defaults.sql_query"},
		{"a stacked query", "tools: {t: {sql_query: {allow_readonly_only: false}}}\n", `[{"axis":"sql","arg":"/sql","kinds":["SELECT"],"stacked":true}]`, "newly_blocked was=allowed now=denied", "tools.t.sql_query"},
		{"a command", "tools: {t: {shell_exec: {allow: true, allow_commands: [ls]}}}\n", `[{"axis":"exec","arg":"/command","words":["rm","x"],"metachar":false}]`, "newly_blocked was=allowed now=denied", "tools.t.shell_exec"},
		{"a host", "tools: {t: {http_request: {allow_hosts: [\"h.example:443\"]}}}\n", `[{"axis":"net","arg":"/url","scheme":"https","host":"h.example","port":443}]`, "unchanged allowed", ""},
		{"another port", "tools: {t: {http_request: {allow_hosts: [\"h.example:443\"]}}}\n", `[{"axis":"net","arg":"/url","scheme":"https","host":"h.example","port":8443}]`, "newly_blocked was=allowed now=denied", "tools.t.http_request"},
		{"an address", "tools: {}\n", `[{"axis":"net","arg":"/url","scheme":"http","host":"127.0.0.1","port":80}]`, "newly_blocked was=allowed now=denied", "defaults.http_request"},
		{"path_arg that was not looked at", "tools: {t: {filesystem_read: {allow_paths: [/a/**], path_arg: where}}}\n", `[` + path("/a/b") + `]`, "indeterminate no_binding", ""},
		{"a binding that reads what was looked at", "bindings: {t: {arguments: [{arg: path, axis: fs.read}]}}\ndefaults: {filesystem_read: {allow_paths: [/a/**]}}\n", `[` + path("/a/b") + `]`, "unchanged allowed", ""},
		{"a binding that reads something else", "bindings: {t: {arguments: [{arg: where, axis: fs.read}], other: [path]}}\n", `[` + path("/a/b") + `]`, "indeterminate no_binding", ""},
		{"a binding that sets aside what was looked at", "bindings: {t: {arguments: [], other: [path]}}\n", `[` + path("/b") + `]`, "unchanged allowed", ""},
		{"a binding that sets aside what another member has", "bindings: {t: {arguments: [], other: [path]}}\n", `[{"axis":"fs.read","arg":"/7/path","path_raw":"/b","path":"/b","resolved":"lexical"}]`, "indeterminate no_binding", ""},
		{"a half-surrogate in it", read, `[{"axis":"fs.read","arg":"/\ud800"}]`, "indeterminate no_binding", ""},
		{"a duplicate in it", read, `[{"axis":"fs.read","axis":"net","arg":"/path"}]`, "indeterminate no_binding", ""},
		{"an axis nobody knows", "tools: {}\n", `[{"axis":"gpu","arg":"/x","path":"/b"}]`, "indeterminate no_binding", ""},
	} {
		axes := ""
		if c.derived != "" {
			axes = `"derived":` + c.derived
		}
		_, err := policy.Recheck(strings.NewReader(call("t", wasAllowed, axes)), mustParse(t, c.src), func(r *policy.Rechecked) error {
			if r.Clause() != c.want || r.Rule != c.rule {
				t.Errorf("%s:\n got %s by %q\nwant %s by %q", c.name, r.Clause(), r.Rule, c.want, c.rule)
			}
			return nil
		}, func(policy.Note) {})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// The rate window cannot be told, but the argument half refuses before it is asked.
	rate := mustParse(t, read+"rules: [{id: r, action: rate_limit, rate: {max: 1, per_seconds: 1}}]\n")
	if got, _, _ := recheck(t, rate, call("t", wasDenied, `"derived":[`+path("/b")+`]`)); !strings.HasSuffix(got, "unchanged denied\n") {
		t.Error(got)
	}
	if got, _, _ := recheck(t, rate, call("t", wasAllowed, `"derived":[`+path("/a")+`]`)); !strings.HasSuffix(got, "rate_limit_unevaluable\n") {
		t.Error(got)
	}
}
