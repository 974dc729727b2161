package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/report"
)

// trustFlags are the flags that pin a verification to keys.
type trustFlags struct {
	keys  []string
	store string
}

func (f *trustFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.keys, "key", nil, "accept records of this public key, 64 `HEX` characters; may be repeated")
	cmd.Flags().StringVar(&f.store, "trust-store", "", "accept records of the public keys in the file at `PATH`, one a line")
}

// options reads the trust slice. Either flag is a pin, whatever it yields.
func (f *trustFlags) options(cmd *cobra.Command) (aar.VerifyOptions, error) {
	opts := aar.VerifyOptions{Pinned: cmd.Flags().Changed("key") || cmd.Flags().Changed("trust-store")}
	for _, text := range f.keys {
		key, err := aar.ParsePublicKey(text)
		if err != nil {
			return opts, usagef("--key needs a 64-hex public key: %v", err)
		}
		opts.Trust = append(opts.Trust, key)
	}
	if cmd.Flags().Changed("trust-store") {
		keys, err := readTrustStore(f.store)
		if err != nil {
			return opts, err
		}
		opts.Trust = append(opts.Trust, keys...)
	}
	return opts, nil
}

// maxTrustStore bounds a trust store, in bytes: some 60,000 keys.
const maxTrustStore = 4 << 20

// readTrustStore reads a file of public keys, one a line; blank lines and
// lines that begin with # are skipped.
func readTrustStore(path string) ([]aar.PublicKey, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, &exitError{2, fmt.Errorf("read trust store %s: %w", path, cause(err))}
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxTrustStore+1))
	if err == nil && len(text) > maxTrustStore {
		err = fmt.Errorf("longer than %d bytes", maxTrustStore)
	}
	if err != nil {
		return nil, &exitError{2, fmt.Errorf("read trust store %s: %w", path, cause(err))}
	}
	var keys []aar.PublicKey
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		key, err := aar.ParsePublicKey(text)
		if err != nil {
			return nil, &exitError{1, fmt.Errorf("trust store %s line %d is not a public key: %w", path, n, err)}
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// verifyFile verifies the record at path. An error ends the command with 2.
func verifyFile(ctx context.Context, path string, opts aar.VerifyOptions, progress io.Writer) (*aar.Report, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, readError(path, err)
	}
	defer file.Close()
	var in io.Reader = file
	if info, err := file.Stat(); err == nil {
		var stop func()
		in, stop = withProgress(file, info.Size(), "verify", progress)
		defer stop()
	}
	rep, err := aar.Verify(ctx, in, opts)
	if err != nil {
		return nil, readError(path, err)
	}
	return rep, nil
}

// readError is what ends with 2 because the record at path could not be read.
func readError(path string, err error) error {
	return &exitError{2, fmt.Errorf("read %s: %s", report.SafeText(path), report.SafeText(cause(err).Error()))}
}

// cause drops the operation and the path that our own message already names.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

func newVerify(s streams) *cobra.Command {
	var trust trustFlags
	var asJSON, explain, allowOpenTail bool
	cmd := &cobra.Command{
		Use:   "verify [--key HEX]... [--trust-store PATH] PATH",
		Short: "Judge a record: Verified, Tampered or Indeterminate",
		Long: `Walk the record at PATH once and judge it.

The first line of stdout is the verdict. Then come a key_id line for each key
that signed, a coverage line for the last position that a signature covers, and
an in_flight line for each call that an open tail leaves undecided. The same
bytes give the same report.

Without --key or --trust-store the verdict is "Verified (unpinned)" at best: the
record agrees with itself, and nothing says whose it is. Either flag is a pin:
every session must be signed by one of the keys given.

Exit: 0 Verified, 1 Tampered, a usage error or a trust store with a line that is
no key, 2 the record or the trust store could not be read, 3 Indeterminate.`,
		Example: `  aegis verify --key 3de5…4e2c session.aarl
  aegis verify --trust-store keys.txt --allow-open-tail live.aarl`,
		Args: takesOne("PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := trust.options(cmd)
			if err != nil {
				return err
			}
			rep, err := verifyFile(cmd.Context(), args[0], opts, s.err)
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(s.out, reportJSON(rep, explain))
			} else {
				_, err = io.WriteString(s.out, reportText(rep, explain))
			}
			if err != nil {
				return &exitError{2, fmt.Errorf("write the report: %w", cause(err))}
			}
			if code := rep.Verdict.ExitCode(); code != 0 && !(allowOpenTail && rep.OpenTailOnly()) {
				return &exitError{code: code}
			}
			return nil
		},
	}
	trust.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as one JSON object")
	cmd.Flags().BoolVar(&explain, "explain", false, "add what turns no verdict: counts, unmatched and signed intents, what was not checked")
	cmd.Flags().BoolVar(&allowOpenTail, "allow-open-tail", false, "exit 0 when a missing or torn end, as of a live file, is the only thing undecided")
	return cmd
}

