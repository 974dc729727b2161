package cli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/internal/interpose"
)

// relayFlags are what wrap and guard have in common.
type relayFlags struct {
	record   recordFlags
	gate     gateFlags
	confine  confineFlags
	maxFrame int
}

func (f *relayFlags) register(cmd *cobra.Command) {
	f.record.register(cmd)
	f.gate.register(cmd)
	f.confine.register(cmd)
}

// check finds what is wrong with the flags before anything is done.
func (f *relayFlags) check(cmd *cobra.Command) error {
	if f.maxFrame < 1 {
		return usagef("--max-frame-bytes needs a size of at least 1")
	}
	if err := f.gate.check(cmd); err != nil {
		return err
	}
	return f.confine.check(cmd)
}

// files are those of ours that a server must not change; a Path may be empty.
func (f *relayFlags) files() []confine.Protected {
	return []confine.Protected{
		{What: "the policy file", Path: f.gate.policy},
		{What: "the lock", Path: f.gate.lock},
		{What: "the record", Path: f.record.audit},
		{What: "the signing key", Path: f.record.key, Secret: true},
	}
}

// plan is what the server will be granted, nil where it is not confined. None
// of it may expose a file of ours.
func (f *relayFlags) plan(argv []string, files []confine.Protected) (*confine.Plan, error) {
	ours := slices.DeleteFunc(files, func(file confine.Protected) bool { return file.Path == "" })
	return f.confine.plan(argv, ours...)
}

// childCommand refuses command lines without a child command after `--`.
func childCommand(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash > 0 || dash < 0 && len(args) > 0:
		return usagef("%s takes no positional arguments; put the child command after `--` (got `%s`)", commandName(cmd), args[0])
	case len(args) == 0:
		return usagef("%s requires a child command after `--`", commandName(cmd))
	}
	return nil
}

// How long the last lines for people may wait for their reader: no longer than
// the rest of an end by a signal leaves room for.
const (
	notesPatience = 2 * time.Second
	notesHurry    = 100 * time.Millisecond
)

// relay is one session of wrap or of guard about to start.
type relay struct {
	streams
	cfg    interpose.Config
	notes  *interpose.Pump
	writer *aar.Writer // nil without a record
	// recordPath is the file of the record, empty without one.
	recordPath string
	gate       *gate // nil where nothing decides
	// confined is nil where the server does what we may do.
	confined *confinement
	// patience is how long notes may take.
	patience time.Duration
}

func newRelay(s streams, voice interpose.Voice, argv []string) *relay {
	notes := interpose.NewPump(s.err)
	return &relay{
		streams:  s,
		notes:    notes,
		patience: notesPatience,
		// A client that is gone ends the session; that is no failed answer of ours.
		cfg: interpose.Config{Client: s.in, Answer: s.out.to, Stderr: notes, Argv: argv, Voice: voice},
	}
}

// note writes a line for people. It never blocks.
func (r *relay) note(format string, a ...any) {
	fmt.Fprintf(r.notes, "aegis "+r.cfg.Voice.Name()+": "+format+"\n", a...)
}

// run runs the session to its end and closes its record. The error is one of
// [interpose.Run].
func (r *relay) run() (interpose.Exit, error) {
	defer survivePipe()()
	// Only now: until there is a session to end, a signal ends the process.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endingSignals...)
	defer signal.Stop(signals)
	r.cfg.Signals = signals
	exit, err := interpose.Run(r.cfg)
	if _, ok := errors.AsType[*interpose.SignalError](err); ok {
		r.patience = notesHurry
	}
	r.closeRecord(exit, err)
	if r.confined != nil && r.confined.launch != nil {
		if err := r.confined.launch.Close(); err != nil {
			r.note("%v", err)
		}
	}
	return exit, err
}

// keepRecord starts the record of the session.
func (r *relay) keepRecord(f recordFlags) error {
	w, path, err := f.open()
	if err != nil {
		return fmt.Errorf("%s audit failed: %w", r.cfg.Voice.Name(), err)
	}
	r.writer, r.cfg.Recorder, r.recordPath = w, w, path
	return nil
}

// end waits until people have been told, as long as it may take.
func (r *relay) end() { r.notes.Close(r.patience) }

// childExit is the `child` member of the close Line.
func childExit(exit interpose.Exit, err error) *aar.ChildExit {
	if errors.Is(err, interpose.ErrStart) {
		return &aar.ChildExit{Stage: "start"}
	}
	c := &aar.ChildExit{Stage: "run", Signal: exit.Signal}
	if exit.Signal == "" && exit.Code != interpose.Unseen {
		code := uint64(exit.Code)
		c.ExitCode = &code
	}
	return c
}

// exitOf turns the end of the session into the exit code of the command, and
// says what there is to say of it itself: stderr may have no reader any more.
// fatal is the code for what is the relay's own failure.
func (r *relay) exitOf(exit interpose.Exit, err error, fatal int) error {
	if sig, ok := errors.AsType[*interpose.SignalError](err); ok {
		return &exitError{code: 128 + sig.Number()}
	}
	if errors.Is(err, interpose.ErrStart) {
		return &exitError{fatal, err}
	}
	if err != nil {
		fmt.Fprintf(r.notes, "error: %s relay I/O failed: %v\n", r.cfg.Voice.Name(), err)
		return &exitError{code: fatal}
	}
	code := exit.Code
	switch {
	case exit.Signal != "":
		code = 128 + exit.Number
	case code == interpose.Unseen:
		r.note("the server was killed, and its end was not seen")
		code = 128 + 9
	}
	if code != 0 {
		return &exitError{code: code}
	}
	return nil
}
