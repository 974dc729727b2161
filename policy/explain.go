package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Explanation says why a Set decides a Request as it does, and the smallest
// edit of the file that would change the answer.
type Explanation struct {
	// Judgement is the argument half's; if it refuses, Match is what the rules
	// would have said.
	Judgement Judgement
	Match     Match
	// Line is where the deciding rule begins, or where `default` stands; 0 if
	// the default decides and is not written.
	Line int
	// Outranked are the other rules that match, best first.
	Outranked []*Rule
	// Edits, made together, change the answer to Then; no smaller set of edits
	// turns a refusal into another answer, or an admission into a refusal.
	Edits []Edit
	Then  Action
	// Narrower is another edit that changes the answer for this tool only, where
	// Edits would change it for every call that no rule matches; or nil.
	Narrower *Edit
}

// Edit is one change of a policy file.
type Edit struct {
	Line int    // where; 0 for the top of the file
	Rule string // id of the rule that is changed; empty for the default or a new rule
	Old  string // what stands there; empty if a line is added behind Line
	New  string // empty if what stands there is removed
}

// String describes the edit.
func (e Edit) String() string {
	at := "at the top"
	if e.Line > 0 {
		at = fmt.Sprint("line ", e.Line)
	}
	if e.Old == "" {
		if e.Line > 0 {
			at = "after " + at
		}
		return fmt.Sprintf("%s: add `%s`", at, e.New)
	}
	if e.New == "" {
		return fmt.Sprintf("%s: remove `%s`", at, e.Old)
	}
	s := fmt.Sprintf("%s: change `%s` to `%s`", at, e.Old, e.New)
	if e.Rule != "" {
		s += " in rule " + quoted(e.Rule)
	}
	return s
}

// Explain says how s decides req. Rate windows are not consulted.
func (s *Set) Explain(req Request) Explanation {
	x := s.explainRules(req)
	if s.arguments == nil {
		return x
	}
	x.Judgement = s.Judge(req, nil)
	if x.Judgement.Denied != nil {
		s.arguments.explain(req, &x)
	}
	return x
}

func (s *Set) explainRules(req Request) Explanation {
	x := Explanation{Match: s.Evaluate(req), Line: s.defaultLine}
	winner := x.Match.Rule
	if winner != nil {
		x.Line = winner.Line
	}
	var denies []*Rule
	for i := range s.rules {
		r := &s.rules[i]
		if !r.matches(req) {
			continue
		}
		if r.Action == Deny {
			denies = append(denies, r)
		}
		if r != winner {
			x.Outranked = append(x.Outranked, r)
		}
	}
	slices.SortStableFunc(x.Outranked, func(a, b *Rule) int {
		if (a.Action == Deny) != (b.Action == Deny) {
			if a.Action == Deny {
				return -1
			}
			return 1
		}
		if better(a, b) == a {
			return -1
		}
		return 1
	})
	if winner == nil {
		x.editDefault(s, req)
		return x
	}
	x.editRules(s, req, denies)
	return x
}

func (r *Rule) matches(req Request) bool {
	k, ok := r.axes().key(req)
	return ok && k == r.pattern()
}

// editDefault turns the default about: one word, but for every call that no
// rule matches; or else a rule of its own for this tool.
func (x *Explanation) editDefault(s *Set, req Request) {
	x.Then = Allow
	if s.fallback == Allow {
		x.Then = Deny
	}
	e := Edit{Line: s.defaultLine, New: "default: " + x.Then.String()}
	if s.defaultLine > 0 {
		e.Old = "default: " + s.fallback.String()
	}
	x.Edits = []Edit{e}
	x.Narrower = s.addRule(x.Then, req.Tool)
}

// editRules changes the action of the rules that decide. A refusal ends only
// when every deny that matches has gone; an admission ends with one deny.
func (x *Explanation) editRules(s *Set, req Request, denies []*Rule) {
	winner := x.Match.Rule
	change, to := []*Rule{winner}, Deny
	switch winner.Action {
	case Deny:
		change, to = denies, Allow
	case PendApproval:
		to = Allow
	}
	if to == Deny && (winner.Rate != nil || winner.Limits != nil) {
		// Its rate or limits would not be valid on a deny.
		x.Edits, x.Then = []Edit{*s.addRule(Deny, req.Tool)}, Deny
		return
	}
	edited := slices.Clone(s.rules)
	for _, r := range change {
		edited[r.index].Action = to
		x.Edits = append(x.Edits, Edit{Line: r.ActionLine, Rule: r.ID, Old: "action: " + r.Action.String(), New: "action: " + to.String()})
	}
	x.Then = newSet(s.name, s.fallback, s.defaultLine, edited, nil, "").Evaluate(req).Action
}

// addRule is a rule of its own for one tool, behind the last one.
func (s *Set) addRule(a Action, tool string) *Edit {
	id := a.String() + "-" + tool
	for n := 2; slices.ContainsFunc(s.rules, func(r Rule) bool { return r.ID == id }); n++ {
		id = fmt.Sprintf("%s-%s-%d", a, tool, n)
	}
	rule := fmt.Sprintf("{id: %s, action: %s, tool: %s}", yamlText(id), a, yamlText(tool))
	if n := len(s.rules); n > 0 {
		return &Edit{Line: s.rules[n-1].lastLine, New: "- " + rule}
	}
	return &Edit{Line: s.noRules.Line, Old: s.noRules.Old, New: "rules: [" + rule + "]"}
}

// yamlText spells s so that it reads as text: bare where no reader doubts it,
// else in the quotes that JSON and YAML share.
func yamlText(s string) string {
	bare := otherThanText(s) == "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.')
	}) < 0 && s[0] != '-' && s[0] != '.'
	if bare {
		return s
	}
	b, _ := jsontext.AppendQuote(nil, s)
	return string(b)
}
