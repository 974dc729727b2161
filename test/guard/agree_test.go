package guard

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// pin makes a lock, in dir, of what a server with these answers declares.
func pin(t testing.TB, dir string, a answers) {
	t.Helper()
	a["initialize"] = `{"jsonrpc":"2.0","id":%ID%,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"replay","version":"1"}}}`
	text, err := json.Marshal(serverScript{Answers: a})
	must(t, err)
	path := filepath.Join(dir, "pinned.json")
	must(t, writeFile(path, text))
	out, err := exec.Command(harness.Binary(t, harness.Aegis), "pin", "--approve", "--approver", "tester", "--out", filepath.Join(dir, "warden.lock"),
		"--", harness.Binary(t, harness.Replay), path).CombinedOutput()
	if err != nil {
		t.Fatalf("pin: %v\n%s", err, out)
	}
}

// agree runs frames through guard, records them, and checks that inspect finds
// in the trace what guard found.
func agree(t testing.TB, script serverScript, frames []string) {
	t.Helper()
	s := startScript(t, tempDir(t), script, "--record", "@trace.jsonl", "--json", "@guard.jsonl")
	for _, f := range frames {
		if script.Framing == "length" {
			f = fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(f), f)
		} else {
			f += "\n"
		}
		_, err := s.stdin.Write([]byte(f))
		must(t, err)
	}
	if _, code := s.finish(); code != 0 {
		t.Fatalf("guard ended with %d: %s", code, s.stderr.String())
	}
	cmd := exec.Command(harness.Binary(t, harness.Aegis), "inspect", "--audit-only", "--json", filepath.Join(s.dir, "inspect.jsonl"), filepath.Join(s.dir, "trace.jsonl"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("inspect: %v\n%s", err, out)
	}
	facts := func(name string) (all []string) {
		for _, f := range s.findings(name) {
			all = append(all, fmt.Sprintf("%s %s %s id %s of %s", f.Kind, f.RuleID, f.SubRule, f.RPCID, f.Tool))
		}
		slices.Sort(all)
		return all
	}
	if live, offline := facts("guard.jsonl"), facts("inspect.jsonl"); !slices.Equal(live, offline) {
		t.Errorf("guard found\n  %s\ninspect found\n  %s\nin\n%s", strings.Join(live, "\n  "), strings.Join(offline, "\n  "), s.file("trace.jsonl"))
	}
}

// Guard and inspect agree on generated sessions, in both framings, whatever the
// chunks the server writes in.
func TestGuardAndInspectAgree(t *testing.T) {
	texts := []string{
		`"fine"`, `"` + token + `"`, `"a` + ansi + `b"`, `"` + drop + `"`, `"` + phrase + `"`, `"http://169.254.169.254/"`,
		`"` + token + drop + ansi + `"`, `"{\"inner\":\"` + token + `\"}"`, `"caf\u00e9 \u0007"`, `""`, `"see http://10.0.0.7:3000/x"`,
	}
	shapes := []string{
		`{"content":[{"type":"text","text":%s}]}`, `{"structuredContent":{"k":%s},"content":[]}`,
		`{"content":[{"type":"resource","resource":{"uri":"x:y","text":%s}}],"isError":true}`,
		`{"content":[{"type":"image","data":%s,"mimeType":"image/png"}]}`,
		`{"content":[{"type":"text","text":%[1]s},{"type":"text","text":"second"},{"type":"text","text":%[1]s}]}`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		script := serverScript{Answers: answers{}, Framing: rapid.SampledFrom([]string{"", "length"}).Draw(rt, "framing"), Chunk: rapid.SampledFrom([]int{0, 1, 13}).Draw(rt, "chunk")}
		var frames []string
		for i := range rapid.IntRange(1, 5).Draw(rt, "calls") {
			tool := fmt.Sprint("t", i)
			result := fmt.Sprintf(rapid.SampledFrom(shapes).Draw(rt, "shape"), rapid.SampledFrom(texts).Draw(rt, "text"))
			answer := rapid.SampledFrom([]string{
				`{"jsonrpc":"2.0","id":%%ID%%,"result":%s}`,
				`{"jsonrpc":"2.0","id":%%ID%%,"error":{"code":-1,"message":"no","data":%s}}`,
				`{"jsonrpc":"2.0","id":%%ID%%,"result":%[1]s,"result":%[1]s}`,
				`{"jsonrpc":"2.0","id":"nobody's","result":%s}`,
			}).Draw(rt, "answer")
			script.Answers[tool] = fmt.Sprintf(answer, result)
			frames = append(frames, call(fmt.Sprint(i), tool))
			if rapid.Bool().Draw(rt, "another method") {
				frames = append(frames, fmt.Sprintf(`{"jsonrpc":"2.0","id":"m%d","method":"resources/read"}`, i))
			}
		}
		agree(outer{t, rt}, script, frames)
	})
}

// outer fails the generated case, and cleans up with the test.
type outer struct {
	testing.TB
	rt *rapid.T
}

func (o outer) Errorf(format string, a ...any) { o.rt.Helper(); o.rt.Errorf(format, a...) }
func (o outer) Fatalf(format string, a ...any) { o.rt.Helper(); o.rt.Fatalf(format, a...) }
func (o outer) Fatal(a ...any)                 { o.rt.Helper(); o.rt.Fatal(a...) }
func (o outer) Error(a ...any)                 { o.rt.Helper(); o.rt.Error(a...) }
