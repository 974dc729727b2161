//go:build linux && (amd64 || arm64)

package confine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/go-json-experiment/json"
)

// Launch is the start of one confined server.
type Launch struct {
	plan       *Plan
	read, told *os.File // the report pipe; told is the helper's end
	tmp        string   // the private temporary directory, "" if there is none
}

// Prepare turns cmd, which has its streams and attributes but no program yet,
// into the start of the helper that becomes the server. The process stays the
// same one from cmd.Start to the server's end: group, parent-death signal and
// exit status are the server's. Whatever comes of it, call [Launch.Close] when
// the server has ended.
func (p *Plan) Prepare(cmd *exec.Cmd) (*Launch, error) {
	l := &Launch{plan: p}
	prof := profile{
		Program: p.Program, Grants: p.Grants, Kill: p.OnSocket == "SIGSYS", BestEffort: p.BestEffort,
		ReportFD: 3 + len(cmd.ExtraFiles),
	}
	env := p.env
	if p.PrivateTmp {
		dir, err := os.MkdirTemp("", "aegis-")
		if err != nil {
			return nil, fmt.Errorf("private temporary directory: %w", err)
		}
		l.tmp = dir
		real, err := realPath(dir)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("private temporary directory: %w", err), l.Close())
		}
		prof.Grants = append(prof.Grants[:len(prof.Grants):len(prof.Grants)], Grant{Path: real, Tree: true, Rights: Read | Write})
		for _, name := range tmpNames {
			env = append(env[:len(env):len(env)], name+"="+real)
		}
	}
	encoded, err := prof.encode()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if l.read, l.told, err = os.Pipe(); err != nil {
		return nil, errors.Join(fmt.Errorf("confinement report: %w", err), l.Close())
	}
	// The image that runs now, even if its file has been replaced since.
	cmd.Path = "/proc/self/exe"
	cmd.Args = append([]string{"aegis", HelperCommand, "--"}, p.argv...)
	cmd.Env = append(env[:len(env):len(env)], profileName+"="+encoded)
	cmd.Dir = p.dir
	cmd.ExtraFiles = append(cmd.ExtraFiles, l.told)
	return l, nil
}

// maxReport bounds what is read of the helper's report.
const maxReport = 4 << 20

// Await reads, after cmd.Start, what the helper tells, and returns when the server's
// program runs or will not. The Report is nil only if the helper told none. The
// error is a *[RefusedError] or an *[ExecError], or says that the helper ended
// before it could tell.
func (l *Launch) Await() (*Report, error) {
	l.told.Close()
	l.told = nil
	lines := bufio.NewScanner(io.LimitReader(l.read, maxReport))
	lines.Buffer(nil, maxReport)
	var r *Report
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return r, fmt.Errorf("the confinement helper's report cannot be read: %w", err)
		}
		switch {
		case m.Facts != nil:
			r = newReport(l.plan, m.Facts)
		case m.Refused != nil:
			return r, &RefusedError{Why: m.Refused}
		case m.Failed != nil:
			err := &ExecError{Path: m.Failed.Path, Err: syscall.Errno(m.Failed.Errno)}
			err.Hint = l.plan.execHint(err)
			return r, err
		}
	}
	if err := lines.Err(); err != nil {
		return r, fmt.Errorf("the confinement helper's report: %w", err)
	}
	if r == nil {
		return nil, errors.New("the confinement helper ended before it reported")
	}
	r.Started = true
	return r, nil
}

// Close gives back what the launch holds: the pipe, and the private temporary
// directory with all that is in it. It may be called more than once.
func (l *Launch) Close() error {
	for _, f := range []**os.File{&l.read, &l.told} {
		if *f != nil {
			(*f).Close()
			*f = nil
		}
	}
	if l.tmp == "" {
		return nil
	}
	if err := removeTree(l.tmp); err != nil {
		return fmt.Errorf("private temporary directory %s is left: %w", l.tmp, cause(err))
	}
	l.tmp = ""
	return nil
}
