// Package cli is the command line: one file a command, with its flags, its
// wiring and its exit codes. Nothing below it knows a flag.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// streams are the three standard streams a command may use.
type streams struct {
	in  io.Reader
	out *output
	err io.Writer
}

// exitError ends a command with a code of its own. A nil cause prints nothing:
// the command has already said what there was to say.
type exitError struct {
	code  int
	cause error
}

func (e *exitError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.cause.Error()
}

func (e *exitError) Unwrap() error { return e.cause }

// usageError is a wrong command line: the message, then the usage, on stderr.
type usageError struct{ error }

func usagef(format string, a ...any) error { return usageError{fmt.Errorf(format, a...)} }

// usageExit marks the commands whose usage errors do not end with 1: where 1 is
// a verdict on a policy, a wrong flag must not read as one.
const usageExit = "usage-exit"

// Main runs the command line args (without the program's name) and returns the
// exit code. Exit codes are API; each command documents its own.
func Main(args []string, in io.Reader, out, errw io.Writer) int {
	stdout := &output{to: out}
	root := newRoot(streams{in: in, out: stdout, err: errw})
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(context.Background())
	if stdout.err != nil {
		err = &exitError{noVerdict(cmd), fmt.Errorf("write the output: %w", cause(stdout.err))}
	}
	return exitCode(cmd, err, errw)
}

// noVerdict is the exit code of a command that could not tell its answer: where
// 1 is an answer, it is 2.
func noVerdict(cmd *cobra.Command) int {
	for c := cmd; c != nil; c = c.Parent() {
		if c.Annotations[usageExit] == "2" || c.Name() == "verify" || c.Name() == "recheck" {
			return 2
		}
	}
	return 1
}

func exitCode(cmd *cobra.Command, err error, errw io.Writer) int {
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		if exit.cause != nil {
			printError(errw, exit.cause)
		}
		return exit.code
	}
	printError(errw, err)
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprint(errw, cmd.UsageString())
		for c := cmd; c != nil; c = c.Parent() {
			if c.Annotations[usageExit] == "2" {
				return 2
			}
		}
	}
	return 1
}

// Root is the tree of commands, for those who document it.
func Root() *cobra.Command { return newRoot(streams{os.Stdin, &output{to: os.Stdout}, os.Stderr}) }

func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "aegis",
		Version:       versionString(),
		Short:         "Decide and record what an AI agent's tools do",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command: %s", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		newCheck(s),
		newDemo(s),
		newDemoServer(s),
		newDiff(s),
		newGuard(s),
		newInspect(s),
		newKeygen(s),
		newLock(s),
		newPin(s),
		newPolicy(s),
		newRecheck(s),
		newVerify(s),
		newVersion(s),
		newWrap(s),
	)
	return root
}

// commandName is the command as it is typed behind `aegis`.
func commandName(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "aegis ") }

// takesNoArgs refuses positional arguments in the words of the command.
func takesNoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, got %s", commandName(cmd), strings.Join(args, " "))
	}
	return nil
}

// takesOne refuses all but one positional argument.
func takesOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usagef("%s requires <%s>", commandName(cmd), what)
		case 1:
			return nil
		}
		return usagef("%s takes one %s, got `%s`", commandName(cmd), what, strings.Join(args, "` and `"))
	}
}
