package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/policy"
)

// lintFinding is one error or warning of `policy lint --json`.
type lintFinding struct {
	File       string             `json:"file"`
	Line       int                `json:"line,omitzero"`
	Column     int                `json:"column,omitzero"`
	Code       policy.WarningCode `json:"code,omitzero"` // of a warning
	Key        string             `json:"key,omitzero"`
	Message    string             `json:"message"`
	DidYouMean string             `json:"did_you_mean,omitzero"`
}

type lintResult struct {
	File          string        `json:"file"`
	PolicySetHash string        `json:"policy_set_hash,omitzero"` // of a file without errors
	Default       string        `json:"default,omitzero"`
	Rules         int           `json:"rules"`
	Errors        []lintFinding `json:"errors"`
	Warnings      []lintFinding `json:"warnings"`
}

func newPolicyLint(s streams) *cobra.Command {
	var asJSON bool
	var lock string
	cmd := &cobra.Command{
		Use:   "lint FILE",
		Short: "Check a policy file",
		Long: `Check a policy file: errors, which keep it from loading, and warnings about what
loads but probably does not do what its author means. With --lock it is also
held against the tools of a lock file.

Exit: 0 no errors (there may be warnings); 1 errors; 2 the file could not
be read.`,
		Args: takesOne("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return lintPolicy(s, args[0], lock, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on stdout")
	cmd.Flags().StringVar(&lock, "lock", "", "lock `FILE` of the server the policy is for")
	return cmd
}

func lintPolicy(s streams, path, lock string, asJSON bool) error {
	set, err := policy.Load(path)
	if err != nil && !hasPosition(err) {
		return &exitError{2, policyError("policy", path, err)}
	}
	var surface *policy.Surface
	if lock != "" {
		tools, err := loadSurface(lock)
		if err != nil {
			return err
		}
		surface = policy.NewSurface(tools)
	}
	result := lintResult{File: path}
	if err != nil {
		faults, _ := errors.AsType[policy.LoadErrors](err)
		for _, e := range faults {
			result.Errors = append(result.Errors, lintFinding{File: e.File, Line: e.Line, Column: e.Column, Key: e.Key, Message: e.Msg, DidYouMean: e.Near})
		}
	} else {
		result.PolicySetHash, result.Default, result.Rules = set.Hash().String(), set.Default().String(), len(set.Rules())
		warnings := set.Warnings()
		if surface != nil {
			warnings = append(warnings, set.LintAgainst(surface)...)
		}
		for _, w := range warnings {
			result.Warnings = append(result.Warnings, lintFinding{File: w.File, Line: w.Line, Column: w.Column, Code: w.Code, Message: w.Msg})
		}
	}
	if asJSON {
		if err := writeJSON(s.out, result); err != nil {
			return err
		}
	} else {
		printLint(s, result)
	}
	if err != nil {
		return &exitError{code: 1}
	}
	return nil
}

func printLint(s streams, r lintResult) {
	for _, f := range r.Errors {
		printFinding(s, "error", f)
	}
	for _, f := range r.Warnings {
		printFinding(s, "warning", f)
	}
	if r.PolicySetHash != "" {
		fmt.Fprintf(s.out, "%s: loads; %s, default %s; policy_set_hash %s\n", report.SafeText(r.File), count(r.Rules, "rule"), r.Default, r.PolicySetHash)
	}
}

func printFinding(s streams, level string, f lintFinding) {
	text := f.Message
	if f.DidYouMean != "" {
		text += "; did you mean `" + f.DidYouMean + "`?"
	}
	if f.Code != "" {
		text += " [" + string(f.Code) + "]"
	}
	fmt.Fprintf(s.out, "%s:%d:%d: %s: %s\n", report.SafeText(f.File), f.Line, f.Column, level, report.SafeText(text))
}

// count is a number and its noun, as `1 rule` or `2 rules`.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
