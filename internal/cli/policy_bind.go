package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/policy"
)

func newPolicyBind(s streams) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "bind LOCK",
		Short: "Propose bindings for the tools of a lock",
		Long: `Propose, for every tool of a lock file, which argument supplies a path, a URL, a
command or a query, and print it as the ` + "`bindings`" + ` of a policy file. Every
argument is listed, those that are nothing of the kind under ` + "`other`" + `. It is a
guess from names: read it, correct it, and keep it in the policy file. A binding
says which argument is the path, never which paths are allowed.

Exit: 0; 2 the lock could not be read, or the file is there already.`,
		Args: takesOne("LOCK"),
		RunE: func(_ *cobra.Command, args []string) error {
			tools, err := loadSurface(args[0])
			if err != nil {
				return err
			}
			text := policy.ProposeBindings(tools)
			if out == "" {
				_, err := fmt.Fprint(s.out, text)
				return err
			}
			return writeNew(out, text)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write to `FILE`, which must not exist, instead of standard output")
	return cmd
}

// writeNew writes a file that is not there yet.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		return &exitError{2, fmt.Errorf("policy bind: %s", report.SafeText(err.Error()))}
	}
	return nil
}
