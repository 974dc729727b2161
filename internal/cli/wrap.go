package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/interpose"
)

// recordFlags say where the record goes and what signs it.
type recordFlags struct {
	audit, key string
}

func (f *recordFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.audit, "audit", "", "write the record to `PATH`; PATH/ with a slash makes one file a session in that directory")
	cmd.Flags().StringVar(&f.key, "signing-key", "", "sign the record with the key file at `PATH`")
}

// open starts the Session: the key is read and the open Line is durable before
// anything else happens.
func (f *recordFlags) open() (*aar.Writer, error) {
	key, err := aar.LoadSigningKey(f.key)
	if err != nil {
		return nil, err
	}
	sink, err := f.sink()
	if err != nil {
		return nil, err
	}
	w, err := aar.NewWriter(sink, key)
	if err != nil {
		return nil, errors.Join(err, sink.Close())
	}
	return w, nil
}

func (f *recordFlags) sink() (*aar.FileSink, error) {
	if strings.HasSuffix(f.audit, "/") || strings.HasSuffix(f.audit, string(os.PathSeparator)) {
		return aar.CreateFile(f.audit)
	}
	if info, err := os.Stat(f.audit); err == nil && info.IsDir() {
		return nil, fmt.Errorf("record %s is a directory; give `--audit %s/` for one file a session", f.audit, f.audit)
	}
	return aar.OpenFile(f.audit)
}

func newWrap(s streams) *cobra.Command {
	var record recordFlags
	var policyPath string
	var maxFrame int
	cmd := &cobra.Command{
		Use:   "wrap --audit PATH --signing-key PATH [flags] -- COMMAND [ARG...]",
		Short: "Stand in front of an MCP server, record every tools/call and decide it",
		Long: `Start COMMAND, an MCP server that speaks over stdin and stdout, and relay
between it and whoever started aegis, byte for byte. Every tools/call leaves an
intent in the record, durable before the server sees the call, and an outcome.

COMMAND and its arguments are passed on as they are; no shell is involved.
Verify the record with: aegis verify --key PUBLIC_KEY PATH

Without --policy a client frame over --max-frame-bytes and a call that cannot be
put on record are refused, and nothing else. With --policy every tools/call is
decided first: a refused one never reaches the server and is answered with error
-32042. A frame that two JSON readers could take differently is refused too.
SIGUSR1 reads the policy again; a file that does not load changes nothing.

Exit: what COMMAND exits with; 128 + n if signal n ended it or aegis; at least 1
if it ended before its client did; 1 for a usage error or if nothing could be
started.`,
		Example: `  aegis keygen --out ~/.aegis/signing.key
  aegis wrap --audit ~/.aegis/records/ --signing-key ~/.aegis/signing.key -- npx -y @modelcontextprotocol/server-memory`,
		Args: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			switch {
			case dash > 0 || dash < 0 && len(args) > 0:
				return usagef("wrap takes no positional arguments; put the child command after `--` (got `%s`)", args[0])
			case len(args) == 0:
				return usagef("wrap requires a child command after `--`")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case record.audit == "":
				return usagef("wrap requires --audit <PATH>")
			case record.key == "":
				return usagef("--audit requires --signing-key <PATH>; generate one with `aegis keygen --out <PATH>`")
			case policyPath == "" && cmd.Flags().Changed("policy"):
				return usagef("--policy needs a PATH")
			case maxFrame < 1:
				return usagef("--max-frame-bytes needs a size of at least 1")
			}
			return runWrap(s, record, policyPath, interpose.Config{Argv: args, MaxFrame: maxFrame})
		},
	}
	record.register(cmd)
	cmd.Flags().StringVar(&policyPath, "policy", "", "decide every tools/call by the Policy Set in the file at `PATH`")
	cmd.Flags().IntVar(&maxFrame, "max-frame-bytes", interpose.DefaultMaxFrame, "refuse client frames longer than this many `BYTES`")
	return cmd
}

// How long the last lines for people may wait for their reader: no longer than
// the rest of an end by a signal leaves room for.
const (
	notesPatience = 2 * time.Second
	notesHurry    = 100 * time.Millisecond
)

// runWrap runs one session. An empty policyPath only records.
func runWrap(s streams, record recordFlags, policyPath string, cfg interpose.Config) error {
	notes, patience := interpose.NewPump(s.err), notesPatience
	defer func() { notes.Close(patience) }()
	if policyPath != "" {
		g, err := newGate(policyPath)
		if err != nil {
			return err
		}
		g.warn(notes)
		cfg.Decider = g
		defer g.reloadOn(notes)()
	}
	defer survivePipe()()
	w, err := record.open()
	if err != nil {
		return fmt.Errorf("wrap audit failed: %w", err)
	}
	// Only now: until there is a session to end, a signal ends the process.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endingSignals...)
	defer signal.Stop(signals)
	fmt.Fprintln(notes, "aegis wrap: the server runs unconfined: it can read the signing key and write to the record as you can")
	// A client that is gone ends the session; that is no failed answer of ours.
	cfg.Client, cfg.Answer, cfg.Stderr = s.in, s.out.to, notes
	cfg.Signals, cfg.Recorder = signals, w
	exit, relayErr := interpose.Run(cfg)
	if _, ok := errors.AsType[*interpose.SignalError](relayErr); ok {
		patience = notesHurry
	}
	if err := w.Close(aar.Close{Child: childExit(exit, relayErr)}); err != nil {
		fmt.Fprintf(notes, "aegis wrap: the record has no orderly end: %v\n", err)
	}
	return exitOfChild(notes, exit, relayErr)
}

// childExit is the `child` member of the close Line.
func childExit(exit interpose.Exit, err error) *aar.ChildExit {
	if errors.Is(err, interpose.ErrStart) {
		return &aar.ChildExit{Stage: "start"}
	}
	c := &aar.ChildExit{Stage: "run", Signal: exit.Signal}
	if exit.Signal == "" {
		code := uint64(exit.Code)
		c.ExitCode = &code
	}
	return c
}

// exitOfChild turns the end of a session into the exit code of the command, and
// says what there is to say of it itself: stderr may have no reader any more.
func exitOfChild(notes io.Writer, exit interpose.Exit, err error) error {
	if sig, ok := errors.AsType[*interpose.SignalError](err); ok {
		return &exitError{code: 128 + sig.Number()}
	}
	if errors.Is(err, interpose.ErrStart) {
		return err
	}
	if err != nil {
		fmt.Fprintf(notes, "error: wrap relay I/O failed: %v\n", err)
		return &exitError{code: 1}
	}
	code := exit.Code
	if exit.Signal != "" {
		code = 128 + exit.Number
	}
	if exit.Early {
		fmt.Fprintln(notes, "aegis wrap: child process exited before the client closed stdin")
		code = max(code, 1)
	}
	if code != 0 {
		return &exitError{code: code}
	}
	return nil
}
