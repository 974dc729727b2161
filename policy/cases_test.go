package policy_test

import (
	"testing"
)

// reported is one call of a fault that users of such systems have reported:
// what it says is judged by a policy, and what it must get.
type reported struct {
	value string
	want  string // a code, "" if it must be allowed, "denied" for any refusal
}

func checkReported(t *testing.T, src, tool, member string, calls []reported) {
	t.Helper()
	for _, c := range calls {
		v := judged(t, src, tool, `{`+jsonText(member)+`:`+jsonText(c.value)+`}`)
		if got := string(v.Code); got != c.want && !(c.want == "denied" && got != "") {
			t.Errorf("%s %q: %q %s, want %q", tool, c.value, got, v.Reason, c.want)
		}
	}
}

// TestPathPrefixes: an allowed directory admits itself and what is below it,
// and no sibling whose name begins the same.
func TestPathPrefixes(t *testing.T) {
	t.Parallel()
	const fs = "POL-FS-DENY"
	checkReported(t, "tools: {t: {filesystem_read: {allow_paths: [/srv/share/**]}}}", "t", "path", []reported{
		{"/srv/share-old/x", fs}, {"/srv/share/../share-old/x", fs}, {"/srv//share/./a", ""}, {"///srv/share/a", ""},
		{"/srv/share", ""}, {"/srv/share/", ""}, {"srv/share/a", fs}, {"", "POL-ARG-AMBIGUOUS"},
		{"/srv/share/../../etc/passwd", fs}, {"/srv/share/a/../../share/b", ""},
	})
	checkReported(t, `tools: {t: {filesystem_read: {allow_paths: ["/**", "**"], deny_paths: [/etc/keys/**, "**/*.env"]}}}`, "t", "path", []reported{
		{"/etc/keys", fs}, {"/etc/keys/", fs}, {"/etc/keys/a/b", fs}, {"/etc/keysmith/x", ""},
		{".env", fs}, {"a/.env", fs}, {".env.local", ""}, {"prod.env.bak", ""}, {"/srv/prod.env", fs},
	})
}

// TestPathSpellings: spellings that another reader takes for another path are
// denied, and what only looks odd is not.
func TestPathSpellings(t *testing.T) {
	t.Parallel()
	const fs, ambiguous = "POL-FS-DENY", "POL-ARG-AMBIGUOUS"
	checkReported(t, `tools: {t: {filesystem_read: {allow_paths: [/srv/share/**, "/home/**"], deny_paths: ["**/.ssh/**", "**/.env"]}}}`, "t", "path", []reported{
		{"/srv/share/a.txt\x00.png", ambiguous}, {"file:///srv/share/%2e%2e/private/k", "denied"}, {"file:///srv/share/%252e%252e/k", ambiguous},
		{"\uff0e\uff0e/k", "denied"}, {"/home/u/.SSH/id_test", fs}, {"/home/u/.Env", fs}, {"~/.ssh/config", "denied"}, {"~root/x", ambiguous},
		{`\\host\share\k`, ambiguous}, {`C:\x`, ambiguous}, {"/srv/share/a\x1b[2J", ambiguous}, {"/srv/share/a\nb", ambiguous},
		{"file:///srv/share/a", ""}, {"/srv/share/100%25 done.txt", ""}, {"/srv/share/a..b.txt", ""}, {"/srv/share/...hidden", ""},
	})
	// An allow is exact, a deny overlooks how an accent is composed.
	checkReported(t, "tools: {t: {filesystem_read: {allow_paths: [/srv/caf\u00e9/**], deny_paths: [\"**/ge\u0301heim\"]}}}", "t", "path", []reported{
		{"/srv/caf\u00e9/a", ""}, {"/srv/cafe\u0301/a", fs}, {"/srv/caf\u00e9/g\u00e9heim", fs},
	})
}

