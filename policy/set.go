// Package policy decides tool Calls by a Policy Set: the parsed, immutable rule
// collection of one YAML file.
//
// [Parse] reads a file once and refuses whatever it does not understand. A file
// has two halves: the argument half ([Set.Judge]) looks at what the arguments of
// a Call would touch, the rules ([Set.Evaluate]) at its tool; the first is asked
// first, and a refusal of either refuses. An [Engine]
// adds what a verdict needs beyond the rules: the set in force, the rate windows
// and the approval counter of one Session. [Recheck] decides the Calls of a
// record again under another Policy Set and executes nothing.
package policy

import (
	"fmt"
	"slices"

	"github.com/aegis-aar/aegis/aar"
)

// Action is what a rule does with a Call it wins. The zero Action is Deny, so
// that a value nobody set refuses.
type Action uint8

// The four actions of the policy language.
const (
	Deny Action = iota
	Allow
	RateLimit
	PendApproval
)

var actionTokens = [...]string{Deny: "deny", Allow: "allow", RateLimit: "rate_limit", PendApproval: "pending_approval"}

// String is the action's token in a policy file.
func (a Action) String() string { return actionTokens[a] }

// Rate bounds how often a rate_limit rule admits Calls: Max in a fixed window
// that opens with the first Call of its key and lasts PerSeconds.
type Rate struct {
	Max        uint32
	PerSeconds uint64
}

// Limits are resource ceilings of one Call. A nil member sets no ceiling. They
// bind only tools that run inside the product's own cell: a server process
// serves many Calls and cannot be held to the limits of one.
type Limits struct {
	MaxMemoryBytes *uint64
	MaxWallMS      *uint64 // milliseconds
	MaxOutputBytes *uint64
}

// Rule is one rule of a Set. It is read-only: the Set and its verdicts share it.
type Rule struct {
	ID       string
	Action   Action
	Priority int32
	// Tool, Capability and Role are the match axes; nil matches anything, any
	// other value only a request that asserts exactly it. "" is a value.
	Tool, Capability, Role *string
	Reason                 *string
	Rate                   *Rate   // of RateLimit, and only there
	Limits                 *Limits // of Allow and RateLimit; nil if no axis is set

	// Line and Column are where the rule begins in the file, from 1;
	// ActionLine is where its action stands.
	Line, Column, ActionLine int

	lastLine int    // where its last value begins
	index    int    // position in the file, from 0
	refusal  string // the reason of a refusal by this rule
}

// Specificity is the number of match axes the rule constrains, 0 to 3.
func (r *Rule) Specificity() int { return r.axes().count() }

func (r *Rule) axes() axes {
	var a axes
	if r.Tool != nil {
		a |= axisTool
	}
	if r.Capability != nil {
		a |= axisCapability
	}
	if r.Role != nil {
		a |= axisRole
	}
	return a
}

// refusalReason is settled at load, so that a decision formats nothing.
func (r *Rule) refusalReason() string {
	switch {
	case r.Reason != nil:
		return *r.Reason
	case r.Action == RateLimit:
		return fmt.Sprintf("rate limit exceeded for `%s` (%d per %ds)", r.ID, r.Rate.Max, r.Rate.PerSeconds)
	}
	return fmt.Sprintf("denied by rule `%s`", r.ID)
}

// Set is a Policy Set. It never changes once it is parsed, and is safe for use
// by many goroutines.
type Set struct {
	name        string
	fallback    Action // Allow or Deny
	defaultLine int    // where `default` stands; 0 if it is omitted
	noRules     Edit   // where there are no rules: what stands in their place
	rules       []Rule
	arguments   *argumentHalf // nil if the file has none
	versioned   bool          // `version` is given
	index       index
	long        map[string]string // tool names of the file that a record shortens, by their short form
	hash        aar.PolicySetHash
	fingerprint string
	warnings    []Warning
}

// AllowAll is the Policy Set of an engine without a policy: no rules, default allow.
func AllowAll() *Set {
	return newSet("", Allow, 0, nil, nil, "allow-all")
}

func newSet(name string, fallback Action, defaultLine int, rules []Rule, arguments *argumentHalf, fingerprint string) *Set {
	s := &Set{name: name, fallback: fallback, defaultLine: defaultLine, rules: rules, arguments: arguments, fingerprint: fingerprint}
	for i := range s.rules {
		r := &s.rules[i]
		r.index, r.refusal = i, r.refusalReason()
		if r.Tool != nil {
			s.noteLong(*r.Tool)
		}
	}
	if arguments != nil {
		for tool := range arguments.named {
			s.noteLong(tool)
		}
	}
	s.index = newIndex(s.rules)
	s.hash = aar.HashPolicySet(s.appendProjection(nil))
	return s
}

// noteLong remembers a tool of the file whose name a record shortens.
func (s *Set) noteLong(tool string) {
	if short := aar.BoundedName(tool); short != tool {
		if s.long == nil {
			s.long = make(map[string]string)
		}
		s.long[short] = tool
	}
}

// Name is the name Parse was given, or the path Load read.
func (s *Set) Name() string { return s.name }

// Default is the action where no rule matches: Allow or Deny.
func (s *Set) Default() Action { return s.fallback }

// Rules returns the rules in the order of the file.
func (s *Set) Rules() []Rule { return slices.Clone(s.rules) }

// Hash is the policy_set_hash: SHA-256 over the canonical form of what both
// halves say. Comments, indentation and the order of keys do not move it; the
// order of rules does.
func (s *Set) Hash() aar.PolicySetHash { return s.hash }

// Fingerprint is 64-bit FNV-1a over the text of the file, as `fnv1a:` and 16
// hex digits, or `allow-all`. It tells two texts apart in the trail of reloads
// and never goes into a record.
func (s *Set) Fingerprint() string { return s.fingerprint }

// Warnings lists what is lawful in the file but probably not meant, in file order.
func (s *Set) Warnings() []Warning { return slices.Clone(s.warnings) }
