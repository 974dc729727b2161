package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/lock"
)

// lockOutputs are the files that pin and check tell their findings in.
type lockOutputs struct{ json, sarif string }

func (f *lockOutputs) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.json, "json", "", "write the findings to `FILE`, a JSON object a line")
	cmd.Flags().StringVar(&f.sarif, "sarif", "", "write the findings to `FILE` as SARIF 2.1.0")
}

// open opens the files; findings are about the lock at path.
func (f *lockOutputs) open(s streams, path string) (*report.Sinks, error) {
	for _, out := range []string{f.json, f.sarif} {
		if out != "" && samePath(out, path) {
			return nil, &exitError{2, fmt.Errorf("%s is the lock", out)}
		}
	}
	sinks, err := report.Open(report.Options{
		JSON: f.json, SARIF: f.sarif, Version: versionString(), Rules: lock.Rules(), Subject: path,
		Note: func(text string) { fmt.Fprintf(s.err, "warning: %s\n", report.SafeText(text)) },
	})
	if err != nil {
		return nil, &exitError{2, err}
	}
	return sinks, nil
}

// maxTarget is how many bytes are printed of what a finding is about.
const maxTarget = 200

// tellStatic prints findings of the static checks, and writes them.
func tellStatic(s streams, sinks *report.Sinks, findings []lock.Finding) {
	for i := range findings {
		f := &findings[i]
		sinks.Report(f.Finding())
		if i < maxTold {
			fmt.Fprintf(s.out, "%s: %s %s: %s%s\n", shown(f.Target, maxTarget), f.Severity, f.RuleID, shown(f.Message, maxMessage), snippet(f))
		}
	}
	if n := len(findings) - maxTold; n > 0 {
		fmt.Fprintf(s.out, "and %s more\n", count(n, "finding"))
	}
}

func snippet(f *lock.Finding) string {
	if f.Snippet == "" || strings.Contains(f.Message, f.Snippet) {
		return ""
	}
	return " [" + shown(f.Snippet, maxTarget) + "]"
}

// declarations are the declarations of inspection in a lock, a line each.
func declarations(l *lock.Lock) (lines []string) {
	for i := range l.Tools {
		t := &l.Tools[i]
		if t.Inspection == nil {
			continue
		}
		lines = append(lines, fmt.Sprintf("tools/%s: declared: %s", shown(t.Name, maxTarget), shown(t.Inspection.String(), maxMessage)))
	}
	return lines
}
