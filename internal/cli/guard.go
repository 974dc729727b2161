package cli

import (
	"errors"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/internal/guard"
	"github.com/aegis-aar/aegis/internal/interpose"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/trace"
	"github.com/aegis-aar/aegis/lock"
	"github.com/aegis-aar/aegis/policy"
)

// guardFlags are what guard has beside the relay's.
type guardFlags struct {
	relay   relayFlags
	posture postureFlags
	outputs outputFlags

	maxInFlight            int
	strict, strictFrameCap bool
	quiet, noBanner        bool
	degraded               bool
}

// Defaults of the guard contract, section 8.
const (
	guardMaxFrame    = 8 << 20
	guardMaxInFlight = trace.DefaultInFlight
)

func newGuard(s streams) *cobra.Command {
	var f guardFlags
	cmd := &cobra.Command{
		Use:   "guard [flags] -- COMMAND [ARG...]",
		Short: "Stand in front of an MCP server, inspect what it returns and block what is certain",
		Long: `Start COMMAND, an MCP server that speaks over stdin and stdout, and relay
between it and whoever started aegis. What the server answers to a tools/call is
inspected: control characters are stripped; a result with a secret, a link to a
known drop site or to a metadata address is replaced by error -32001. Phrases of
prompt injection are only told. All else passes byte for byte.

COMMAND and its arguments are passed on as they are; no shell is involved.

--policy arms the argument policy and the rules of a policy file, --lock the pins
of a lock file. --audit with --signing-key leaves the signed record of wrap.
SIGUSR1 reads the policy again; a file that does not load changes nothing.

When the server ends, every request it left open is answered with error -32002.

Exit: what COMMAND exits with; 128 + n if signal n ended it or aegis; 2 for a usage
error, if nothing could be started or if the relay failed; 3 if --strict or
--strict-frame-cap ended the session.`,
		Example: `  aegis guard -- npx -y @modelcontextprotocol/server-memory
  aegis guard --sarif findings.sarif --policy policy.yaml -- npx -y @modelcontextprotocol/server-filesystem /srv/files`,
		Annotations: map[string]string{usageExit: "2"},
		Args:        childCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.relay.confine.explain {
				return guardError(explainPlan(s, cmd, &f.relay, args, f.files(), false))
			}
			if err := f.check(cmd); err != nil {
				return guardError(err)
			}
			return runGuard(newRelay(s, guard.Voice{}, args), f)
		},
	}
	f.relay.register(cmd)
	cmd.Flags().IntVar(&f.relay.maxFrame, "max-frame-bytes", guardMaxFrame, "pass server frames longer than this many `BYTES` unread; refuse such client frames where a policy, a lock or a record is armed")
	cmd.Flags().IntVar(&f.maxInFlight, "max-inflight", guardMaxInFlight, "keep account of the last `N` requests")
	f.posture.register(cmd)
	f.outputs.register(cmd)
	cmd.Flags().BoolVar(&f.strict, "strict", false, "end the session with 3 when an inspection, a policy evaluation or the list gate itself fails")
	cmd.Flags().BoolVar(&f.strictFrameCap, "strict-frame-cap", false, "end the session with 3 at a server frame over --max-frame-bytes")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "say nothing at the start")
	cmd.Flags().BoolVar(&f.noBanner, "no-banner", false, "the same as --quiet")
	cmd.Flags().BoolVar(&f.degraded, "allow-degraded-platform", false, "run where process groups and signals work differently (Windows)")
	return cmd
}

func (f *guardFlags) check(cmd *cobra.Command) error {
	switch {
	case runtime.GOOS == "windows" && !f.degraded:
		return &exitError{2, errors.New("guard does not hold its life-cycle guarantees on this platform; run it all the same with --allow-degraded-platform")}
	case f.relay.record.audit != "" && f.relay.record.key == "":
		return usagef("--audit requires --signing-key <PATH>; generate one with `aegis keygen --out <PATH>`")
	case f.relay.record.audit == "" && f.relay.record.key != "":
		return usagef("--signing-key only applies with --audit <PATH>")
	case f.maxInFlight < 1:
		return usagef("--max-inflight needs a number of at least 1")
	}
	if err := f.posture.check(cmd); err != nil {
		return err
	}
	if err := f.relay.check(cmd); err != nil {
		return err
	}
	return f.outputs.check(f.inputs())
}

// inputs are the files that are read, or appended to; a Path may be empty.
func (f *guardFlags) inputs() []confine.Protected {
	return append(f.relay.files(), f.posture.lists.files()...)
}

// files are the inputs and the outputs.
func (f *guardFlags) files() []confine.Protected { return append(f.inputs(), f.outputs.files()...) }

// guardError makes what goes wrong before the session the fatal error that it is.
func guardError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return err // 2 by the command's annotation
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit
	}
	return &exitError{2, err}
}

