package confine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/report"
)

// Level sums a Report up.
type Level string

// The three levels. They are about controls, not about grants: a server that was
// granted everything is confined in full to everything.
const (
	LevelFull    Level = "full"    // every control is enforced
	LevelPartial Level = "partial" // some are
	LevelNone    Level = "none"    // neither files nor network are
)

// Report says what the kernel enforces on a server, not what was asked for.
type Report struct {
	// The first four members are those of the confinement report that other
	// implementations of the format write beside the record.
	LandlockABI           int  `json:"landlock_abi"`
	LandlockFullyEnforced bool `json:"landlock_fully_enforced"`
	SeccompApplied        bool `json:"seccomp_applied"`
	SeccompNetworkDenied  bool `json:"seccomp_network_denied"`

	Level Level `json:"level"`
	// Started tells that the server's program was executed.
	Started    bool          `json:"started"`
	BestEffort bool          `json:"best_effort"`
	Controls   []Control     `json:"controls"`
	Landlock   LandlockFacts `json:"landlock"`
	PlanDigest string        `json:"plan_digest"`
	Plan       *Plan         `json:"plan"`
}

// newReport judges what the helper met.
func newReport(p *Plan, f *facts) *Report {
	r := &Report{
		LandlockABI: f.Landlock.ABI, SeccompApplied: f.Seccomp == "", SeccompNetworkDenied: f.Seccomp == "",
		LandlockFullyEnforced: f.Landlock.filesFault() == "" && len(f.Landlock.Missing) == 0,
		BestEffort:            p.BestEffort, Controls: f.controls(), Landlock: f.Landlock, PlanDigest: p.Digest(), Plan: p,
	}
	r.Level = levelOf(r.Controls)
	if r.Level == LevelFull && len(f.Landlock.Missing) > 0 {
		r.Level = LevelPartial
	}
	return r
}

func levelOf(controls []Control) Level {
	level, files, network := LevelFull, false, false
	for _, c := range controls {
		if !c.Enforced {
			level = LevelPartial
		}
		files = files || c.Name == ControlFiles && c.Enforced
		network = network || c.Name == ControlNetwork && c.Enforced
	}
	if !files && !network {
		return LevelNone
	}
	return level
}

// JSON is the Report as it is written to a file: one line without its end.
func (r *Report) JSON() []byte {
	text, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		panic("a Report holds only text, numbers and truth values: " + err.Error())
	}
	return text
}

// EnforcedPath is where the Report of a session lies whose record is audit.
func EnforcedPath(audit string) string { return audit + ".enforced.json" }

// WriteFile writes the Report to path, 0600, whole or not at all. What is there and
// is no regular file, a pipe or a terminal, is written to and stays what it is.
func (r *Report) WriteFile(path string) error {
	write := r.replaceFile
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		write = r.writeTo
	}
	if err := write(path); err != nil {
		return fmt.Errorf("confinement report %s: %w", path, cause(err))
	}
	return nil
}

func (r *Report) writeTo(path string) error {
	f, err := report.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(append(r.JSON(), '\n'))
	return errors.Join(err, f.Close())
}

func (r *Report) replaceFile(path string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(r.JSON())
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// Banner tells a person what is in force, one line for the whole and one for
// every control that is not, each beginning with prefix. Of a server that was not
// started it tells only the latter.
func (r *Report) Banner(w io.Writer, prefix string) {
	switch {
	case !r.Started:
	case r.Level == LevelFull:
		fmt.Fprintf(w, "%s: the server is confined (full: Landlock ABI %d, seccomp; network denied)\n", prefix, r.LandlockABI)
	case r.Level == LevelPartial:
		fmt.Fprintf(w, "%s: the server is confined in part%s\n", prefix, r.because())
	default:
		fmt.Fprintf(w, "%s: THE SERVER IS NOT CONFINED%s\n", prefix, r.because())
	}
	for _, c := range r.Controls {
		switch {
		case !c.Enforced:
			fmt.Fprintf(w, "%s:   %s: not enforced: %s\n", prefix, c.Name, report.SafeText(c.Why))
		case c.Why != "":
			fmt.Fprintf(w, "%s:   %s: %s\n", prefix, c.Name, report.SafeText(c.Why))
		}
	}
}

func (r *Report) because() string {
	if r.BestEffort {
		return " (--best-effort)"
	}
	return ""
}

// Record is the Report as the close line of a record holds it.
func (r *Report) Record() *aar.Confinement {
	c := r.Brief()
	c.LandlockABI = uint64(r.LandlockABI)
	c.PlanDigest = r.PlanDigest
	for _, control := range r.Controls {
		c.Controls = append(c.Controls, aar.Control{
			Name: control.Name, Requested: control.Requested, Enforced: control.Enforced, Why: control.Why,
		})
	}
	return c
}

// Brief is the Report as every outcome holds it.
func (r *Report) Brief() *aar.Confinement {
	return &aar.Confinement{Level: string(r.Level), BestEffort: r.BestEffort}
}

// An UnsupportedError says that this machine cannot confine at all.
type UnsupportedError struct{ System string }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("confinement needs Linux with Landlock and seccomp, on amd64 or arm64; this is %s. Leave --confine out to run unconfined", e.System)
}

// Supported is nil where a Plan can be enforced by the right kernel, else an
// *[UnsupportedError]. What the kernel at hand can do is in the [Report].
func Supported() error {
	if runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		return nil
	}
	return unsupported()
}

func unsupported() error { return &UnsupportedError{runtime.GOOS + "/" + runtime.GOARCH} }

// A RefusedError says what the kernel did not enforce. The server was not started.
type RefusedError struct{ Why []string }

func (e *RefusedError) Error() string {
	return "the confinement that was asked for cannot be enforced, so the server was not started: " +
		strings.Join(e.Why, "; ") + " (--best-effort starts it with what can be enforced)"
}

// An ExecError says that the confined helper could not execute the server.
type ExecError struct {
	Path string
	Err  error
	Hint string // what to grant, "" if that is not it
}

func (e *ExecError) Error() string {
	text := fmt.Sprintf("could not start %s: %v", e.Path, e.Err)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

func (e *ExecError) Unwrap() error { return e.Err }

// Cause is CauseDenied if the server could not be executed for want of a grant.
func (e *ExecError) Cause() Cause {
	if errors.Is(e.Err, syscall.EACCES) {
		return CauseDenied
	}
	return CauseNone
}
