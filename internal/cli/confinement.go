package cli

import (
	"errors"
	"os/exec"
	"sync"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/internal/interpose"
	"github.com/aegis-aar/aegis/internal/report"
)

// confinement contains the server of one session. It implements
// [interpose.Confiner].
type confinement struct {
	plan     *confine.Plan
	enforced func(*confine.Report) error // tells people
	launch   *confine.Launch
	report   *confine.Report

	mu   sync.Mutex
	tail confine.Tail // of the server's stderr
}

// Write implements [io.Writer] for the server's stderr, which may still come
// while the record is closed.
func (c *confinement) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tail.Write(b)
}

// Prepare implements [interpose.Confiner].
func (c *confinement) Prepare(cmd *exec.Cmd) (err error) {
	c.launch, err = c.plan.Prepare(cmd)
	return err
}

// Await implements [interpose.Confiner].
func (c *confinement) Await() (*aar.Confinement, error) {
	r, err := c.launch.Await()
	if c.report = r; r == nil {
		return nil, err
	}
	// A server that was not started leaves its report too.
	if err := errors.Join(err, c.enforced(r)); err != nil {
		return nil, err
	}
	return r.Brief(), nil
}

// ended is what the close Line says of the confinement, and a hint for people if
// it had to do with the end of the server.
func (c *confinement) ended(exit interpose.Exit, err error) (closing *aar.Confinement, hint string) {
	if c.report == nil {
		return nil, ""
	}
	closing = c.report.Record()
	if err != nil {
		if failed, ok := errors.AsType[*confine.ExecError](err); ok {
			closing.Cause = string(failed.Cause()) // the error says what to grant
		}
		return closing, ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.plan.Ended(exit.Code, exit.Number, c.tail.Bytes())
	closing.Cause = string(end.Cause)
	return closing, end.Hint
}

// explainPlan prints what would be granted, and starts nothing.
func explainPlan(s streams, cmd *cobra.Command, f *relayFlags, argv []string, files []confine.Protected, asJSON bool) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	plan, err := f.plan(argv, files)
	if err != nil {
		return err
	}
	return explained(s.out, plan, asJSON)
}

// confine arms the relay with the plan, if there is one. The record is open.
func (r *relay) confine(f *confineFlags, plan *confine.Plan) {
	if plan == nil {
		return
	}
	c := &confinement{plan: plan, enforced: func(rep *confine.Report) error {
		return f.enforced(rep, r.recordPath, r.notes, "aegis "+r.cfg.Voice.Name())
	}}
	r.confined = c
	r.cfg.Confiner, r.cfg.StderrTap = c, c
}

// unconfined warns of a server that can do what we can.
func (r *relay) unconfined(key string) {
	if r.confined != nil || key == "" {
		return
	}
	r.note("the server runs unconfined: it can read the signing key and write to the record as you can")
}

// closeRecord ends the record with how the server ended.
func (r *relay) closeRecord(exit interpose.Exit, err error) {
	end := aar.Close{Child: childExit(exit, err)}
	if r.confined != nil {
		var hint string
		if end.Confinement, hint = r.confined.ended(exit, err); hint != "" {
			r.note("the server ended because of its confinement, it seems: %s", report.SafeText(hint))
		}
	}
	if r.writer == nil {
		return
	}
	if err := r.writer.Close(end); err != nil {
		r.note("the record has no orderly end: %v", err)
	}
}
