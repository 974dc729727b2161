package cli

import (
	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/policy"
)

// evalResult is the verdict that `policy eval` prints.
type evalResult struct {
	Status        string      `json:"status"`
	Code          policy.Code `json:"code,omitzero"` // of a refusal
	Reason        string      `json:"reason,omitzero"`
	MatchedRule   string      `json:"matched_rule,omitzero"`
	Line          int         `json:"line,omitzero"` // of the rule that decided
	Rate          *evalRate   `json:"rate,omitzero"` // that the call was counted under
	Limits        *evalLimits `json:"limits,omitzero"`
	PolicySetHash string      `json:"policy_set_hash"`
	Tool          string      `json:"tool,omitzero"`
	Capability    *string     `json:"capability,omitzero"`
	Role          *string     `json:"role,omitzero"`
	Session       *string     `json:"session,omitzero"`

	// Of a policy with an argument half.
	Notes    []policy.Code `json:"notes,omitzero"`
	Derived  []aar.Derived `json:"derived,omitzero"` // as a record would hold them
	Findings []evalFinding `json:"findings,omitzero"`
}

// evalFinding is what the argument half says of one derived parameter.
type evalFinding struct {
	Shape   string      `json:"shape"`
	Arg     string      `json:"arg,omitzero"`
	Verdict string      `json:"verdict"` // allow or deny
	Code    policy.Code `json:"code,omitzero"`
	Reason  string      `json:"reason,omitzero"`
	Rule    string      `json:"rule"`
	Line    int         `json:"line,omitzero"`
}

type evalRate struct {
	Max        uint32 `json:"max"`
	PerSeconds uint64 `json:"per_seconds"`
}

type evalLimits struct {
	MaxMemoryBytes *uint64 `json:"max_memory_bytes,omitzero"`
	MaxWallMS      *uint64 `json:"max_wall_ms,omitzero"`
	MaxOutputBytes *uint64 `json:"max_output_bytes,omitzero"`
}

// policyCallFlags are the two files that eval and explain need.
type policyCallFlags struct{ policy, call string }

func (f *policyCallFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.policy, "policy", "", "policy `FILE`")
	cmd.Flags().StringVar(&f.call, "call", "", "call `FILE`, - for standard input: a tools/call frame,\nor {\"tool\": …} with arguments, and capability, role\nand session if asserted")
}

// load reads both files and judges the call as the first of a fresh Session.
func (f *policyCallFlags) load(cmd *cobra.Command, s streams) (*policy.Set, sampleCall, error) {
	for _, flag := range []struct{ name, value string }{{"policy", f.policy}, {"call", f.call}} {
		if flag.value == "" {
			return nil, sampleCall{}, usagef("policy %s requires --%s <FILE>", cmd.Name(), flag.name)
		}
	}
	set, err := loadPolicy(f.policy)
	if err != nil {
		return nil, sampleCall{}, err
	}
	call, err := loadCall(s, f.call)
	return set, call, err
}

func newPolicyEval(s streams) *cobra.Command {
	var flags policyCallFlags
	cmd := &cobra.Command{
		Use:   "eval --policy FILE --call FILE",
		Short: "Judge one sample call",
		Long: `Judge one sample call as the first of a fresh session, and print the verdict as
one JSON object. An approval id is not given out.

Exit: 0 allowed; 1 refused (denied, or waiting for approval); 2 a file
could not be loaded.`,
		Args: takesNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, call, err := flags.load(cmd, s)
			if err != nil {
				return err
			}
			result := evalCall(set, call)
			if err := writeJSON(s.out, result); err != nil {
				return err
			}
			if result.Status != policy.Allowed.String() {
				return &exitError{code: 1}
			}
			return nil
		},
	}
	flags.register(cmd)
	return cmd
}

func evalCall(set *policy.Set, call sampleCall) evalResult {
	result := evalResult{PolicySetHash: set.Hash().String()}
	if call.ambiguous != "" {
		result.Status, result.Reason = policy.Denied.String(), "ambiguous frame: "+call.ambiguous
		return result
	}
	req := call.request
	var verdict [1]policy.Verdict
	policy.NewEngine(set).Decide([]policy.Request{req}, verdict[:])
	v := verdict[0]
	result.Status, result.Reason, result.MatchedRule = v.Status.String(), v.Reason, v.MatchedRule
	result.Tool, result.Capability, result.Role, result.Session = req.Tool, req.Capability, req.Role, req.Session
	result.Code = v.Code
	j := set.Judge(req, nil)
	if set.HasArguments() {
		result.Notes, result.Derived = v.Notes, v.Params.Recorded()
		for _, f := range j.Findings {
			verdict := "allow"
			if f.Denied {
				verdict = "deny"
			}
			result.Findings = append(result.Findings, evalFinding{f.Shape, f.Arg, verdict, f.Code, f.Reason, f.Rule, f.Line})
		}
	}
	if j.Denied != nil {
		result.Line = j.Denied.Line
	} else if rule := set.Evaluate(req).Rule; rule != nil {
		result.Line = rule.Line
		if rule.Rate != nil {
			result.Rate = &evalRate{rule.Rate.Max, rule.Rate.PerSeconds}
		}
	}
	if l := v.Limits; l != nil {
		result.Limits = &evalLimits{l.MaxMemoryBytes, l.MaxWallMS, l.MaxOutputBytes}
	}
	return result
}
