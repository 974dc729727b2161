package guard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// The record of a guarded session verifies, and says of each answer what came,
// what was found in it and what the client got: response_digest is of the bytes
// sent, received_digest of those that came, where they differ; an answer that was
// replaced by an error has no response_digest. Recheck agrees with it.
func TestTheRecordOfAGuardedSession(t *testing.T) {
	dir := t.TempDir()
	a := answers{
		"clean": textResult(`"fine"`), "changed": textResult(`"a` + ansi + `b"`), "blocked": textResult(`"` + token + `"`),
		"watched": textResult(`"` + phrase + `"`), "dies": "!die",
	}
	must(t, writeFile(dir+"/p.yaml", []byte("version: 1\ndefault: allow\ndefaults:\n  filesystem_read: {allow_paths: [\"/srv/**\"]}\n")))
	r := harness.NewRecording(t, dir)
	s := startScript(t, dir, serverScript{Answers: a}, "--audit", r.Path, "--signing-key", r.Key, "--policy", "@p.yaml")
	got := map[string]string{}
	for _, tool := range []string{"clean", "changed", "blocked", "watched"} {
		got[tool] = s.ask(call(`"`+tool+`"`, tool))
	}
	s.ask(callWith("5", "read_file", `{"path":"/etc/shadow"}`))
	s.send(call("6", "dies"))
	s.finish()
	r.MustVerify(t)

	type outcome struct {
		Type      string `json:"line_type"`
		Tool      string `json:"tool_id"`
		Response  string `json:"response_digest"`
		Received  string `json:"received_digest"`
		Execution struct{ Status string }
		Findings  []struct{ Rule, Action string }
	}
	outcomes := map[string]outcome{}
	for line := range bytes.Lines(s.file("record.aarl")) {
		var o outcome
		must(t, json.Unmarshal(line, &o))
		if o.Type == "outcome" {
			outcomes[o.Tool] = o
		}
	}
	digest := func(frame string) string {
		sum := sha256.Sum256([]byte(frame))
		return hex.EncodeToString(sum[:])
	}
	const unmatched = "[{POL-UNMATCHED passed}" // no shape of the policy takes these tools
	for tool, want := range map[string]struct{ status, response, received, found string }{
		"clean":     {"success", digest(got["clean"]), "", unmatched + "]"},
		"changed":   {"success", digest(got["changed"]), digest(withID(a["changed"], `"changed"`)), unmatched + " {WRD-RES-ANSI modified}]"},
		"blocked":   {"success", "", digest(withID(a["blocked"], `"blocked"`)), unmatched + " {WRD-RES-SECRET-ECHO blocked}]"},
		"watched":   {"success", digest(got["watched"]), "", unmatched + " {WRD-RES-INJECT-PHRASE shadowed}]"},
		"read_file": {"host_denied", "", "", "[]"},
		"dies":      {"host_denied", "", "", unmatched + "]"},
	} {
		o, ok := outcomes[tool]
		if !ok {
			t.Errorf("%s is not on record", tool)
			continue
		}
		same := func(what, got, want string) {
			if strings.TrimPrefix(got, "sha256:") != want {
				t.Errorf("%s: %s is %s, want %s", tool, what, got, want)
			}
		}
		same("status", o.Execution.Status, want.status)
		same("response_digest", o.Response, want.response)
		same("received_digest", o.Received, want.received)
		same("findings", fmt.Sprint(o.Findings), want.found)
	}

	out, err := exec.Command(harness.Binary(t, harness.Aegis), "recheck", "--verify", "--policy", dir+"/p.yaml", r.Path).CombinedOutput()
	if err != nil {
		t.Errorf("recheck under the policy of the session: %v\n%s", err, out)
	}
}
