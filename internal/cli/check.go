package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/lock"
)

type checkFlags struct {
	capture   captureFlags
	outputs   lockOutputs
	lock      string
	key       lockKey
	oldText   string
	runPinned bool
}

func newCheck(s streams) *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [flags] -- COMMAND [ARG...]",
		Short: "Compare an MCP server with its lock",
		Long: `Start COMMAND, or ask the server at --url, list what it declares and compare it
with the lock. Every difference is drift, whatever its severity. Findings of the
static checks that the lock does not have are told and are no drift.

The lock is read first: one that does not add up, or that --key does not accept, is
refused before anything starts. A command is not taken from the lock, which may
come from somebody else, unless --run-pinned says so.

Exit: 0 the server is as pinned; 1 it is not; 2 that could not be found out.`,
		Example: `  aegis check -- npx -y @modelcontextprotocol/server-memory@2026.8.31
  aegis check --sarif drift.sarif --run-pinned`,
		Annotations: map[string]string{usageExit: "2"},
		Args: func(cmd *cobra.Command, args []string) error {
			if f.runPinned {
				if len(args) > 0 || f.capture.url != "" {
					return usagef("--run-pinned takes the server from the lock; give no other")
				}
				return nil
			}
			return f.capture.check(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error { return runCheck(s, f, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.lock, "lock", defaultLock, "compare with the lock in `FILE`")
	fl.Var(&f.key, "key", "require a signature of this public key, 64 `HEX` characters")
	fl.StringVar(&f.oldText, "old-text", "", "show old beside new text, from the `FILE` that pin --keep-text wrote")
	fl.BoolVar(&f.runPinned, "run-pinned", false, "start the command, or ask the URL, that the lock names")
	f.capture.register(cmd)
	f.outputs.register(cmd)
	return cmd
}

func runCheck(s streams, f checkFlags, argv []string) error {
	pinned, err := readLock(f.lock, f.key)
	if err != nil {
		return err
	}
	if f.runPinned {
		if argv, err = f.pinnedServer(pinned); err != nil {
			return &exitError{2, err}
		}
	}
	if f.capture.confine.explain {
		return f.capture.explain(s, argv)
	}
	var old *lock.Texts
	if f.oldText != "" {
		if old, err = lock.ReadTexts(f.oldText, pinned); err != nil {
			return &exitError{2, err}
		}
	}
	sinks, err := f.outputs.open(s, f.lock)
	if err != nil {
		return err
	}
	found, err := f.compare(s, sinks, argv, pinned, old)
	var sum report.Summary
	if err != nil {
		sum.Failure = "nothing was compared: " + err.Error()
	}
	if closing := sinks.Close(sum); err == nil && closing != nil {
		return &exitError{code: 2} // told by the note
	}
	if err != nil {
		return err
	}
	if !pinned.Pin.Approved {
		fmt.Fprintf(s.err, "warning: the lock is not approved\n")
	}
	result := "no drift"
	if found > 0 {
		result = count(found, "drift")
	}
	fmt.Fprintf(s.out, "%s\n", headings(s.out)(fmt.Sprintf("%s: %s", report.SafeText(f.lock), result)))
	if found > 0 {
		return &exitError{code: 1}
	}
	return nil
}

// pinnedServer is the command that the lock names; the URL goes into the flags.
func (f *checkFlags) pinnedServer(pinned *lock.Lock) ([]string, error) {
	argv := append([]string{pinned.Server.Command}, pinned.Server.Args...)
	if pinned.Server.Redacted() {
		return nil, errors.New("the lock's command holds what looked like a secret and was redacted; give the command behind `--`")
	}
	if pinned.Server.URL != "" {
		f.capture.url = pinned.Server.URL
		return nil, nil
	}
	return argv, nil
}

func (f *checkFlags) compare(s streams, sinks *report.Sinks, argv []string, pinned *lock.Lock, old *lock.Texts) (int, error) {
	surface, err := f.capture.surface(s, argv, confine.Protected{What: "the lock", Path: f.lock})
	if err != nil {
		return 0, err
	}
	current, err := lock.New(surface, lock.PinOptions{Schema: pinned.SchemaVersion, Version: versionString(), Now: time.Now(), Keep: pinned})
	if err != nil {
		return 0, &exitError{2, fmt.Errorf("cannot be compared: %w", err)}
	}
	found := lock.Compare(pinned, current)
	d := drifts{s: s, sinks: sinks, old: old, new: lock.TextsOf(current, surface)}
	d.tell(found)
	tellStatic(s, sinks, append(newFindings(pinned, current), pinned.Misdeclared()...))
	return len(found), nil
}

// newFindings are those that were not there when the lock was made.
func newFindings(pinned, current *lock.Lock) (found []lock.Finding) {
	known := map[[3]string]bool{}
	key := func(f *lock.Finding) [3]string { return [3]string{f.RuleID, f.Target, f.Snippet} }
	for i := range pinned.Findings {
		known[key(&pinned.Findings[i])] = true
	}
	for i := range current.Findings {
		if f := &current.Findings[i]; !known[key(f)] {
			found = append(found, *f)
		}
	}
	return found
}
