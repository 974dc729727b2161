package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/interpose"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/wire"
	"github.com/aegis-aar/aegis/lock"
	"github.com/aegis-aar/aegis/policy"
)

// gateFlags say what every tools/call is decided by, and what is recorded of it.
type gateFlags struct {
	policy string
	lock   string
	derive bool
}

func (f *gateFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.policy, "policy", "", "decide every tools/call by the policy in the file at `PATH`")
	cmd.Flags().StringVar(&f.lock, "lock", "", "refuse calls to tools that are not in the lock file at `PATH`")
	cmd.Flags().BoolVar(&f.derive, "derive", false, "record what each call would touch even without an argument policy")
}

func (f *gateFlags) check(cmd *cobra.Command) error {
	switch {
	case f.policy == "" && cmd.Flags().Changed("policy"):
		return usagef("--policy needs a PATH")
	case f.lock == "" && cmd.Flags().Changed("lock"):
		return usagef("--lock needs a PATH")
	}
	return nil
}

// arm has the calls of a session decided, and the policy read again when that is
// asked for until stop is called.
func (r *relay) arm(f gateFlags) (stop func(), err error) {
	stop = func() {}
	if f == (gateFlags{}) {
		return stop, nil
	}
	g, err := newGate(f, r.note)
	if err != nil {
		return nil, err
	}
	r.gate, r.cfg.Decider = g, g
	if g.pins != nil {
		digest := g.pins.gate.SurfaceDigest()
		r.cfg.Surface = &digest
	}
	if f.policy != "" {
		g.warn()
		stop = g.reloadOnSignal()
	}
	return stop, nil
}

// gate lets the relay ask a policy, and replaces the policy on request.
type gate struct {
	path   string // of the policy, empty without one
	engine *policy.Engine
	pins   *pins                         // nil without a lock
	note   func(format string, a ...any) // tells people
	// watchPolicy and watchLock let a Call pass that the policy denies, or whose
	// tool is not in the lock, and tell of it.
	watchPolicy, watchLock bool
}

func newGate(f gateFlags, note func(string, ...any)) (*gate, error) {
	var set *policy.Set
	if f.policy != "" {
		var err error
		if set, err = policy.Load(f.policy); err != nil {
			faults := faultsOf(err)
			return nil, &listError{fmt.Sprintf("could not load policy `%s`: %s", f.policy, faults[0]), faults[1:]}
		}
	}
	g := &gate{path: f.policy, note: note}
	var opts []policy.Option
	if f.lock != "" {
		var err error
		if g.pins, err = loadPins(f.lock); err != nil {
			return nil, err
		}
		opts = append(opts, policy.WithSurface(g.pins.surface()))
	}
	if f.derive {
		opts = append(opts, policy.WithDerive())
	}
	g.engine = policy.NewEngine(set, opts...)
	return g, nil
}

// warn tells what is lawful in the set in force but probably not meant.
func (g *gate) warn() {
	for _, warning := range g.engine.Set().Warnings() {
		g.note("policy %s", report.SafeText(warning.String()))
	}
}

// Decide implements [interpose.Decider].
func (g *gate) Decide(calls []interpose.ToolCall, verdicts []interpose.Verdict) (aar.PolicySetHash, error) {
	if len(calls) == 0 {
		return g.hash(g.engine.Set().Hash()), nil
	}
	requests, answers := make([]policy.Request, len(calls)), make([]policy.Verdict, len(calls))
	for i, c := range calls {
		requests[i] = policy.Request{Tool: c.Tool, Arguments: c.Arguments}
	}
	hash, _ := g.engine.Decide(requests, answers)
	for i := range answers {
		verdicts[i] = g.verdict(&answers[i])
		g.hold(calls[i].Tool, &verdicts[i])
	}
	return g.hash(hash), nil
}

// hash is what the record says: without a policy nobody decided.
func (g *gate) hash(h aar.PolicySetHash) aar.PolicySetHash {
	if g.path == "" {
		return aar.PassThrough
	}
	return h
}

