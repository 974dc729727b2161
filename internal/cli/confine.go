package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/confine"
)

// confineFlags are the flags of every command that starts a server and can
// confine it.
type confineFlags struct {
	confine, explain bool
	bestEffort, kill bool
	support, tmp     bool
	read, write      []string
	exec, env, net   []string
	report           string
}

func (f *confineFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.confine, "confine", false, "keep the server to what is granted: files and network (Linux)")
	flags.StringArrayVar(&f.read, "allow-read", nil, "let the server read the file or tree at `PATH`")
	flags.StringArrayVar(&f.write, "allow-write", nil, "let the server read and change the file or tree at `PATH`")
	flags.StringArrayVar(&f.net, "allow-net", nil, "let the server reach `HOST:PORT`; not available yet")
	flags.StringArrayVar(&f.exec, "allow-exec", nil, "auto: what the server needs to start (the default); none; or the program at `PATH` with what it needs")
	flags.BoolVar(&f.support, "allow-exec-support", false, "let the server read and execute all of /usr /lib /lib64 /lib32 /bin /sbin /etc /dev /proc")
	flags.BoolVar(&f.tmp, "allow-tmp", false, "give the server a private temporary directory, removed at the end")
	flags.StringArrayVar(&f.env, "env", nil, "pass the variable `NAME[=VALUE]` to the confined server")
	flags.BoolVar(&f.bestEffort, "best-effort", false, "start the server even if the kernel cannot enforce all of it")
	flags.BoolVar(&f.kill, "confine-kill", false, "kill a process that opens a network socket, in place of an error")
	flags.BoolVar(&f.explain, "confine-explain", false, "print what would be granted, and start nothing")
	flags.StringVar(&f.report, "confine-report", "", "write what the kernel enforced to `FILE`")
}

// The flags that go with --confine, in the words of the specification and in
// ours.
var (
	specifiedConfineFlags = []string{"allow-read", "allow-write", "allow-net", "allow-exec-support", "best-effort"}
	addedConfineFlags     = []string{"allow-exec", "allow-tmp", "env", "confine-kill", "confine-explain", "confine-report"}
)

// check finds what is wrong on the command line itself.
func (f *confineFlags) check(cmd *cobra.Command) error {
	given := func(names []string) bool {
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				return true
			}
		}
		return false
	}
	switch {
	case !f.confine && given(specifiedConfineFlags):
		return usagef("--allow-read, --allow-write, --allow-net, --allow-exec-support and --best-effort require --confine")
	case !f.confine && given(addedConfineFlags):
		return usagef("--allow-exec, --allow-tmp, --env, --confine-kill, --confine-explain and --confine-report require --confine")
	case f.report == "" && cmd.Flags().Changed("confine-report"):
		return usagef("--confine-report needs a FILE")
	}
	for _, target := range f.net {
		if err := checkNet(target); err != nil {
			return err
		}
	}
	return nil
}

func checkNet(target string) error {
	i := strings.LastIndexByte(target, ':')
	if i < 0 {
		return usagef("--allow-net needs HOST:PORT, got `%s`", target)
	}
	if target[:i] == "" {
		return usagef("--allow-net needs a host, got `%s`", target)
	}
	if _, err := strconv.ParseUint(target[i+1:], 10, 16); err != nil {
		return usagef("--allow-net needs a port 0–65535, got `%s`", target)
	}
	return nil
}

// plan is what argv will be granted, nil without --confine. Files of ours must
// not lie where the server may change them, nor secret ones where it may read them.
func (f *confineFlags) plan(argv []string, files ...confine.Protected) (*confine.Plan, error) {
	if !f.confine {
		return nil, nil
	}
	if err := confine.Supported(); err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	p, err := confine.New(confine.Request{
		Argv: argv, Dir: dir, Environ: os.Environ(),
		Read: f.read, Write: f.write, Exec: f.exec, ExecSupport: f.support, Tmp: f.tmp, Env: f.env, Net: f.net,
		BestEffort: f.bestEffort, Kill: f.kill,
	})
	if usage, ok := err.(*confine.UsageError); ok {
		return nil, usageError{usage}
	}
	if err != nil {
		return nil, err
	}
	if f.report != "" {
		// Said before the server has run, not after.
		if _, err := os.Stat(filepath.Dir(f.report)); err != nil {
			return nil, fmt.Errorf("confinement report %s: %w", f.report, errors.Unwrap(err))
		}
		files = append(files, confine.Protected{What: "the confinement report", Path: f.report})
	}
	if err := p.Protect(files...); err != nil {
		return nil, err
	}
	return p, nil
}

// explained prints the plan, for people or as JSON.
func explained(w io.Writer, p *confine.Plan, asJSON bool) error {
	if asJSON {
		_, err := fmt.Fprintf(w, "%s\n", p.JSON())
		return err
	}
	return p.WriteText(w)
}

// enforced tells on notes, and leaves beside the record and in the file of
// --confine-report, what the kernel enforces. audit is the record's path, "" if
// there is none.
func (f *confineFlags) enforced(r *confine.Report, audit string, notes io.Writer, prefix string) error {
	r.Banner(notes, prefix)
	var files []string
	if audit != "" {
		files = append(files, confine.EnforcedPath(audit))
	}
	if f.report != "" {
		files = append(files, f.report)
	}
	for _, file := range files {
		if err := r.WriteFile(file); err != nil {
			return err
		}
	}
	return nil
}
