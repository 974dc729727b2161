package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/lock"
)

func newDiff(s streams) *cobra.Command {
	var oldText, newText string
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Tell in what two locks differ",
		Long: `Compare what two locks pin, fact by fact, without a server. With the texts that
pin --keep-text kept of both, old and new are shown beside each other.

Exit: 0 they pin the same; 1 they do not; 2 one of them was refused or could not be
read.`,
		Annotations: map[string]string{usageExit: "2"},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("diff takes two locks, got %d", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			d := drifts{s: s}
			was, err := readWithTexts(args[0], oldText, &d.old)
			if err != nil {
				return err
			}
			is, err := readWithTexts(args[1], newText, &d.new)
			if err != nil {
				return err
			}
			found := lock.Compare(was, is)
			d.tell(found)
			if len(found) > 0 {
				fmt.Fprintf(s.out, "%s\n", headings(s.out)(count(len(found), "difference")))
				return &exitError{code: 1}
			}
			fmt.Fprintf(s.out, "%s\n", headings(s.out)(fmt.Sprintf("%s and %s pin the same", report.SafeText(args[0]), report.SafeText(args[1]))))
			return nil
		},
	}
	cmd.Flags().StringVar(&oldText, "old-text", "", "the `FILE` that pin --keep-text wrote with OLD")
	cmd.Flags().StringVar(&newText, "new-text", "", "the `FILE` that pin --keep-text wrote with NEW")
	return cmd
}

func readWithTexts(path, textPath string, texts **lock.Texts) (*lock.Lock, error) {
	l, err := readLock(path, lockKey{})
	if err != nil || textPath == "" {
		return l, err
	}
	if *texts, err = lock.ReadTexts(textPath, l); err != nil {
		return nil, &exitError{2, err}
	}
	return l, nil
}
