package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/lock"
)

type pinFlags struct {
	capture  captureFlags
	outputs  lockOutputs
	out      string
	approve  bool
	approver string
	schema   int
	keepText string
	key      string
}

func newPin(s streams) *cobra.Command {
	var f pinFlags
	cmd := &cobra.Command{
		Use:   "pin [flags] -- COMMAND [ARG...]",
		Short: "Write a lock of what an MCP server declares",
		Long: `Start COMMAND, an MCP server that speaks over stdin and stdout, or ask the one at
--url, list what it declares - tools, resources, prompts, instructions - and write
hashes of it to a lock file. No shell is involved and no tool is called. The
findings of the static checks are printed: look at them before you approve.

A lock that is there is replaced. What has changed since is printed first, and the
declarations of inspection in it are kept; those of a tool that has changed are
pointed out. Edit such a declaration in the file, then pin again.

The lock holds hashes only. --keep-text keeps the texts in a private file, not to
be committed, so that check and diff can show old beside new.

Exit: 0 the lock was written; 2 it was not.`,
		Example: `  aegis pin --approve --approver alice@example.com -- npx -y @modelcontextprotocol/server-memory@2026.8.31
  aegis pin --url https://mcp.example.com/mcp --header Authorization=MCP_AUTHORIZATION`,
		Annotations: map[string]string{usageExit: "2"},
		Args:        func(cmd *cobra.Command, args []string) error { return f.capture.check(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			if f.capture.confine.explain {
				return f.capture.explain(s, args)
			}
			return runPin(s, f, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.out, "out", defaultLock, "write the lock to `FILE`")
	fl.BoolVar(&f.approve, "approve", false, "approve what is pinned; requires --approver")
	fl.StringVar(&f.approver, "approver", "", "approve in the name of `NAME`")
	fl.IntVar(&f.schema, "schema", lock.Level4, "write the format `LEVEL` 3 or 4")
	fl.StringVar(&f.keepText, "keep-text", "", "keep the texts in the private `FILE`, mode 0600, not to be committed")
	fl.StringVar(&f.key, "signing-key", "", "sign the lock with the key in the file at `PATH`")
	f.capture.register(cmd)
	f.outputs.register(cmd)
	return cmd
}

func (f *pinFlags) check(cmd *cobra.Command) error {
	switch {
	case f.approve && f.approver == "":
		return usagef("--approve requires --approver <NAME>")
	case !f.approve && f.approver != "":
		return usagef("--approver only applies with --approve")
	case f.schema != lock.Level3 && f.schema != lock.Level4:
		return usagef("--schema is %d or %d", lock.Level3, lock.Level4)
	case f.out == "":
		return usagef("--out needs a FILE")
	case cmd.Flags().Changed("keep-text") && f.keepText == "":
		return usagef("--keep-text needs a FILE")
	case f.keepText != "" && samePath(f.keepText, f.out):
		return usagef("--keep-text needs a file other than the lock")
	}
	return nil
}

// samePath reports whether two paths name one file, or would.
func samePath(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func runPin(s streams, f pinFlags, argv []string) error {
	// All that can be refused is refused before the server starts.
	var key *lock.Key
	if f.key != "" {
		var err error
		if key, err = lock.LoadKey(f.key); err != nil {
			return &exitError{2, err}
		}
	}
	was, err := lock.ReadDraft(f.out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &exitError{2, fmt.Errorf("%w; remove it to pin anew", err)}
	}
	if was != nil {
		if _, err := lock.Read(f.out); err != nil {
			fmt.Fprintf(s.err, "warning: what is replaced does not add up: %s\n", report.SafeText(err.Error()))
		}
	}
	var old *lock.Texts
	if was != nil && f.keepText != "" {
		if old, err = lock.ReadTexts(f.keepText, was); err != nil && !errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(s.err, "warning: %s\n", report.SafeText(err.Error()))
		}
	}
	sinks, err := f.outputs.open(s, f.out)
	if err != nil {
		return err
	}
	l, err := f.pin(s, sinks, argv, was, old, key)
	var sum report.Summary
	if err != nil {
		sum.Failure = "nothing was pinned: " + err.Error()
	}
	if closing := sinks.Close(sum); err == nil && closing != nil {
		return &exitError{code: 2} // told by the note
	}
	if err != nil {
		return err
	}
	state := "not approved"
	if f.approve {
		state = "approved by " + shown(f.approver, 200)
	}
	fmt.Fprintf(s.out, "%s\n", headings(s.out)(fmt.Sprintf("%s: pinned %s, %s, %s; %s", report.SafeText(f.out),
		count(len(l.Tools), "tool"), count(len(l.Resources), "resource"), count(len(l.Prompts), "prompt"), state)))
	return nil
}

func (f *pinFlags) pin(s streams, sinks *report.Sinks, argv []string, was *lock.Lock, old *lock.Texts, key *lock.Key) (*lock.Lock, error) {
	ours := []confine.Protected{{What: "the lock", Path: f.out}}
	if f.key != "" {
		ours = append(ours, confine.Protected{What: "the signing key", Path: f.key, Secret: true})
	}
	surface, err := f.capture.surface(s, argv, ours...)
	if err != nil {
		return nil, err
	}
	o := lock.PinOptions{Schema: f.schema, Version: versionString(), Now: time.Now(), Keep: was, Approver: f.approver}
	l, err := lock.New(surface, o)
	if err != nil {
		return nil, &exitError{2, fmt.Errorf("cannot be pinned: %w", err)}
	}
	if bad := l.Misdeclared(); len(bad) > 0 {
		return nil, &exitError{2, fmt.Errorf("%s: %s", bad[0].Target, bad[0].Message)}
	}
	texts := lock.TextsOf(l, surface)
	if was != nil {
		f.tellChanges(s, was, l, &drifts{s: s, old: old, new: texts})
	}
	tellStatic(s, sinks, l.Findings)
	if key != nil {
		l.Sign(key)
	}
	// The texts first: those of no lock are refused, a lock without texts is one
	// whose differences cannot be shown.
	if f.keepText != "" {
		if err := writePrivate(f.keepText, texts.Bytes()); err != nil {
			return nil, &exitError{2, fmt.Errorf("keep the texts: %w", err)}
		}
	}
	if err := writeLock(f.out, l); err != nil {
		return nil, &exitError{2, err}
	}
	return l, nil
}

// tellChanges tells in what the new lock differs from the one it replaces, and
// which declarations of inspection it takes over.
func (f *pinFlags) tellChanges(s streams, was, l *lock.Lock, d *drifts) {
	changed := map[string]bool{}
	found := lock.Compare(was, l)
	for _, drift := range found {
		changed[drift.Target] = true
	}
	d.tell(found)
	for i := range l.Tools {
		t := &l.Tools[i]
		if t.Inspection == nil {
			continue
		}
		note := "kept"
		if was.Edited(t.Name) {
			note = "new since the last pin"
		} else if changed["tools/"+t.Name] {
			note = "kept, but the tool has changed since it was declared: look at it again"
		}
		fmt.Fprintf(s.out, "tools/%s: declared: %s (%s)\n", shown(t.Name, maxTarget), shown(t.Inspection.String(), maxMessage), note)
	}
}

func writePrivate(path string, text []byte) error {
	f, err := report.CreatePrivate(path)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
