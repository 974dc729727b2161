package policy

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Warning is something lawful in a policy file that probably does not do what
// its author means.
type Warning struct {
	File         string
	Line, Column int
	Code         WarningCode
	Msg          string
}

// String is `file:line:column: message`.
func (w Warning) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", w.File, w.Line, w.Column, w.Msg)
}

// WarningCode names a kind of warning; the text of the message may change, the
// code does not.
type WarningCode string

// The kinds of warning.
const (
	NoRules         WarningCode = "no-rules"          // the default decides every call
	DefaultOmitted  WarningCode = "default-omitted"   // and is therefore allow
	NeverWins       WarningCode = "never-wins"        // another rule beats it for every call it matches
	AxisNotAsserted WarningCode = "axis-not-asserted" // capability or role: never matches in wrap or guard
	NotAPattern     WarningCode = "not-a-pattern"     // `*` or `?` inside an axis is taken literally
	OddName         WarningCode = "odd-name"          // an empty axis, one with blanks at its ends, or one that looks like another
	LimitsNotBound  WarningCode = "limits-not-bound"  // limits bind only tools in the product's own cell
)

func (s *Set) lint(top *yaml.Node) []Warning {
	var out []Warning
	warn := func(line, column int, code WarningCode, format string, a ...any) {
		out = append(out, Warning{s.name, line, column, code, fmt.Sprintf(format, a...)})
	}
	does := "denied"
	if s.fallback == Allow {
		does = "allowed"
	}
	switch {
	case len(s.rules) == 0 && s.arguments != nil:
		warn(top.Line, top.Column, NoRules, "the policy has no rules: every call that the argument half does not refuse is %s", does)
	case len(s.rules) == 0:
		warn(top.Line, top.Column, NoRules, "the policy has no rules: every call is %s", does)
	case s.defaultLine == 0:
		warn(top.Line, top.Column, DefaultOmitted, "`default` is not given: what no rule matches is allowed")
	}
	for i := range s.rules {
		r := &s.rules[i]
		if by := s.alwaysBeatenBy(r); by != nil {
			warn(r.Line, r.Column, NeverWins, "rule %s can never win: %s on line %d beats it for every call it matches", quoted(r.ID), quoted(by.ID), by.Line)
		}
		if r.Capability != nil || r.Role != nil {
			warn(r.Line, r.Column, AxisNotAsserted, "rule %s never matches in wrap and guard: no capability or role is asserted there", quoted(r.ID))
		}
		if r.Limits != nil {
			warn(r.Line, r.Column, LimitsNotBound, "the limits of rule %s do not bind in wrap and guard: one server process serves many calls", quoted(r.ID))
		}
		for _, axis := range []struct {
			name  string
			value *string
		}{{"tool", r.Tool}, {"capability", r.Capability}, {"role", r.Role}} {
			switch v := axis.value; {
			case v == nil:
			case strings.ContainsAny(*v, "*?"):
				warn(r.Line, r.Column, NotAPattern, "rule %s: %s %s is compared as it stands; there are no patterns but a lone \"*\"", quoted(r.ID), axis.name, quoted(*v))
			case *v == "" || strings.TrimSpace(*v) != *v:
				warn(r.Line, r.Column, OddName, "rule %s: %s is %q, blanks and all", quoted(r.ID), axis.name, *v)
			case strings.ContainsFunc(*v, notPlainASCII):
				warn(r.Line, r.Column, OddName, "rule %s: %s is %+q, and matches nothing that only looks like it", quoted(r.ID), axis.name, *v)
			}
		}
	}
	if s.arguments != nil {
		s.arguments.lint(s, warn)
	}
	slices.SortStableFunc(out, func(a, b Warning) int { return a.Line - b.Line })
	return out
}

// alwaysBeatenBy returns a rule that matches whatever r matches and outranks it,
// or nil. For a rule that does not deny, any deny as wide as it is one.
func (s *Set) alwaysBeatenBy(r *Rule) *Rule {
	p := r.pattern()
	same := s.index.best[p]
	if r.Action == Deny {
		if same.deny != r {
			return same.deny
		}
		return nil
	}
	for a := range axesEnd {
		if a&^p.axes == 0 {
			if by := s.index.best[p.within(a)].deny; by != nil {
				return by
			}
		}
	}
	if same.other != r {
		return same.other
	}
	return nil
}

// notPlainASCII reports what can be spelt in more than one way, is not seen, or
// is mistaken for something else. MCP asks for names without such characters.
func notPlainASCII(r rune) bool { return r < ' ' || r > '~' }
