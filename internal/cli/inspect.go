package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/guard"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/secret"
	"github.com/aegis-aar/aegis/internal/trace"
	"github.com/aegis-aar/aegis/internal/wire"
)

type inspectFlags struct {
	json, sarif   string
	lists         catalogFlags
	lock          string
	allIPLiterals bool
	auditOnly     bool
	inFlight      int
}

func newInspect(s streams) *cobra.Command {
	var f inspectFlags
	cmd := &cobra.Command{
		Use:   "inspect TRACE",
		Short: "Inspect a recorded session; start and block nothing",
		Long: `Inspect the results in a recorded session as guard inspects a live one, and
print a line a finding. TRACE is what guard --record wrote, or JSON-RPC frames a
line; - reads stdin. Nothing is started and nothing blocked: the action of a
finding is shadowed if its rule could act in guard, else passed.

Exit: 0 no finding of the block tier; 1 there is one (0 with --audit-only);
2 the trace or another file could not be read, or an output not written.`,
		Annotations: map[string]string{usageExit: "2"},
		Args:        takesOne("TRACE"),
		RunE:        func(_ *cobra.Command, args []string) error { return inspectTrace(s, f, args[0]) },
	}
	cmd.Flags().StringVar(&f.json, "json", "", "write the findings to `FILE`, a JSON object a line")
	cmd.Flags().StringVar(&f.sarif, "sarif", "", "write the findings to `FILE` as SARIF 2.1.0")
	f.lists.register(cmd)
	cmd.Flags().StringVar(&f.lock, "lock", "", "hold to what the lock file at `PATH` declares of each tool's results")
	cmd.Flags().BoolVar(&f.allIPLiterals, "block-exfil-ip-literal", false, "take every internal address for the block tier")
	cmd.Flags().BoolVar(&f.auditOnly, "audit-only", false, "exit 0 whatever is found")
	cmd.Flags().IntVar(&f.inFlight, "max-inflight", trace.DefaultInFlight, "keep the last `N` open requests, as guard does")
	return cmd
}

func inspectTrace(s streams, f inspectFlags, path string) error {
	if f.inFlight < 1 {
		return usagef("--max-inflight must be at least 1")
	}
	catalog, err := f.lists.open()
	if err != nil {
		return &exitError{2, err}
	}
	var pinned *pins
	if f.lock != "" {
		if pinned, err = loadPins(f.lock); err != nil {
			return &exitError{2, err}
		}
	}
	in, size, shut, err := openTrace(s, path)
	if err != nil {
		return &exitError{2, err}
	}
	defer shut()
	for _, out := range []string{f.json, f.sarif} {
		if out != "" && isOpenAs(in, out) {
			return &exitError{2, fmt.Errorf("%s is the trace", out)}
		}
	}
	run := inspection{s: s, name: path, file: path, catalog: catalog, pins: pinned, posture: inspect.Posture{BlockAllIPLiterals: f.allIPLiterals}, session: trace.NewSession(f.inFlight), tiers: map[string]int64{}}
	if path == "-" {
		run.name, run.file = "stdin", ""
	}
	sinks, err := report.Open(report.Options{
		JSON: f.json, SARIF: f.sarif, Version: versionString(), Rules: guard.ResultRules(), Subject: run.file,
		Note: func(text string) { fmt.Fprintf(s.err, "warning: %s\n", report.SafeText(text)) },
	})
	if err != nil {
		return &exitError{2, err}
	}
	run.sinks = sinks
	counted, stop := withProgress(in, size, "inspect", s.err)
	readErr := run.all(trace.NewReader(counted))
	stop()
	sum := report.Summary{Frames: run.inspected, Dropped: run.dropped}
	if readErr != nil {
		sum.Failure = "the trace could not be read to its end: " + readErr.Error()
	}
	err = sinks.Close(sum)
	if readErr != nil {
		return &exitError{2, fmt.Errorf("%s: %w", run.name, readErr)}
	}
	run.summarise()
	switch {
	case err != nil:
		return &exitError{code: 2} // told by the note
	case run.blocks && !f.auditOnly:
		return &exitError{code: 1}
	}
	return nil
}

