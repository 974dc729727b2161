package guard

import (
	"errors"
	"sync/atomic"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/interpose"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/trace"
	"github.com/aegis-aar/aegis/internal/wire"
)

// The rules of what is no result.
const (
	driftRules     = "WRD-DRIFT-"
	ruleUnapproved = "WRD-DRIFT-UNAPPROVED-CHANGE"
	ruleFrameError = inspect.RuleFrameError
)

// Guard inspects what a server answers, and tells what it and the decisions on
// calls have found. It implements [interpose.Inspector]. It is safe for use by
// the two directions of a session.
type Guard struct {
	catalog *inspect.Catalog
	posture Posture
	acts    inspect.Posture
	surface Surface // nil without a lock
	sinks   *report.Sinks
	frames  atomic.Int64
	dropped atomic.Int64 // findings beyond what a report keeps
}

// New returns a Guard over a catalog. The surface may be nil.
func New(catalog *inspect.Catalog, p Posture, s Surface, sinks *report.Sinks) *Guard {
	return &Guard{catalog: catalog, posture: p, acts: p.inspection(), surface: s, sinks: sinks}
}

// Frames is how many answers were inspected.
func (g *Guard) Frames() int64 { return g.frames.Load() }

// Dropped is how many findings were too many in one answer to be told one by one.
func (g *Guard) Dropped() int64 { return g.dropped.Load() }

// Inspect implements [interpose.Inspector].
func (g *Guard) Inspect(a interpose.Answer) (r interpose.Ruling) {
	defer func() {
		if p := recover(); p != nil {
			// What p holds may be text of the result: it is not told.
			r = g.fault(a, "a fault in the inspection")
		}
	}()
	call := a.Request == nil || a.Request.Method == wire.MethodCall
	list := g.surface != nil && (a.Request == nil && mayList(a) || a.Request != nil && a.Request.Method == wire.MethodList)
	if !call && !list {
		return interpose.Ruling{}
	}
	g.frames.Add(1)
	if list {
		// If it may be both, a client pairs by looser ids than we do, or takes a
		// second answer.
		if r := g.page(a); !call || r.Instead != nil || r.Fault != nil {
			return r
		}
	}
	return g.result(a)
}

// result inspects what answers a tools/call, or may.
func (g *Guard) result(a interpose.Answer) interpose.Ruling {
	tool := ""
	var declared inspect.Declaration
	if a.Request != nil {
		tool = a.Request.Tool
		if g.surface != nil {
			declared = g.surface.Declaration(tool)
		}
	}
	acts := g.acts
	acts.AuditOnly = acts.AuditOnly || a.Stray
	rep := g.catalog.Inspect(a.Raw, declared, acts)
	g.dropped.Add(int64(rep.Dropped))
	var r interpose.Ruling
	for i := range rep.Findings {
		f := &rep.Findings[i]
		r.Findings = append(r.Findings, aar.Finding{Rule: f.RuleID, Action: string(f.Action)})
		g.sinks.Report(ResultFinding(f, a.ID, tool))
	}
	switch {
	case rep.Fault != nil:
		r.Fault = errInspection
	case rep.Block != nil:
		r.Instead, r.Refused = appendError(nil, a.ID, codeBlocked, blockedResult, block{stageResponse, rep.Block.RuleID, tool, reasonOf(rep.Block)}), true
	case rep.Rewritten != nil:
		r.Instead = rep.Rewritten
	}
	return r
}

// reasonOf is what a block says of the finding it names.
func reasonOf(f *inspect.Finding) string {
	if f.Snippet == "" {
		return f.Message
	}
	return f.Message + " [" + f.Snippet + "]"
}

// errInspection says that a frame could not be inspected, and nothing of the frame.
var errInspection = errors.New("a frame could not be inspected")

const blockedResult = "aegis guard: tools/call result blocked by inspection"

// fault is the ruling on an answer that could not be inspected.
func (g *Guard) fault(a interpose.Answer, what string) interpose.Ruling {
	f := report.Finding{
		RuleID: ruleFrameError, Severity: report.Low, Tier: "note", Action: report.Passed,
		Direction: string(trace.Server), RPCID: rpcID(a.ID), Message: what + "; the frame was not inspected",
	}
	if a.Request != nil {
		f.Tool = a.Request.Tool
	}
	g.sinks.Report(f)
	return interpose.Ruling{
		Findings: []aar.Finding{{Rule: ruleFrameError, Action: string(report.Passed)}},
		Fault:    errInspection,
	}
}

// OverCap implements [interpose.Inspector].
func (g *Guard) OverCap(from interpose.Side) {
	g.sinks.Report(report.Finding{
		RuleID: ruleFrameError, Severity: report.Low, Tier: "note", Action: report.Passed,
		Direction: string(direction(from)), Message: "a frame over the cap was not inspected",
	})
}