// TestNumericHosts: a host that a resolver reads as a number is judged as the
// address it means.
func TestNumericHosts(t *testing.T) {
	t.Parallel()
	const ssrf = "POL-HTTP-SSRF"
	checkReported(t, "tools: {t: {http_request: {allow_unresolved: true}}}", "t", "url", []reported{
		{"http://017700000001/", ssrf}, {"http://2130706433/", ssrf}, {"http://0x7f.1/", ssrf}, {"http://127.1/", ssrf}, {"http://0177.0.0.01/", ssrf},
		{"http://012.0.0.1/", ssrf}, {"http://0/", ssrf}, {"http://0x7f000001./", ssrf}, {"http://127.0.0.1:80/", ssrf},
		{"http://1.1.1.1/", ""}, {"http://0x.example.org/", ""}, {"http://123.example.org/", ""},
	})
	v := judged(t, "tools: {}", "t", `{"url":"http://017700000001/"}`)
	if want := "host 127.0.0.1 is in deny_private range 127.0.0.0/8 (loopback)"; v.Reason != want {
		t.Errorf("%q, want %q", v.Reason, want)
	}
}

// TestHostsReadOneWay: a URL that parsers read differently is denied, and one
// host has one spelling.
func TestHostsReadOneWay(t *testing.T) {
	t.Parallel()
	const other, ambiguous, ssrf = "POL-HTTP-HOST-DENY", "POL-ARG-AMBIGUOUS", "POL-HTTP-SSRF"
	checkReported(t, "tools: {t: {http_request: {allow_hosts: [api.example.com]}}}", "t", "url", []reported{
		{"https://api.example.com@evil.test/", ambiguous}, {"https://api.example.com:pw@evil.test/", ambiguous}, {"https://api.example.com%20@evil.test/", ambiguous},
		{`https://evil.test\@api.example.com/`, ambiguous}, {"https://ev\til.test/", ambiguous}, {"https://api.example.com.evil.test/", other},
		{"https://evil-api.example.com/", other}, {"https://apizexample.com/", other}, {"not a URL", ambiguous},
		{"https://user:pw@api.example.com/", ambiguous}, // by the rule that a user name before the host is denied
		{"https://API.EXAMPLE.COM/", ""}, {"https://api.example.com./", ""},
	})
	checkReported(t, "tools: {t: {http_request: {allow_unresolved: true}}}", "t", "url", []reported{
		{"http://localhost./", ssrf}, {"http://LOCALHOST/", ssrf}, {"http://metadata.google.internal./", ssrf},
		{"http://127\u30020\u30020\u30021/", "denied"}, {"http://%31%32%37.0.0.1/", ambiguous},
	})
}

