package cli

import (
	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/internal/interpose"
)

func newWrap(s streams) *cobra.Command {
	var f relayFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "wrap --audit PATH --signing-key PATH [flags] -- COMMAND [ARG...]",
		Short: "Stand in front of an MCP server, record every tools/call and decide it",
		Long: `Start COMMAND, an MCP server that speaks over stdin and stdout, and relay
between it and whoever started aegis, byte for byte. Every tools/call leaves an
intent in the record, durable before the server sees the call, and an outcome.

COMMAND and its arguments are passed on as they are; no shell is involved.
Verify the record with: aegis verify --key PUBLIC_KEY PATH

Without --policy and --lock a client frame over --max-frame-bytes and a call that
cannot be put on record or delivered are refused, and nothing else. With one of
them every tools/call is decided first: a refused one never reaches the server and
is answered with error -32042. A frame that two JSON readers could take differently
is refused too.
SIGUSR1 reads the policy again; a file that does not load changes nothing.

Exit: what COMMAND exits with; 128 + n if signal n ended it or aegis; at least 1
if it ended before its client did; 1 for a usage error, if nothing could be
started or if the relay failed.`,
		Example: `  aegis keygen --out ~/.aegis/signing.key
  aegis wrap --audit ~/.aegis/records/ --signing-key ~/.aegis/signing.key -- npx -y @modelcontextprotocol/server-memory`,
		Args: childCommand,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.confine.explain {
				return explainPlan(s, cmd, &f, args, f.files(), asJSON)
			}
			switch {
			case asJSON:
				return usagef("--json only applies with --confine-explain")
			case f.record.audit == "":
				return usagef("wrap requires --audit <PATH>")
			case f.record.key == "":
				return usagef("--audit requires --signing-key <PATH>; generate one with `aegis keygen --out <PATH>`")
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			return runWrap(newRelay(s, interpose.WrapVoice{}, args), f)
		},
	}
	f.register(cmd)
	cmd.Flags().IntVar(&f.maxFrame, "max-frame-bytes", interpose.DefaultMaxFrame, "refuse client frames longer than this many `BYTES`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "with --confine-explain, print the plan as JSON")
	return cmd
}

func runWrap(r *relay, f relayFlags) error {
	defer r.end()
	r.cfg.MaxFrame = f.maxFrame
	stop, err := r.arm(f.gate)
	if err != nil {
		return err
	}
	defer stop()
	plan, err := f.plan(r.cfg.Argv, f.files())
	if err != nil {
		return err
	}
	r.confine(&f.confine, plan)
	if err := r.keepRecord(f.record); err != nil {
		return err
	}
	r.unconfined(f.record.key)
	exit, err := r.run()
	if err == nil && exit.Early {
		// It did not end well, whatever it says itself.
		r.note("child process exited before the client closed stdin")
		if exit.Signal == "" && exit.Code != interpose.Unseen {
			exit.Code = max(exit.Code, 1)
		}
	}
	return r.exitOf(exit, err, 1)
}
