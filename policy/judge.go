package policy

import (
	"fmt"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/internal/shape"
)

// Judgement is what the argument half says of one Call.
type Judgement struct {
	// Params are the derived parameters, in argument order.
	Params derive.Params
	// Findings has one entry for each parameter, up to the first refusal where
	// the answer is all that counts; see [Set.Judge].
	Findings []Finding
	// Denied is the first refusal among them; nil if there is none.
	Denied *Finding
	// Notes are the codes of what is to be said though nothing is refused.
	Notes []Code
}

// Finding is the verdict on one derived parameter.
type Finding struct {
	Shape  string // its key in a policy file: filesystem_write, …
	Arg    string // JSON pointer of the argument; "" if none supplied the shape
	Denied bool
	Code   Code   // of a refusal or a note
	Reason string // of a refusal; names the value, what looks like a secret redacted
	Rule   string // `tools.<tool>.<shape>` or `defaults.<shape>`
	Line   int    // where that stands; 0 for what is built in
	Key    string // the constraint that decides; "" if none can change the answer
	Entry  string // the entry of it that decides, if one does
}

// HasArguments reports whether the Set has an argument half: whether the file
// has one of `defaults`, `tools` and `bindings`.
func (s *Set) HasArguments() bool { return s.arguments != nil }

// Judge decides what a Call would touch by the argument half, with a verdict on
// every parameter. surface is the lock in force, nil without one. A Set without
// an argument half refuses nothing and derives nothing.
//
// It is pure, but for paths under `resolve: true`.
func (s *Set) Judge(req Request, surface *Surface) Judgement {
	if s.arguments == nil {
		return Judgement{}
	}
	return s.arguments.judge(req, surface, true)
}

// judge decides; unless all is set it stops at the first refusal.
func (h *argumentHalf) judge(req Request, surface *Surface, all bool) Judgement {
	t := h.of(req.Tool)
	plan, fault := t.planFor(req.Tool, surface)
	params, found := derive.Call(req.Tool, req.Arguments, plan)
	j := Judgement{Params: params}
	if fault != nil {
		fault.Rule, fault.Line = "bindings."+aar.BoundedName(req.Tool), t.binding.hashLine
		j.add(*fault)
		if !all {
			return j
		}
	}
	for i := range params {
		f := t.finding(&params[i])
		j.add(f)
		if f.Denied && !all {
			break
		}
	}
	if found == 0 && len(params) == 0 {
		j.Notes = append(j.Notes, NoteUnmatched)
	}
	return j
}

func (j *Judgement) add(f Finding) {
	j.Findings = append(j.Findings, f)
	switch {
	case f.Denied && j.Denied == nil:
		denial := f
		j.Denied = &denial
	case !f.Denied && f.Code != "":
		for _, n := range j.Notes {
			if n == f.Code {
				return
			}
		}
		j.Notes = append(j.Notes, f.Code)
	}
}

// planFor is how the arguments of a tool are read. A binding that is pinned to
// another schema than the lock has is no binding for this server: it refuses.
func (t *toolRules) planFor(tool string, surface *Surface) (*derive.Plan, *Finding) {
	locked, ok := surface.Tool(tool)
	if !ok {
		return &t.plan, nil
	}
	if b := t.binding; b != nil {
		if b.schemaHash != "" && b.schemaHash != locked.InputSchemaHash {
			return &t.plan, &Finding{Denied: true, Code: CodeArgAmbiguous, Key: "schema_hash",
				Reason: fmt.Sprintf("the binding of %s is pinned to another input schema than the lock has", shown(tool))}
		}
		return &t.plan, nil
	}
	plan := t.plan
	plan.Shapes = derive.Join(plan.Shapes, surface.shapes[tool])
	plan.Known = true
	return &plan, nil
}

// finding judges one parameter.
func (t *toolRules) finding(p *derive.Param) Finding {
	f := Finding{Shape: p.Shape.Key(), Arg: p.Arg, Rule: t.names[p.Shape], Line: t.lines[p.Shape]}
	got := t.verdict(p)
	f.Denied, f.Code, f.Reason, f.Key, f.Entry = got.denied, got.code, got.reason, got.key, got.entry
	return f
}

func (t *toolRules) verdict(p *derive.Param) finding {
	r := t.rules[p.Shape]
	switch r := r.(type) {
	case *commandRule:
		// What is said first is that no command may run at all.
		if p.Fault != derive.Missing || !r.allow {
			return r.judge(p)
		}
	case *pathRule:
		if p.Fault == derive.Ambiguous && p.Path.Literal {
			return r.literal(p)
		}
	case *queryRule:
		if p.Fault == derive.Ambiguous && p.Query.Kinds != nil {
			return r.judge(p)
		}
	}
	switch p.Fault {
	case derive.Missing:
		return denied(CodeArgMissing, "", missing(p))
	case derive.Ambiguous:
		return denied(CodeArgAmbiguous, "", ambiguous(p))
	}
	return r.judge(p)
}

func missing(p *derive.Param) string {
	if p.Arg == "" {
		return "no argument says " + nouns[p.Shape].what
	}
	return fmt.Sprintf("argument %s %s", shown(p.Arg), p.Why)
}

func ambiguous(p *derive.Param) string {
	if p.Arg == "" && p.Path.Raw == "" && p.Query.Kinds == nil {
		return "the arguments cannot be judged: " + p.Why
	}
	return fmt.Sprintf("argument %s: the %s cannot be read one way: %s", shown(p.Arg), nouns[p.Shape].noun, p.Why)
}

var nouns = [shapes]struct{ noun, what string }{
	shape.FilesystemWrite: {"path", "which path is written"},
	shape.FilesystemRead:  {"path", "which path is read"},
	shape.ShellExec:       {"command line", "which command is run"},
	shape.HTTPRequest:     {"host", "which host is asked"},
	shape.SQLQuery:        {"query", "which query is made"},
}
