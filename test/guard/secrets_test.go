package guard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// A secret in any field of any message is in no output of ours: not in a frame
// that is authored, the findings, the record, nor on stderr. It stands raw in
// --record and in what the child itself writes to stderr, by definition.
func TestNoSecretInAnyOutput(t *testing.T) {
	// Assembled, so that no scanner of this repository takes them for real.
	secrets := []string{
		token,
		"AKIA" + "QZ7WPLM3XCVB9KTR",
		"xoxb-" + "481516234281-k3m9qpwzrtxb",
		"sk-" + "q8Zr4TnW2xYb7LkP9vHc3MdJ",
	}
	dir := t.TempDir()
	aegis := harness.Binary(t, harness.Aegis)
	key := filepath.Join(dir, "key")
	if out, err := exec.Command(aegis, "keygen", "--out", key).CombinedOutput(); err != nil {
		t.Fatalf("keygen: %v\n%s", err, out)
	}
	policy := `version: 1
default: allow
defaults:
  filesystem_read: {allow_paths: ["/srv/**"]}
  http_request: {allow_hosts: [example.com]}
  shell_exec: {allow: true, allow_commands: [ls]}
  sql_query: {allow_readonly_only: true}
`
	must(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(policy), 0o600))
	a := answers{}
	var frames []string
	for i, secret := range secrets {
		for j, result := range []string{
			`{"content":[{"type":"text","text":"x %s y"}]}`,
			`{"structuredContent":{"%s":"%[1]s"},"content":[]}`,
			`{"content":[{"type":"resource_link","uri":"https://a.example/%s","name":"%[1]s"}]}`,
			`{"content":[],"_meta":{"k":"%s"}}`,
		} {
			tool := fmt.Sprintf("t%d_%d", i, j)
			a[tool] = `{"jsonrpc":"2.0","id":%ID%,"result":` + fmt.Sprintf(result, secret) + `}`
			frames = append(frames, call(fmt.Sprintf("%d%d", i, j), tool))
		}
		a[fmt.Sprint("e", i)] = `{"jsonrpc":"2.0","id":%ID%,"error":{"code":1,"message":"` + secret + `","data":["` + secret + `"]}}`
		frames = append(frames, call(fmt.Sprintf(`"e%d"`, i), fmt.Sprint("e", i)))
		for j, args := range []string{
			`{"path":"/srv/%s"}`, `{"path":"/etc/%s"}`, `{"url":"https://%s.example.com/"}`, `{"url":"https://example.com/?k=%s"}`,
			`{"command":"ls %s"}`, `{"command":"curl -H %s"}`, `{"query":"SELECT '%s'"}`, `{"query":"DELETE FROM %s"}`, `{"path":{"%s":1}}`, `{"path":"a\u0000%s"}`,
		} {
			frames = append(frames, callWith(fmt.Sprintf(`"c%d.%d"`, i, j), "read_file", fmt.Sprintf(args, secret)))
		}
	}
	for _, flags := range [][]string{{}, {"--redact-secret-echo"}, {"--audit-only"}, {"--no-block-policy"}} {
		flags = append(flags, "--policy", "@p.yaml", "--audit", "@r.aarl", "--signing-key", "@key", "--json", "@f.jsonl", "--sarif", "@f.sarif", "--record", "@trace.jsonl")
		s := startScript(t, dir, serverScript{Answers: a}, flags...)
		s.send(frames...)
		got, code := s.finish()
		if code != 0 {
			t.Fatalf("%v: exit %d: %s", flags, code, s.stderr.String())
		}
		outputs := map[string]string{
			"the findings": string(s.file("f.jsonl")), "the SARIF": string(s.file("f.sarif")), "the record": string(s.file("r.aarl")), "stderr": s.stderr.String(),
		}
		var authored strings.Builder
		for line := range strings.Lines(got) {
			if strings.Contains(line, `"warden":true`) {
				authored.WriteString(line)
			}
		}
		outputs["authored frames"] = authored.String()
		for what, text := range outputs {
			for _, secret := range secrets {
				// First characters may show: not more than four.
				if i := strings.Index(text, secret[:8]); i >= 0 {
					t.Errorf("%v: %s: %.200s", flags[:1], what, text[max(0, i-80):])
				}
			}
		}
		if !strings.Contains(string(s.file("trace.jsonl")), token) {
			t.Error("--record is not raw")
		}
		must(t, os.Remove(filepath.Join(dir, "r.aarl")))
	}
}
