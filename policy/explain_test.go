package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/policy"
	"pgregory.net/rapid"
)

// block spells rules one key a line, as an edit of a line wants them; empty is
// what stands where there are none.
func block(fallback, empty string, rules []rule) string {
	var b strings.Builder
	if fallback != "" {
		fmt.Fprintf(&b, "default: %s\n", fallback)
	}
	if len(rules) > 0 {
		b.WriteString("rules:\n")
	} else if empty != "" {
		b.WriteString(empty + "\n")
	}
	for _, r := range rules {
		for i, m := range r.members() {
			b.WriteString(map[bool]string{true: "- ", false: "  "}[i == 0] + m + "\n")
		}
	}
	return b.String()
}

// apply makes the edits by hand.
func apply(t *rapid.T, src string, edits ...policy.Edit) string {
	lines := strings.Split(strings.TrimSuffix(src, "\n"), "\n")
	for _, e := range edits {
		switch {
		case e.Old == "":
			lines = slices.Insert(lines, e.Line, e.New)
		case !strings.Contains(lines[e.Line-1], e.Old):
			t.Fatalf("%s: there stands %q", e, lines[e.Line-1])
		default:
			lines[e.Line-1] = strings.Replace(lines[e.Line-1], e.Old, e.New, 1)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestEditsChangeTheAnswer makes every edit that explain proposes and looks.
func TestEditsChangeTheAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, req := drawRules(t, allActions...), drawRequest(t)
		src := block(rapid.SampledFrom([]string{"", "allow", "deny"}).Draw(t, "default"), rapid.SampledFrom([]string{"", "rules:", "rules: []"}).Draw(t, "empty"), rules)
		if src == "" {
			return
		}
		s := parseDrawn(t, src)
		x := s.Explain(req)
		if x.Match != s.Evaluate(req) || len(x.Edits) == 0 || x.Then == x.Match.Action {
			t.Fatalf("%+v", x)
		}
		if got := parseDrawn(t, apply(t, src, x.Edits...)).Evaluate(req).Action; got != x.Then {
			t.Fatalf("%v gives %v, not %v", x.Edits, got, x.Then)
		}
		if x.Narrower != nil {
			if got := parseDrawn(t, apply(t, src, *x.Narrower)).Evaluate(req).Action; got != x.Then {
				t.Fatalf("%v gives %v, not %v", x.Narrower, got, x.Then)
			}
		}
		if len(x.Edits) > 1 { // each of them is needed
			for i := range x.Edits {
				fewer := slices.Delete(slices.Clone(x.Edits), i, i+1)
				if got := parseDrawn(t, apply(t, src, fewer...)).Evaluate(req).Action; got != x.Match.Action {
					t.Fatalf("%v would do", fewer)
				}
			}
		}
	})
}

func TestExplain(t *testing.T) {
	s := mustParse(t, "default: deny\nrules:\n- id: read\n  action: allow\n  tool: read\n- id: slow\n  action: rate_limit\n  tool: search\n  rate: {max: 1, per_seconds: 1}\n- id: never\n  action: deny\n  tool: rm\n- id: all\n  action: pending_approval\n  tool: rm\n")
	for _, c := range []struct{ tool, rule, edits, narrower string }{
		{"read", "read", "[line 4: change `action: allow` to `action: deny` in rule `read`]", ""},
		{"search", "slow", "[after line 15: add `- {id: deny-search, action: deny, tool: search}`]", ""},
		{"rm", "never", "[line 11: change `action: deny` to `action: allow` in rule `never`]", ""},
		{"other", "", "[line 1: change `default: deny` to `default: allow`]", "after line 15: add `- {id: allow-other, action: allow, tool: other}`"},
		{"no", "", "[line 1: change `default: deny` to `default: allow`]", "after line 15: add `- {id: allow-no, action: allow, tool: \"no\"}`"},
	} {
		x := s.Explain(policy.Request{Tool: c.tool})
		rule, narrower := "", ""
		if x.Match.Rule != nil {
			rule = x.Match.Rule.ID
		}
		if x.Narrower != nil {
			narrower = x.Narrower.String()
		}
		if rule != c.rule || fmt.Sprint(x.Edits) != c.edits || narrower != c.narrower {
			t.Errorf("%s: %q %v %q", c.tool, rule, x.Edits, narrower)
		}
	}
	if x := s.Explain(policy.Request{Tool: "rm"}); len(x.Outranked) != 1 || x.Outranked[0].ID != "all" {
		t.Errorf("outranked: %v", x.Outranked)
	}
	if x := mustParse(t, "version: 1").Explain(policy.Request{Tool: "x"}); x.Line != 0 || x.Edits[0].String() != "at the top: add `default: deny`" {
		t.Errorf("default omitted: %+v", x)
	}
}
