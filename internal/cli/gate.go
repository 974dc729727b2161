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
	"github.com/aegis-aar/aegis/policy"
)

// gateFlags say what every tools/call is decided by.
type gateFlags struct{ policy string }

func (f *gateFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.policy, "policy", "", "decide every tools/call by the policy in the file at `PATH`")
}

func (f *gateFlags) check(cmd *cobra.Command) error {
	if f.policy == "" && cmd.Flags().Changed("policy") {
		return usagef("--policy needs a PATH")
	}
	return nil
}

// arm has the calls of a session decided, and the policy read again when that is
// asked for until stop is called.
func (r *relay) arm(f gateFlags) (stop func(), err error) {
	if f.policy == "" {
		return func() {}, nil
	}
	g, err := newGate(f.policy, r.note)
	if err != nil {
		return nil, err
	}
	g.warn()
	r.cfg.Decider = g
	return g.reloadOnSignal(), nil
}

// gate lets the relay ask a Policy Set, and replaces the set on request.
type gate struct {
	path   string
	engine *policy.Engine
	note   func(format string, a ...any) // tells people
}

func newGate(path string, note func(string, ...any)) (*gate, error) {
	set, err := policy.Load(path)
	if err != nil {
		faults := faultsOf(err)
		return nil, &listError{fmt.Sprintf("could not load policy `%s`: %s", path, faults[0]), faults[1:]}
	}
	return &gate{path: path, engine: policy.NewEngine(set), note: note}, nil
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
		return g.engine.Set().Hash(), nil
	}
	requests, answers := make([]policy.Request, len(calls)), make([]policy.Verdict, len(calls))
	for i, c := range calls {
		requests[i].Tool = c.Tool
	}
	hash, _ := g.engine.Decide(requests, answers)
	for i, v := range answers {
		verdicts[i] = interpose.Verdict{Policy: recorded(v), MatchedRule: v.MatchedRule}
	}
	return hash, nil
}

// Unread implements [interpose.Decider]: what cannot be judged does not pass.
func (g *gate) Unread(wire.Message, string) bool { return true }

// recorded is a verdict as the record spells it. The zero value denies.
func recorded(v policy.Verdict) aar.Policy {
	switch v.Status {
	case policy.Allowed:
		return aar.Policy{Status: aar.Allowed}
	case policy.RateLimited:
		return aar.Policy{Status: aar.RateLimited, Reason: v.Reason}
	case policy.PendingApproval:
		return aar.Policy{Status: aar.PendingApproval, ApprovalID: v.ApprovalID}
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
