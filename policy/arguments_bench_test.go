package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/policy"
)

// argumentPolicy constrains every shape.
const argumentPolicy = `version: 1
defaults:
  filesystem_write: {allow_paths: ["/srv/app/**", "/tmp/*.txt"], deny_paths: ["**/.git/**", "**/.env", "/srv/app/secrets/**"]}
  filesystem_read: {allow_paths: ["/srv/**"], deny_paths: ["**/.ssh/**", "**/.env"]}
  shell_exec: {allow: true, allow_commands: [ls, git]}
  http_request: {allow_hosts: [api.example.com, "*.int.example.com"], deny_cidrs: [203.0.113.0/24]}
  sql_query: {dialect: postgres}
`

// filler are n bytes of arguments that are nothing to judge.
func filler(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `"note_%d":"some words of an argument, %d","n%d":%d,`, i, i, i, i*7)
	}
	return b.String()
}

// BenchmarkArguments is a whole decision over a call of 1 KiB of arguments, and
// of twice that, a shape each. Nothing is resolved.
func BenchmarkArguments(b *testing.B) {
	e := policy.NewEngine(mustParse(b, argumentPolicy))
	for _, c := range []struct{ name, tool, argument string }{
		{"none", "echo", `"message":"hello"`},
		{"path", "read_file", `"path":"/srv/app/src/deep/er/file_name.txt"`},
		{"paths", "read_files", `"paths":["/srv/a","/srv/b","/srv/c","/srv/d","/srv/e","/srv/f","/srv/g","/srv/h"]`},
		{"command", "run", `"command":"git commit -m 'some words' --author=me -- src/a.go"`},
		{"url", "fetch", `"url":"https://api.example.com/v1/items?limit=100"`},
		{"query", "db", `"sql":"SELECT a, b FROM t JOIN u ON t.id = u.id WHERE a > 5 ORDER BY b LIMIT 10"`},
	} {
		for _, size := range []int{1 << 10, 2 << 10} {
			b.Run(fmt.Sprintf("%s/%d", c.name, size), func(b *testing.B) {
				arguments := []byte("{" + filler(size-len(c.argument)-60) + c.argument + "}")
				reqs, verdicts := []policy.Request{{Tool: c.tool, Arguments: arguments}}, make([]policy.Verdict, 1)
				b.SetBytes(int64(len(arguments)))
				b.ReportAllocs()
				for b.Loop() {
					if _, refused := e.Decide(reqs, verdicts); refused {
						b.Fatalf("%+v", verdicts[0].Reason)
					}
				}
			})
		}
	}
}

// BenchmarkArgumentsRecorded adds what goes into the record.
func BenchmarkArgumentsRecorded(b *testing.B) {
	e := policy.NewEngine(mustParse(b, argumentPolicy))
	arguments := []byte("{" + filler(900) + `"path":"/srv/app/src/deep/er/file_name.txt"}`)
	reqs, verdicts := []policy.Request{{Tool: "read_file", Arguments: arguments}}, make([]policy.Verdict, 1)
	b.ReportAllocs()
	for b.Loop() {
		e.Decide(reqs, verdicts)
		if len(verdicts[0].Params.Recorded()) != 1 {
			b.Fatal("not recorded")
		}
	}
}

// BenchmarkArgumentsDoubling: twice the input takes about twice the time, on
// what is worst for each part: many paths, many names, deep nesting.
func BenchmarkArgumentsDoubling(b *testing.B) {
	e := policy.NewEngine(mustParse(b, argumentPolicy))
	for name, of := range map[string]func(n int) string{
		"long path": func(n int) string { return `{"path":"/srv` + strings.Repeat("/a", n/2) + `"}` },
		"names":     func(n int) string { return "{" + filler(n) + `"path":"/srv/a"}` },
		"paths":     func(n int) string { return `{"paths":[` + strings.Repeat(`"/srv/a",`, min(n/9, 4000)) + `"/srv/b"]}` },
		"nesting": func(n int) string {
			deep := strings.Repeat(`{"a":`, 100) + "0" + strings.Repeat("}", 100)
			return `{"a":[` + strings.Repeat(deep+",", n/len(deep)) + "0]}"
		},
	} {
		for _, size := range []int{8 << 10, 16 << 10, 32 << 10} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				reqs, verdicts := []policy.Request{{Tool: "read_file", Arguments: []byte(of(size))}}, make([]policy.Verdict, 1)
				b.SetBytes(int64(size))
				for b.Loop() {
					e.Decide(reqs, verdicts)
				}
			})
		}
	}
}
