package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/policy"
)

func newPolicyTest(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "test FILE…",
		Short: "Run policy test files",
		Long: `Run policy test files: each names its policy and lists calls with the verdicts
they must get. See docs/policy.md for the format.

Exit: 0 every case passed; 1 a case failed; 2 a policy or a test file
could not be loaded.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("policy test requires <FILE>")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return testPolicies(s, args) },
	}
}

// testPolicies loads everything before it prints anything: a run that ends with
// 2 has no results.
func testPolicies(s streams, files []string) error {
	var results []policy.CaseResult
	var from []string
	for _, file := range files {
		suite, err := policy.LoadSuite(file)
		if err != nil {
			return &exitError{2, policyError("policy test", file, err)}
		}
		set, err := loadPolicy(suite.Policy)
		if err != nil {
			return err
		}
		for _, r := range suite.Run(set) {
			results, from = append(results, r), append(from, file)
		}
	}
	failed := 0
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for i, r := range results {
		result, verdict := "ok", r.Verdict.Status.String()
		if !r.Passed() {
			failed++
			result, verdict = "FAIL", r.Failure
		}
		line := r.Case.Line
		if r.Step != nil {
			line = r.Step.Line
		}
		fmt.Fprintf(table, "%s\t%s:%d\t%s\t%s\n", result, report.SafeText(from[i]), line, report.SafeText(r.Case.Name), report.SafeText(verdict))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%d passed, %d failed\n", len(results)-failed, failed)
	if failed > 0 {
		return &exitError{code: 1}
	}
	return nil
}
