package cli

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/policy"
)

type recheckFlags struct {
	policy                  string
	asJSON, summary, verify bool
	trust                   trustFlags
}

func newRecheck(s streams) *cobra.Command {
	var f recheckFlags
	cmd := &cobra.Command{
		Use:   "recheck --policy FILE PATH",
		Short: "Decide a record again under another policy; execute nothing",
		Long: `Decide every call of a record again under another policy and print, a line a
call, what would change. Nothing is executed. Without --verify no hash and no
signature is looked at.

Exit: 0 every call unchanged; 1 a call is newly blocked, allowed or parked;
2 the policy or the record could not be read, or --verify found it Tampered;
3 a call could not be decided again (outranks 1).`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.policy == "" {
				return usagef("recheck requires --policy <PATH>")
			}
			return takesOne("PATH")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return recheck(cmd, s, f, args[0]) },
	}
	cmd.Flags().StringVar(&f.policy, "policy", "", "policy `FILE` to decide by")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print each call as a JSON object")
	cmd.Flags().BoolVar(&f.summary, "summary", false, "print the changed calls and the counts on stderr")
	cmd.Flags().BoolVar(&f.verify, "verify", false, "verify the record first, and stop if it is Tampered")
	f.trust.register(cmd)
	return cmd
}

func recheck(cmd *cobra.Command, s streams, f recheckFlags, path string) error {
	trust, err := f.trust.options(cmd)
	if exit, ok := errors.AsType[*exitError](err); ok {
		return &exitError{2, exit.cause} // 1 would say that a call changed
	}
	if err != nil {
		return err
	}
	if trust.Pinned && !f.verify {
		return usagef("--key and --trust-store require --verify")
	}
	set, err := loadPolicy(f.policy)
	if err != nil {
		return err
	}
	record, err := openRecord(path)
	if err != nil {
		return readError(path, err)
	}
	defer record.close()
	if f.verify {
		in, stop := withProgress(record.reader(), record.size, "verify", s.err)
		verdict, err := aar.Verify(cmd.Context(), in, trust)
		stop()
		if err != nil {
			return readError(path, err)
		}
		fmt.Fprintln(s.err, report.SafeText(verdict.Headline()))
		if verdict.Verdict == aar.Tampered {
			return &exitError{code: 2}
		}
	}
	// What would stop half way is found first: exit 2 has an empty stdout.
	if err := policy.CheckRecord(record.reader()); err != nil {
		return readError(path, err)
	}
	tally, err := recheckRecord(s, f, set, record)
	if err != nil {
		return readError(path, err)
	}
	if tally.NoRecord() {
		return readError(path, errors.New("no line of it is one of a record"))
	}
	if f.summary {
		fmt.Fprintf(s.err, "%s: %d unchanged, %d newly blocked, %d newly allowed, %d newly parked, %d indeterminate\n",
			count(tally.Calls(), "call"), tally.Of(policy.Unchanged), tally.Of(policy.NewlyBlocked),
			tally.Of(policy.NewlyAllowed), tally.Of(policy.NewlyParked), tally.Of(policy.Indeterminate))
	}
	switch {
	case tally.Of(policy.Indeterminate) > 0:
		return &exitError{code: 3}
	case tally.Changed() > 0:
		return &exitError{code: 1}
	}
	return nil
}

// maxNotes is how many lines that could not be read are told one by one.
const maxNotes = 100

func recheckRecord(s streams, f recheckFlags, set *policy.Set, record *record) (policy.Tally, error) {
	out := bufio.NewWriterSize(s.out, 1<<16)
	answer := func(r *policy.Rechecked) error {
		if f.summary && (r.Change == policy.NewlyBlocked || r.Change == policy.NewlyAllowed || r.Change == policy.NewlyParked) {
			fmt.Fprintf(s.err, "changed: %s (tool %s)\n", recheckLine(r), report.SafeText(r.ToolID))
		}
		if f.asJSON {
			return writeRecheckJSON(out, r)
		}
		out.WriteString(recheckLine(r))
		return out.WriteByte('\n')
	}
	notes := 0
	note := func(n policy.Note) {
		if notes++; notes <= maxNotes {
			fmt.Fprintf(s.err, "warning: line %d %s\n", n.Line, report.SafeText(n.Msg))
		}
	}
	in, stop := withProgress(record.reader(), record.size, "recheck", s.err)
	defer stop()
	tally, err := policy.Recheck(in, set, answer, note)
	if notes > maxNotes {
		fmt.Fprintf(s.err, "warning: and %d more lines\n", notes-maxNotes)
	}
	if err == nil {
		err = out.Flush()
	}
	return tally, err
}

func recheckLine(r *policy.Rechecked) string {
	return fmt.Sprintf("call %s session %d seq %d: %s", report.SafeText(r.CallID), r.Session, r.Seq, r.Clause())
}

// recheckedCall is one call of `recheck --json`.
type recheckedCall struct {
	CallID  string `json:"call_id"`
	ToolID  string `json:"tool_id,omitzero"`
	Session int    `json:"session"`
	Seq     uint64 `json:"seq"`
	Line    int    `json:"line"`
	Change  string `json:"change"`
	Was     string `json:"was,omitzero"`
	Now     string `json:"now,omitzero"`
	Reason  string `json:"reason,omitzero"` // of indeterminate
	Rule    string `json:"rule,omitzero"`   // that would decide now
}

func writeRecheckJSON(out *bufio.Writer, r *policy.Rechecked) error {
	call := recheckedCall{CallID: r.CallID, ToolID: r.ToolID, Session: r.Session, Seq: r.Seq, Line: r.Line, Change: r.Change.String(), Reason: r.Why, Rule: r.Rule}
	if r.Change != policy.Indeterminate {
		call.Was, call.Now = r.Was.String(), r.Now.String()
	}
	text, err := json.Marshal(call)
	if err != nil {
		return err
	}
	out.Write(report.SafeJSON(text))
	return out.WriteByte('\n')
}