// openTrace opens the trace; size is 0 where it is not known.
func openTrace(s streams, path string) (in io.Reader, size int64, shut func(), err error) {
	if path == "-" {
		return s.in, 0, func() {}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("read %s: is a directory", path)
	}
	if err != nil {
		f.Close()
		return nil, 0, nil, err
	}
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	return f, size, func() { f.Close() }, nil
}

// isOpenAs reports whether path names the file that is open as in.
func isOpenAs(in io.Reader, path string) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}

// maxTold is how many findings are printed one by one.
const maxTold = 1000

// How many bytes are printed of a finding's message, and of a tool's name in it.
const (
	maxMessage = 1000
	maxTool    = 128
)

// inspection is one run over a trace.
type inspection struct {
	s       streams
	name    string // of the trace, for people
	file    string // its path, empty for stdin
	catalog *inspect.Catalog
	pins    *pins // nil without a lock
	posture inspect.Posture
	sinks   *report.Sinks
	session *trace.Session

	frames, inspected, findings, dropped int64
	tiers                                map[string]int64
	blocks                               bool // a finding of the block tier, told or dropped
}

func (r *inspection) all(in *trace.Reader) error {
	for {
		e, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		r.entry(e)
	}
}

func (r *inspection) entry(e trace.Entry) {
	frame := wire.Frame{Body: e.Frame}
	switch {
	case e.Omitted > 0:
		r.frames++
		r.finding(e.Line, report.Finding{
			RuleID: inspect.RuleFrameError, Severity: report.Low, Tier: "note", Action: report.Passed, Direction: string(e.Direction),
			Message: "a frame over the cap was not inspected",
		})
		return
	case frame.Blank():
		return
	}
	r.frames++
	m := wire.Classify(e.Frame)
	if e.Direction == trace.Unknown {
		e.Direction = r.session.Direction(m)
	}
	if e.Direction == trace.Client {
		r.session.Client(m)
		return
	}
	answers := r.session.Server(m, e.Frame)
	if len(answers) > 0 {
		r.inspected++
	}
	for _, a := range answers {
		r.answer(e.Line, a)
	}
}

// answer runs the catalog on one answer. Without a lock every tool has the most
// protection.
func (r *inspection) answer(line int, a trace.Answer) {
	var declared inspect.Declaration
	if r.pins != nil {
		declared = r.pins.Declaration(a.Tool)
	}
	rep := r.catalog.Inspect(a.Body, declared, r.posture)
	for i := range rep.Findings {
		f := guard.ResultFinding(&rep.Findings[i], a.ID, a.Tool)
		if f.Action == report.Blocked || f.Action == report.Modified {
			f.Action = report.Shadowed
		}
		r.finding(line, f)
	}
	r.dropped += int64(rep.Dropped)
	r.blocks = r.blocks || rep.Block != nil || rep.Rewritten != nil
}

func (r *inspection) finding(line int, f report.Finding) {
	f.File, f.Line = r.file, line
	r.sinks.Report(f)
	r.tiers[f.Tier]++
	r.blocks = r.blocks || f.Tier == string(inspect.TierBlock)
	if r.findings++; r.findings <= maxTold {
		text := shown(f.Message, maxMessage)
		if f.Tool != "" {
			text = "tools/" + shown(f.Tool, maxTool) + ": " + text
		}
		fmt.Fprintf(r.s.out, "%s:%d: %s: %s %s: %s\n", report.SafeText(r.name), line, f.Tier, f.RuleID, f.Severity, text)
	}
}

// shown is text as it may be printed. It is cut last: half a secret looks like none.
func shown(text string, limit int) string {
	text, _ = secret.RedactAll(text)
	return report.SafeText(report.Clip(text, limit))
}

func (r *inspection) summarise() {
	if r.findings > maxTold {
		fmt.Fprintf(r.s.out, "and %s more\n", count(int(r.findings-maxTold), "finding"))
	}
	result := "no finding"
	if r.findings > 0 {
		result = fmt.Sprintf("%s: %d block, %d monitor, %d note", count(int(r.findings), "finding"), r.tiers["block"], r.tiers["monitor"], r.tiers["note"])
	}
	fmt.Fprintf(r.s.out, "%s\n", headings(r.s.out)(fmt.Sprintf("%s: %s, %d inspected; %s", report.SafeText(r.name), count(int(r.frames), "frame"), r.inspected, result)))
}