func runGuard(r *relay, f guardFlags) error {
	defer r.end()
	posture := f.posture.posture()
	r.cfg.MaxFrame, r.cfg.MaxInFlight = f.relay.maxFrame, f.maxInFlight
	r.cfg.Strict, r.cfg.StrictFrameCap = f.strict, f.strictFrameCap
	stop, err := r.arm(f.relay.gate)
	if err != nil {
		return guardError(err)
	}
	defer stop()
	plan, err := f.relay.plan(r.cfg.Argv, f.files())
	if err != nil {
		return guardError(err)
	}
	r.confine(&f.relay.confine, plan)
	catalog, err := f.posture.lists.open()
	if err != nil {
		return guardError(err)
	}
	subject := f.relay.gate.lock
	if subject == "" {
		subject = f.relay.gate.policy
	}
	out, err := f.outputs.open(r, subject)
	if err != nil {
		return guardError(err)
	}
	out.failure = notStarted
	g := guard.New(catalog, posture, r.surface(), out.sinks)
	defer out.close(g)
	r.cfg.Inspector = g
	if r.gate != nil {
		r.gate.watchPolicy, r.gate.watchLock = !posture.Blocks(guard.Policy), !posture.Blocks(guard.ListChanged)
		r.cfg.Decider = g.Decider(r.gate)
	}
	if f.relay.record.audit != "" {
		if err := r.keepRecord(f.relay.record); err != nil {
			return guardError(err)
		}
	}
	for _, flag := range f.posture.inert {
		r.note("%s does nothing: that category blocks by default", flag)
	}
	r.unconfined(f.relay.record.key)
	if !f.quiet && !f.noBanner {
		r.banner(posture, f.outputs.record)
	}
	exit, err := r.run()
	out.failure = failureOf(err)
	if abort, ok := errors.AsType[*interpose.StrictAbort](err); ok {
		r.note("%v", abort)
		return &exitError{code: 3}
	}
	return r.exitOf(exit, err, 2)
}

// surface is the lock in force, nil without one.
func (r *relay) surface() guard.Surface {
	if r.gate == nil || r.gate.pins == nil {
		return nil
	}
	return r.gate.pins
}

// banner says once what blocks, what is only watched and what is inactive.
func (r *relay) banner(p guard.Posture, recording string) {
	armed := guard.Armed{Lock: r.surface() != nil, Recording: recording}
	if r.gate != nil && r.gate.path != "" {
		set := r.gate.engine.Set()
		armed.Arguments, armed.Rules = set.HasArguments(), len(set.Rules()) > 0 || set.Default() == policy.Deny
	}
	for line := range strings.Lines(p.Banner(armed)) {
		r.note("%s", strings.TrimSuffix(line, "\n"))
	}
}

// driftRules are the classes of drift, as SARIF tells them.
func driftRules() []report.Rule {
	var rules []report.Rule
	for _, class := range lock.Classes() {
		rules = append(rules, report.Rule{
			ID: lock.RuleOf(class), Severity: lock.SeverityOf(class),
			Short: "The server's surface differs from the lock: " + strings.ReplaceAll(class, "-", " ") + ".",
			Help:  "`aegis check` tells what differs. If the change is wanted, pin and approve it anew.",
		})
	}
	return rules
}

// guardOutputs are the files that a session is told in.
type guardOutputs struct {
	sinks     *report.Sinks
	recording *report.File // nil without one
	failure   string       // why the session did not go to its end
}

// notStarted is the failure of a run whose server was never started.
const notStarted = "the server was not started"

// failureOf is why a session did not go to its end, empty where it did: a signal
// is how many clients end one.
func failureOf(err error) string {
	if errors.Is(err, interpose.ErrStart) {
		return notStarted
	}
	if _, signalled := errors.AsType[*interpose.SignalError](err); err == nil || signalled {
		return ""
	}
	return err.Error()
}

// open creates the files, or none of them. subject is the file that findings without one of
// their own are about.
func (f *outputFlags) open(r *relay, subject string) (*guardOutputs, error) {
	sinks, err := report.Open(report.Options{
		JSON: f.json, SARIF: f.sarif, Subject: subject,
		Version: versionString(), Rules: slices.Concat(guard.ResultRules(), report.PolicyRules(), driftRules()),
		Note: func(text string) { r.note("%s", report.SafeText(text)) },
	})
	if err != nil {
		return nil, err
	}
	out := &guardOutputs{sinks: sinks}
	if f.record == "" {
		return out, nil
	}
	if out.recording, err = report.CreatePrivate(f.record); err != nil {
		_ = sinks.Close(report.Summary{Failure: notStarted})
		return nil, err
	}
	r.cfg.Tracer = guard.NewRecording(trace.NewWriter(out.recording), func(err error) { r.note("the recording ends here: %v", err) })
	return out, nil
}

// close ends the files. What fails was noted.
func (o *guardOutputs) close(g *guard.Guard) {
	_ = o.sinks.Close(report.Summary{Frames: g.Frames(), Dropped: g.Dropped(), Failure: o.failure})
	if o.recording != nil {
		_ = o.recording.Close()
	}
}
