package guard

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/interpose"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/trace"
)

// Surface is the lock in force.
type Surface interface {
	// Declaration is what the lock says of a tool's results.
	Declaration(tool string) inspect.Declaration
	// Page judges the result of a tools/list, of which cursor is the JSON text of
	// params.cursor, empty on the first page. It returns nothing if the page is
	// as pinned.
	Page(result []byte, cursor string) ([]Drift, error)
}

// Drift is one fact in which a server's surface differs from the lock.
type Drift struct {
	Rule     string // WRD-DRIFT-…
	Class    string // tool-added
	Severity string
	Target   string // tools/NAME
	Message  string
}

// page judges a page of the list of tools. Each page that differs is replaced,
// each time it comes. (G4; guard contract, section 7.3)
func (g *Guard) page(a interpose.Answer) interpose.Ruling {
	drifts := []Drift{{Rule: ruleUnapproved, Class: "unapproved-change", Severity: report.High, Target: "tools", Message: "the list cannot be read one way only"}}
	if a.Exact {
		result := member(a.Raw, "result")
		if result == nil {
			return interpose.Ruling{} // an error shows nobody a tool
		}
		var err error
		if drifts, err = g.surface.Page(result, cursorOf(a)); err != nil {
			return g.fault(a, "a fault in the comparison with the lock")
		}
	}
	if len(drifts) == 0 {
		return interpose.Ruling{}
	}
	blocks := g.posture.Blocks(ListChanged)
	action := report.Shadowed
	if blocks {
		action = report.Blocked
	}
	var r interpose.Ruling
	for _, d := range drifts {
		g.sinks.Report(report.Finding{
			Kind: "drift", RuleID: d.Rule, Severity: d.Severity, Tier: "block", Action: action,
			Direction: string(trace.Server), RPCID: rpcID(a.ID), Message: d.Message, DriftClass: d.Class, Target: d.Target,
		})
		r.Findings = append(r.Findings, aar.Finding{Rule: d.Rule, Action: string(action)})
	}
	if blocks {
		d := drifts[0]
		r.Instead = appendError(nil, a.ID, codeBlocked, "aegis guard: tools/list result blocked by the lock",
			block{stage: stageList, rule: d.Rule, reason: "tool surface diverged from warden.lock: " + d.Message})
		r.Refused = true
	}
	return r
}

// cursorOf is the cursor that a page was asked for by. Without a request it is
// one that no walk has: what such a page lacks says nothing.
func cursorOf(a interpose.Answer) string {
	if a.Request == nil {
		return `"\u0000 nobody asked"`
	}
	return a.Request.Cursor
}

// mayList tells whether some client could read a list of tools in an answer that
// is none to any request we know of.
func mayList(a interpose.Answer) bool {
	switch {
	case a.Stray:
		return false
	case !a.Exact:
		return bytes.Contains(bytes.ToLower(a.Raw), []byte("tools")) || bytes.Contains(a.Raw, []byte(`\u`))
	}
	d := jsontext.NewDecoder(bytes.NewReader(member(a.Raw, "result")))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return true
		}
		if strings.EqualFold(name.String(), "tools") {
			return true
		}
		if d.SkipValue() != nil {
			return true
		}
	}
	return false
}

// member is the JSON text of a member of an object that was read strictly.
func member(object []byte, name string) []byte {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return nil
		}
		wanted := key.String() == name
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		if wanted {
			return value.Clone()
		}
	}
	return nil
}