// TestReadOnlyQueries: a query is judged by what it does, not by its first word.
func TestReadOnlyQueries(t *testing.T) {
	t.Parallel()
	checkReported(t, "tools: {t: {sql_query: {}}}", "t", "sql", []reported{
		{"WITH d AS (DELETE FROM notes RETURNING *) SELECT * FROM d", "denied"}, {"WITH x AS (SELECT 1) DELETE FROM notes", "denied"},
		{"EXPLAIN ANALYZE DELETE FROM notes", "denied"}, {"EXPLAIN (ANALYZE, BUFFERS) UPDATE notes SET a=1", "denied"},
		{"SELECT * INTO copy1 FROM notes", "denied"}, {"SELECT a FROM notes INTO OUTFILE '/tmp/o'", "denied"},
		{"/* x */ UPDATE notes SET a=1", "denied"}, {"-- x\nDELETE FROM notes", "denied"}, {"SELECT 1; DROP TABLE notes", "POL-SQL-STACKED"},
		{"COMMIT; DROP TABLE notes", "denied"}, {"(DELETE FROM notes)", "denied"}, {"SELECT 1 FROM notes FOR UPDATE", "denied"},
		{"dElEtE\tFrOm notes", "denied"},
		{"WITH x AS (SELECT 1) SELECT * FROM x", ""}, {"SELECT 1;", ""}, {"EXPLAIN SELECT 1", ""}, {"-- note\nSELECT 1", ""},

		{"SELECT 'please attach and drop by' AS note", ""}, {"SELECT deleted_at, created_at FROM notes", ""}, {"SELECT REPLACE(a,'x','y') FROM notes", ""},
		{"SELECT ';'", ""}, {`SELECT "update" FROM notes`, ""}, {"-- it's fine\nSELECT 1", ""}, {"SELECT 'it''s; DROP'", ""},
		{`SELECT E'\'', set_config('search_path','x',false)`, "denied"}, {"SELECT $$a$$; DROP TABLE notes", "denied"},
		{"SELECT 'x", "denied"}, {"SELECT 1 /* x", "denied"},
		{`SELECT 'a\'; DELETE FROM notes; -- '`, "denied"}, {"SELECT 1 /* /* */ ; DROP TABLE notes -- */", "denied"},
	})
	checkReported(t, "tools: {t: {sql_query: {dialect: mysql}}}", "t", "sql", []reported{
		{`SELECT 'a\'; DELETE FROM notes; -- '`, ""}, {"SELECT 1 /* /* */ ; DROP TABLE notes -- */", "denied"},
	})
	checkReported(t, "tools: {t: {sql_query: {dialect: postgres}}}", "t", "sql", []reported{
		{`SELECT 'a\'; DELETE FROM notes; -- '`, "denied"},
	})
}

// TestCommandSeparators: a newline outside quotes separates, inside it is data;
// the refusal says whether a command is not allowed or not understood.
func TestCommandSeparators(t *testing.T) {
	t.Parallel()
	const meta = "POL-SHELL-METACHAR"
	checkReported(t, "tools: {t: {shell_exec: {allow: true, allow_commands: [ls, git]}}}", "t", "command", []reported{
		{"ls /srv\nrm -rf /srv/data", meta}, {"ls\r\nid", "denied"}, {"ls & id", meta}, {"ls&&id", meta}, {"ls|sh", meta}, {"ls ;id", meta}, {"ls # x\nid", meta},
		{"id", "POL-SHELL-DENY"}, {"ls 'x", "POL-ARG-AMBIGUOUS"},
		{"ls -la /srv\n", ""}, {"git commit -m \"line one\nreboot later\"", ""}, {"ls \\\n -l", ""},
	})
}

// TestNumbersAreNotJudged: the argument half has no rule about numbers, and
// makes no text of one. A number where a text is wanted is refused in every
// spelling, the text of one is judged as the text it is, and no number elsewhere
// moves a verdict or is rewritten.
func TestNumbersAreNotJudged(t *testing.T) {
	t.Parallel()
	const src = "tools: {t: {filesystem_read: {allow_paths: [\"1\", \"9007199254740992\"]}}}"
	for _, number := range []string{"1", "1.0", "1e0", "9007199254740993", "9007199254740992", "100.0000000000000001", "1e2", "1E+2", "-1e400", "-0", "true"} {
		if v := judged(t, src, "t", `{"path":`+number+`}`); v.Code != "POL-ARG-MISSING" {
			t.Errorf("path %s: %q %s", number, v.Code, v.Reason)
		}
		if v := judged(t, src, "t", `{"path":"1","limit":`+number+`}`); v.Code != "" {
			t.Errorf("limit %s: %q %s", number, v.Code, v.Reason)
		}
	}
	for text, want := range map[string]string{"1": "", "1.0": "POL-FS-DENY", "1e0": "POL-FS-DENY", "9007199254740993": "POL-FS-DENY", "9007199254740992": ""} {
		if v := judged(t, src, "t", `{"path":"`+text+`"}`); string(v.Code) != want {
			t.Errorf("path %q: %q %s", text, v.Code, v.Reason)
		}
	}
}