// verdict is an answer of the policy as the relay takes it.
func (g *gate) verdict(v *policy.Verdict) interpose.Verdict {
	out := interpose.Verdict{Policy: recorded(v), MatchedRule: v.MatchedRule, Rule: string(v.Code), Reason: v.Reason}
	if v.Derived {
		out.Derived = v.Params.Recorded()
	}
	for _, note := range v.Notes {
		out.Findings = append(out.Findings, aar.Finding{Rule: string(note), Action: string(report.Passed)})
	}
	if v.Status == policy.Allowed {
		return out
	}
	switch {
	case !ofRules(v.Code):
		out.Code = interpose.CapabilityDenied
	case v.MatchedRule != "":
		// A reason is the author's; which rule it was is always told.
		out.Reason = strings.TrimSuffix(fmt.Sprintf("rule `%s`: %s", v.MatchedRule, v.Reason), ": ")
	}
	if g.watchPolicy {
		out.Policy = aar.Policy{Status: aar.Allowed}
		out.Findings = append(out.Findings, aar.Finding{Rule: string(v.Code), Action: string(report.Shadowed)})
	}
	return out
}

// hold refuses a call that the policy allows if its tool is not in the lock,
// even if no list was ever asked for: a cached one is lawful. So it does a call
// to a tool that was last listed as something else than what is pinned.
func (g *gate) hold(tool string, v *interpose.Verdict) {
	if g.pins == nil || v.Policy.Status != aar.Allowed {
		return
	}
	rule, reason, capability := "", "", ""
	if !g.pins.gate.HasTool(tool) {
		rule, reason = lock.RuleOf("tool-added"), "the tool is not in the lock"
		capability = "tool not registered: " + aar.BoundedName(tool)
	} else if d, drifted := g.pins.gate.Drifted(tool); drifted {
		rule, reason = d.Rule, "the server lists the tool as another one than the lock: "+d.Message
		capability = "tool is not the one in the lock: " + aar.BoundedName(tool)
	} else {
		return
	}
	if g.watchLock {
		v.Findings = append(v.Findings, aar.Finding{Rule: rule, Action: string(report.Shadowed)})
	} else {
		v.Capability = capability
	}
	if v.Capability != "" || v.Rule == "" { // else it says what the policy would have refused
		v.Rule, v.Reason = rule, reason
	}
}

// Unread implements [interpose.Decider]: where a denial counts, what cannot be
// judged does not pass.
func (g *gate) Unread(wire.Message, string) bool {
	return g.path != "" && !g.watchPolicy || g.pins != nil && !g.watchLock
}

// ofRules tells whether the rules of the policy refuse, and not its argument half.
func ofRules(c policy.Code) bool {
	return c == policy.CodeRuleDeny || c == policy.CodeRuleRate || c == policy.CodeRulePending
}

// recorded is a verdict as the record spells it. The zero value denies.
func recorded(v *policy.Verdict) aar.Policy {
	switch v.Status {
	case policy.Allowed:
		return aar.Policy{Status: aar.Allowed}
	case policy.RateLimited:
		return aar.Policy{Status: aar.RateLimited, Reason: v.Reason}
	case policy.PendingApproval:
		return aar.Policy{Status: aar.PendingApproval, ApprovalID: v.ApprovalID}
	}
	if !ofRules(v.Code) {
		return aar.Policy{Status: aar.Denied, Reason: string(v.Code) + ": " + v.Reason}
	}
	return aar.Policy{Status: aar.Denied, Reason: v.Reason}
}

// reload reads the policy file again. A set that does not load changes nothing.
// Both are told.
func (g *gate) reload() {
	was := g.engine.Set()
	set, err := g.loadAgain()
	if err != nil {
		faults := faultsOf(err)
		for i := range faults {
			faults[i] = report.SafeText(faults[i])
		}
		g.note("policy not reloaded, %s stays in force: %s", was.Fingerprint(), strings.Join(faults, "\n  "))
		return
	}
	g.engine.Swap(set)
	g.note("policy reloaded: %s replaces %s; policy_set_hash %s", set.Fingerprint(), was.Fingerprint(), set.Hash())
	g.warn()
}

// loadAgain reads the policy file again. It does not open a pipe, which can be
// read but once: that could wait for ever, and all later reloads with it.
func (g *gate) loadAgain() (*policy.Set, error) {
	if info, err := os.Stat(g.path); err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket|os.ModeDevice) != 0 {
		return nil, errors.New("policy is no file that can be read again")
	}
	return policy.Load(g.path)
}
