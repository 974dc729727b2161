package policy_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/policy"
)

// TestNamesThatLookAlikeAreWarnedOf: comparison is exact, so a rule whose tool
// is not what its author sees protects nothing. Lint says how it is spelt.
func TestNamesThatLookAlikeAreWarnedOf(t *testing.T) {
	for name, tool := range map[string]string{
		"zero width space":     "delete\u200b_note",
		"Cyrillic o":           "delete_n\u043ete",
		"decomposed":           "cafe\u0301",
		"composed":             "caf\u00e9",
		"full width":           "\uff44elete",
		"right-to-left":        "delete\u202e_note",
		"soft hyphen":          "dele\u00adte",
		"tag":                  "a\U000e0041",
		"variation selector":   "a\ufe0f",
		"no-break space":       "a\u00a0b",
		"NUL":                  "delete_note\x00",
		"line feed":            "delete\nnote",
		"blank behind":         "delete_note ",
		"line end of a block":  "delete_note\n",
		"nothing":              "",
		"a name of the future": "工具",
	} {
		s := mustParse(t, fmt.Sprintf("default: allow\nrules: [{id: a, action: deny, tool: %s}]", yamlQuoted(tool)))
		if got := *s.Rules()[0].Tool; got != tool {
			t.Errorf("%s: read as %q", name, got)
		}
		w := s.Warnings()
		if len(w) != 1 || w[0].Code != policy.OddName || strings.ContainsFunc(w[0].Msg, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%s: %q", name, w)
		}
		// What only looks like it is another tool.
		if m := s.Evaluate(policy.Request{Tool: "delete_note"}); m.Rule != nil {
			t.Errorf("%s matches delete_note", name)
		}
	}
	for _, tool := range []string{"delete_note", "a.b/c-d", "fs:read", "a b", "A"} {
		if w := mustParse(t, fmt.Sprintf("default: allow\nrules: [{id: a, action: deny, tool: %s}]", yamlQuoted(tool))).Warnings(); len(w) > 0 {
			t.Errorf("%q: %q", tool, w)
		}
	}
}

// yamlQuoted spells any text in double quotes.
func yamlQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		fmt.Fprintf(&b, `\U%08x`, r)
	}
	b.WriteByte('"')
	return b.String()
}

// TestRecheckKnowsShortenedNames: a record holds a name over 1 KiB in a shorter
// form, and a rule that names the tool in full still decides it.
func TestRecheckKnowsShortenedNames(t *testing.T) {
	long := strings.Repeat("x", 1025)
	short := fmt.Sprintf("%s#sha256:%x", long[:256], sha256.Sum256([]byte(long)))
	s := mustParse(t, "default: allow\nrules: [{id: a, action: deny, tool: "+long+"}]")
	var got []string
	_, err := policy.Recheck(strings.NewReader(call(short, wasDenied, "")+call(long[:1024], wasAllowed, "")), s, func(r *policy.Rechecked) error {
		got = append(got, r.Clause()+" "+r.Rule)
		return nil
	}, func(n policy.Note) { t.Error(n) })
	if want := []string{"unchanged denied a", "unchanged allowed "}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestApprovalIDsDoNotRepeat: within a Session the counter tells them apart,
// whatever rules and tools are called, and between Sessions the token does.
func TestApprovalIDsDoNotRepeat(t *testing.T) {
	s := mustParse(t, "default: deny\nrules:\n- {id: a, action: pending_approval, tool: b-c}\n- {id: a-b, action: pending_approval, tool: c}\n")
	seen := map[string]bool{}
	for range 2 {
		e := policy.NewEngine(s)
		for range 50 {
			var v [2]policy.Verdict
			e.Decide([]policy.Request{{Tool: "b-c"}, {Tool: "c"}}, v[:])
			for _, v := range v {
				if seen[v.ApprovalID] {
					t.Fatalf("%s twice", v.ApprovalID)
				}
				seen[v.ApprovalID] = true
			}
		}
	}
}