// reportText is the report, with what the file made us say safe for a terminal.
func reportText(r *aar.Report, explain bool) string {
	var b strings.Builder
	for _, line := range r.Text() {
		b.WriteString(report.SafeText(line) + "\n")
	}
	if !explain {
		return b.String()
	}
	fmt.Fprintf(&b, "sessions %d\nlines %d\ncalls %d\n", r.Sessions, r.Lines, r.Calls)
	for _, u := range r.Unmatched {
		fmt.Fprintf(&b, "unmatched_intent %s session %d seq %d\n", report.SafeText(u.CallID), u.At.Session, u.At.Seq)
	}
	for _, at := range r.SignedIntents {
		fmt.Fprintf(&b, "signed_intent session %d seq %d\n", at.Session, at.Seq)
	}
	for _, what := range aar.NotChecked {
		fmt.Fprintf(&b, "not_checked %s\n", what)
	}
	return b.String()
}

// verifyJSON is the answer of `verify --json`. Members that do not apply are
// left out.
type verifyJSON struct {
	Verdict  string        `json:"verdict"` // verified, tampered or indeterminate
	Pinned   bool          `json:"pinned"`
	Reason   *reasonJSON   `json:"reason,omitzero"`
	KeyIDs   []aar.KeyID   `json:"key_ids"`
	Coverage *aar.Position `json:"coverage,omitzero"`
	InFlight []string      `json:"in_flight"`
	Explain  *explainJSON  `json:"explain,omitzero"`
}

type reasonJSON struct {
	Code aar.ReasonCode `json:"code"`
	Text string         `json:"text"`
	At   *aar.Position  `json:"at,omitzero"`   // where, if it is a line of a session
	Line uint64         `json:"line,omitzero"` // from 1, blank rows not counted, if that is all there is to name it
}

type explainJSON struct {
	Sessions         uint64                `json:"sessions"`
	Lines            uint64                `json:"lines"`
	Calls            uint64                `json:"calls"`
	UnmatchedIntents []aar.UnmatchedIntent `json:"unmatched_intents"`
	SignedIntents    []aar.Position        `json:"signed_intents"`
	NotChecked       []string              `json:"not_checked"`
}

func reportJSON(r *aar.Report, explain bool) verifyJSON {
	out := verifyJSON{
		Verdict:  strings.ToLower(r.Verdict.String()),
		Pinned:   r.Pinned,
		KeyIDs:   r.Keys,
		Coverage: r.Coverage,
	}
	if r.Reason != nil {
		out.Reason = &reasonJSON{Code: r.Reason.Code, Text: r.Reason.String(), Line: r.Reason.Line}
		if at, ok := r.Reason.At(); ok {
			out.Reason.At = &at
		}
		if r.Reason.Code == aar.UnanchoredTail {
			out.InFlight = r.InFlight
		}
	}
	if explain {
		out.Explain = &explainJSON{r.Sessions, r.Lines, r.Calls, r.Unmatched, r.SignedIntents, aar.NotChecked}
	}
	return out
}

// writeJSON writes v as one line of JSON. Control, C1 and bidi characters in
// strings are escaped, so that the line is safe on a terminal too.
func writeJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(report.SafeJSON(text), '\n'))
	return err
}
