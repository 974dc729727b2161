package policy

import "math/bits"

// Request is what a verdict is a function of. A nil member is an axis the
// caller does not assert: a rule constrained on it does not match. Session is
// no match axis; it tells rate windows apart. Arguments is for the argument half.
type Request struct {
	Tool                      string
	Capability, Role, Session *string
	// Arguments is the JSON text of the Call's arguments as it came; nil if it
	// has none.
	Arguments []byte
}

// Match says which rule wins for a Request, before any counter is consulted.
type Match struct {
	// Rule is the winner, read-only; nil if no rule matches and the default decides.
	Rule *Rule
	// Action is the winner's action, or the default.
	Action Action
}

// Evaluate selects the rule that decides req, once the argument half has not
// refused it. Any deny that matches beats every
// other action. Among rules that are left the most specific wins, then the
// highest priority, then the one declared first. It is pure, allocates nothing,
// and its cost does not depend on how many rules there are.
func (s *Set) Evaluate(req Request) Match {
	var deny, other *Rule
	for _, want := range s.index.patterns {
		k, ok := want.key(req)
		if !ok {
			continue
		}
		b := s.index.best[k]
		deny, other = better(deny, b.deny), better(other, b.other)
	}
	switch {
	case deny != nil:
		return Match{Rule: deny, Action: Deny}
	case other != nil:
		return Match{Rule: other, Action: other.Action}
	}
	return Match{Action: s.fallback}
}

// index holds, for every combination of axis values some rule names, the rule
// that wins among those that name just that combination. A request meets at
// most eight combinations, one for each choice of axes left open.
type index struct {
	patterns []axes // the choices of axes that occur
	best     map[pattern]winners
}

type winners struct{ deny, other *Rule }

// axes is a set of match axes.
type axes uint8

const (
	axisTool axes = 1 << iota
	axisCapability
	axisRole
	axesEnd
)

func (a axes) count() int { return bits.OnesCount8(uint8(a)) }

// pattern is one combination of axis values. The axes tell an axis left open
// from one that names the empty string.
type pattern struct {
	axes                   axes
	tool, capability, role string
}

// key is the pattern of choice a that req matches, if it asserts those axes.
func (a axes) key(req Request) (pattern, bool) {
	p := pattern{axes: a}
	if a&axisTool != 0 {
		p.tool = req.Tool
	}
	if a&axisCapability != 0 {
		if req.Capability == nil {
			return p, false
		}
		p.capability = *req.Capability
	}
	if a&axisRole != 0 {
		if req.Role == nil {
			return p, false
		}
		p.role = *req.Role
	}
	return p, true
}

func (r *Rule) pattern() pattern {
	p := pattern{axes: r.axes()}
	if r.Tool != nil {
		p.tool = *r.Tool
	}
	if r.Capability != nil {
		p.capability = *r.Capability
	}
	if r.Role != nil {
		p.role = *r.Role
	}
	return p
}

// within is the pattern that keeps only the axes of a: it matches whatever p matches.
func (p pattern) within(a axes) pattern {
	p.axes &= a
	if a&axisTool == 0 {
		p.tool = ""
	}
	if a&axisCapability == 0 {
		p.capability = ""
	}
	if a&axisRole == 0 {
		p.role = ""
	}
	return p
}

func newIndex(rules []Rule) index {
	x := index{best: make(map[pattern]winners, len(rules))}
	var seen [axesEnd]bool
	for i := range rules {
		r := &rules[i]
		p := r.pattern()
		w := x.best[p]
		if r.Action == Deny {
			w.deny = better(w.deny, r)
		} else {
			w.other = better(w.other, r)
		}
		x.best[p] = w
		if !seen[p.axes] {
			seen[p.axes] = true
			x.patterns = append(x.patterns, p.axes)
		}
	}
	return x
}

// better returns the rule that outranks the other: more specific, then higher
// priority, then declared first. Either may be nil.
func better(a, b *Rule) *Rule {
	switch {
	case b == nil:
		return a
	case a == nil:
		return b
	}
	if x, y := a.Specificity(), b.Specificity(); x != y {
		if x > y {
			return a
		}
		return b
	}
	if a.Priority != b.Priority {
		if a.Priority > b.Priority {
			return a
		}
		return b
	}
	if a.index < b.index {
		return a
	}
	return b
}
