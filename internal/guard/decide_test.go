package guard

import (
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/interpose"
	"github.com/aegis-aar/aegis/internal/wire"
)

// held is a Decider that gives every call the same verdict.
type held interpose.Verdict

func (h held) Decide(calls []interpose.ToolCall, verdicts []interpose.Verdict) (aar.PolicySetHash, error) {
	for i := range calls {
		verdicts[i] = interpose.Verdict(h)
	}
	return aar.PassThrough, nil
}

func (held) Unread(wire.Message, string) bool { return true }

// A call is told under the class and severity of its drift, and what the policy
// found in it stays the policy's.
func TestWhatIsFoundInACallIsToldAsWhatItIs(t *testing.T) {
	allowed := aar.Policy{Status: aar.Allowed}
	for name, tc := range map[string]struct {
		verdict held
		want    []string // of each finding, in order
	}{
		"another tool than the lock's": {
			held{Policy: allowed, Capability: "tool is not the one in the lock: t", Rule: "WRD-DRIFT-DESCRIPTION-MODIFIED", Reason: "it differs"},
			[]string{`{"kind":"drift","rule_id":"WRD-DRIFT-DESCRIPTION-MODIFIED","level":"note","severity":"low","tier":"block","action":"blocked","direction":"c2s","rpc_id":1,"tool":"t","drift_class":"description-modified","target":"tools/t","message":"it differs"}`},
		},
		"a policy that is watched, and a lock that refuses": {
			held{Policy: allowed, Capability: "tool not registered: t", Rule: "WRD-DRIFT-TOOL-ADDED", Reason: "the tool is not in the lock",
				Findings: []aar.Finding{{Rule: "POL-FS-DENY", Action: "shadowed"}}},
			[]string{
				`"kind":"drift","rule_id":"WRD-DRIFT-TOOL-ADDED","level":"error","severity":"high","tier":"block","action":"blocked"`,
				`{"kind":"policy-finding","rule_id":"POL-FS-DENY","level":"error","severity":"high","tier":"block","action":"shadowed","direction":"c2s","rpc_id":1,"tool":"t","message":"would refuse the call if it were not only watched"}`,
			},
		},
		"both watched": {
			held{Policy: allowed, Rule: "POL-FS-DENY", Reason: "outside",
				Findings: []aar.Finding{{Rule: "POL-FS-DENY", Action: "shadowed"}, {Rule: "WRD-DRIFT-TOOL-ADDED", Action: "shadowed"}}},
			[]string{
				`{"kind":"policy-finding","rule_id":"POL-FS-DENY","level":"error","severity":"high","tier":"block","action":"shadowed","direction":"c2s","rpc_id":1,"tool":"t","message":"outside"}`,
				`"kind":"drift","rule_id":"WRD-DRIFT-TOOL-ADDED","level":"error","severity":"high","tier":"block","action":"shadowed"`,
			},
		},
		"passed unjudged": {
			held{Policy: allowed, Findings: []aar.Finding{{Rule: "POL-UNMATCHED", Action: "passed"}}},
			[]string{`"kind":"policy-finding","rule_id":"POL-UNMATCHED","level":"note","severity":"low","tier":"note","action":"passed"`},
		},
	} {
		s := start(t, server("reply", replies(t, textAnswer("%ID%", "x"))), setup{decider: tc.verdict})
		s.send(call("1", "t"))
		s.next()
		s.stdin.Close()
		s.wait()
		told := strings.Split(s.outputs()["the findings"], "\n")
		for i, want := range tc.want {
			if !strings.Contains(told[i], want) {
				t.Errorf("%s: told %s, want %s", name, told[i], want)
			}
		}
		if !strings.Contains(told[len(tc.want)], `"run-summary"`) {
			t.Errorf("%s: also told %s", name, told[len(tc.want)])
		}
	}
}
