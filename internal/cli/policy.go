package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/policy"
)

func newPolicy(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check, try and explain a policy file",
		Long: `Check, try and explain a policy file. Nothing is executed and nothing recorded.

Exit: 0 all well; 1 a refusal, a lint error or a failed case; 2 a policy
or another file could not be loaded, or the command line is wrong.`,
		Annotations: map[string]string{usageExit: "2"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command: policy %s", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyLint(s), newPolicyEval(s), newPolicyExplain(s), newPolicyTest(s), newPolicyBind(s))
	return cmd
}

// loadPolicy loads a policy file for a command in which a policy that does not
// load ends with 2.
func loadPolicy(path string) (*policy.Set, error) {
	set, err := policy.Load(path)
	if err != nil {
		return nil, &exitError{2, policyError("policy", path, err)}
	}
	return set, nil
}

// policyError tells why a file did not load, a fault a line.
func policyError(what, path string, err error) error {
	if !hasPosition(err) {
		return err // it names the file
	}
	return &listError{fmt.Sprintf("%s %s does not load:", what, path), faultsOf(err)}
}

// hasPosition tells a file with faults in it from one that could not be read.
func hasPosition(err error) bool {
	faults, ok := errors.AsType[policy.LoadErrors](err)
	return ok && faults[0].Line > 0
}
