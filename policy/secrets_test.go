package policy_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/policy"
	"github.com/go-json-experiment/json"
)

// freshTokens are tokens of several vendors, made anew.
func freshTokens(r *rand.Rand) map[string]string {
	from := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(b)
	}
	const upper, lower, digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789"
	return map[string]string{
		"github":  "ghp_" + from(upper+lower+digits, 36),
		"openai":  "sk-" + from(upper+lower+digits, 40),
		"aws":     "AKIA" + from(upper+digits, 16),
		"slack":   "xoxb-" + from(digits, 12) + "-" + from(upper+lower+digits, 24),
		"npm":     "npm_" + from(upper+lower+digits, 36),
		"entropy": from(upper+lower+digits, 40),
	}
}

// TestNoSecretGoesOut plants tokens wherever an argument can hold one, and looks
// for them in all that leaves a decision: reasons, codes, what is recorded, the
// explanation and the edits that it proposes.
func TestNoSecretGoesOut(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	places := []string{
		`{"path":%q}`, `{"paths":["/srv/app/a","/srv/app/` + "%[2]s" + `/b"]}`,
		`{"path":"file:///srv/app/%[3]s"}`, `{"path":"~/%[2]s"}`, `{"path":"/srv/app/` + "%[2]s" + `\u0000"}`,
		`{"url":"https://%[2]s.example.com/"}`, `{"url":"https://api.example.com/?token=%[2]s"}`, `{"url":"https://user:%[2]s@api.example.com/"}`, `{"url":"%[2]s"}`,
		`{"command":"%[2]s"}`, `{"command":"curl -H 'Authorization: Bearer %[2]s' https://x/"}`, `{"command":"git clone %[2]s; id"}`, `{"command":"git '%[2]s"}`,
		`{"sql":"SELECT '%[2]s'"}`, `{"sql":"%[2]s"}`, `{"sql":"DROP TABLE \"%[2]s\""}`,
		`{"path %[2]s":"/etc/passwd"}`, `{"%[2]s":{"path":"/etc/passwd"}}`, `{"%[2]s":{"path":5}}`,
		`{"path":"` + strings.Repeat("/a", 2500) + `/%[2]s"}`,
	}
	seen := 0
	for range 20 {
		for vendor, token := range freshTokens(r) {
			for _, place := range places {
				var encoded strings.Builder
				for i := range len(token) {
					fmt.Fprintf(&encoded, "%%%02x", token[i])
				}
				arguments := strings.NewReplacer("%q", jsonText("/srv/app/"+token), "%[2]s", token, "%[3]s", encoded.String()).Replace(place)
				set := mustParse(t, argumentPolicy)
				for _, tool := range []string{"t", "write_file"} {
					req := policy.Request{Tool: tool, Arguments: []byte(arguments)}
					var v [1]policy.Verdict
					policy.NewEngine(set).Decide([]policy.Request{req}, v[:])
					recorded, err := json.Marshal(v[0].Params.Recorded())
					if err != nil {
						t.Fatal(err)
					}
					x := set.Explain(req)
					out := string(recorded) + v[0].Reason + v[0].MatchedRule + fmt.Sprintf("%+v", x.Edits)
					for _, f := range x.Judgement.Findings {
						out += f.Reason + f.Rule + f.Entry
					}
					decoded, _ := url.PathUnescape(out)
					for _, text := range []string{out, decoded} {
						if strings.Contains(strings.ToLower(text), strings.ToLower(token[4:])) {
							t.Fatalf("%s in %s\n%s", vendor, arguments, out)
						}
					}
					if strings.Contains(string(recorded), `"redacted":true`) {
						seen++
						if i := strings.Index(string(recorded), `"redacted":true`); strings.Contains(string(recorded)[:i], "sha256") {
							t.Fatalf("hashed: %s", recorded)
						}
					}
				}
			}
		}
	}
	if seen == 0 {
		t.Error("nothing was redacted")
	}
}
