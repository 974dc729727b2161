package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/secret"
	"github.com/aegis-aar/aegis/policy"
)

// explainResult is what `policy explain --json` prints.
type explainResult struct {
	evalResult
	DecidedBy string        `json:"decided_by"` // arguments, rule, default, or frame
	Outranked []explainRule `json:"outranked"`  // other rules that match, best first
	Edits     []explainEdit `json:"edits"`      // made together, they change the answer
	Then      string        `json:"then,omitzero"`
	Narrower  *explainEdit  `json:"narrower,omitzero"` // one that changes it for this tool only
}

type explainRule struct {
	ID     string `json:"id"`
	Action string `json:"action"`
	Line   int    `json:"line"`
}

type explainEdit struct {
	Line int    `json:"line"` // 0 for the top of the file
	Rule string `json:"rule,omitzero"`
	Old  string `json:"old,omitzero"` // absent where a line is added behind Line
	New  string `json:"new,omitzero"` // absent where what stands there is removed
}

func newPolicyExplain(s streams) *cobra.Command {
	var flags policyCallFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain --policy FILE --call FILE",
		Short: "Say which rule decides a call and what would change the answer",
		Long: `Say which rule decides a call, where it stands in the file, which other rules
match, and the smallest edit of the file that would change the answer. A call
that a rate_limit rule admits is explained as such; its window is not consulted.

Exit: 0 the call is allowed; 1 it is refused; 2 a file could not be loaded.`,
		Args: takesNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, call, err := flags.load(cmd, s)
			if err != nil {
				return err
			}
			return explainCall(s, set, call, asJSON)
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on stdout")
	return cmd
}

func explainCall(s streams, set *policy.Set, call sampleCall, asJSON bool) error {
	result := explainResult{evalResult: evalCall(set, call), DecidedBy: "frame"}
	if call.ambiguous == "" {
		x := set.Explain(call.request)
		result.explain(x)
		if !asJSON {
			printExplanation(s, set, call.request, result, x)
		}
	} else if !asJSON {
		fmt.Fprintf(s.out, "denied before any rule: %s\n  two honest readers could take this frame differently; no edit of the policy changes that\n", report.SafeText(result.Reason))
	}
	if asJSON {
		if err := writeJSON(s.out, result); err != nil {
			return err
		}
	}
	if result.Status != policy.Allowed.String() {
		return &exitError{code: 1}
	}
	return nil
}

func (r *explainResult) explain(x policy.Explanation) {
	switch {
	case x.Judgement.Denied != nil:
		r.DecidedBy = "arguments"
	case x.Match.Rule == nil:
		r.DecidedBy = "default"
	default:
		r.DecidedBy = "rule"
	}
	r.Line = x.Line
	for _, rule := range x.Outranked {
		r.Outranked = append(r.Outranked, explainRule{rule.ID, rule.Action.String(), rule.Line})
	}
	for _, e := range x.Edits {
		r.Edits = append(r.Edits, explainEdit(e))
	}
	r.Then = outcomeOf(x.Then)
	if x.Narrower != nil {
		e := explainEdit(*x.Narrower)
		r.Narrower = &e
	}
}

// outcomeOf is what an action makes of a Call, in a word of the record.
func outcomeOf(a policy.Action) string {
	switch a {
	case policy.Allow, policy.RateLimit:
		return policy.Allowed.String()
	case policy.PendApproval:
		return policy.PendingApproval.String()
	}
	return policy.Denied.String()
}

func printExplanation(s streams, set *policy.Set, req policy.Request, r explainResult, x policy.Explanation) {
	say := func(format string, a ...any) {
		fmt.Fprintln(s.out, report.SafeText(fmt.Sprintf(format, a...)))
	}
	where := set.Name()
	if x.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, x.Line)
	}
	if d := x.Judgement.Denied; d != nil {
		if x.Line == 0 {
			where = "which is built in"
		}
		say("%s: denied by %s, %s", req.Tool, d.Rule, where)
	} else if rule := x.Match.Rule; rule != nil {
		say("%s: %s by rule `%s`, %s", req.Tool, r.Status, rule.ID, where)
		say("  %s", describeRule(rule))
	} else if x.Line > 0 {
		say("%s: %s by the default, %s", req.Tool, r.Status, where)
	} else {
		say("%s: %s by the default, which %s does not give", req.Tool, r.Status, where)
	}
	if r.Reason != "" {
		say("  reason: %s", r.Reason)
	}
	for _, f := range x.Judgement.Findings {
		say("  %s", describeFinding(f))
	}
	for _, n := range x.Judgement.Notes {
		say("  note: %s", n)
	}
	for _, o := range x.Outranked {
		say("  outranked: rule `%s`, line %d: %s", o.ID, o.Line, describeRule(o))
	}
	if len(x.Edits) == 0 {
		say("no edit of a constraint changes that; if the argument is none of a path, a URL, a command and a query, `bindings` can say so")
		return
	}
	say("the smallest edit that changes the answer to %s:", r.Then)
	for _, e := range x.Edits {
		say("  %s", e)
	}
	if x.Narrower != nil {
		say("or, for this tool only:")
		say("  %s", x.Narrower)
	}
}

func describeFinding(f policy.Finding) string {
	verdict, at := "allowed", "no argument"
	if f.Denied {
		verdict = "denied, " + string(f.Code)
	}
	if f.Arg != "" {
		arg, _ := secret.RedactAll(f.Arg)
		at = "argument " + arg
	}
	s := fmt.Sprintf("%s, %s: %s by %s", at, f.Shape, verdict, f.Rule)
	if f.Reason != "" {
		s += ": " + f.Reason
	}
	return s
}

func describeRule(r *policy.Rule) string {
	parts := []string{r.Action.String()}
	for _, axis := range []struct {
		name  string
		value *string
	}{{"tool", r.Tool}, {"capability", r.Capability}, {"role", r.Role}} {
		if axis.value != nil {
			parts = append(parts, axis.name+" "+*axis.value)
		}
	}
	if len(parts) == 1 {
		parts = append(parts, "any call")
	}
	if r.Rate != nil {
		parts = append(parts, fmt.Sprintf("at most %d per %d s", r.Rate.Max, r.Rate.PerSeconds))
	}
	return strings.Join(append(parts, fmt.Sprint("priority ", r.Priority)), ", ")
}
