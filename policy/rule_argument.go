package policy

import (
	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/internal/secret"
	"github.com/aegis-aar/aegis/internal/shape"
)

// rule judges the parameters of one shape.
type rule interface {
	// judge decides on a parameter that has a value; see [toolRules.verdict].
	judge(p *derive.Param) finding
}

// finding is what a rule says of one parameter.
type finding struct {
	code   Code // of a refusal, or a note; "" for neither
	denied bool
	reason string // of a refusal
	key    string // the constraint that decides
	entry  string // and the entry of it, if it is one
}

func allowed() finding { return finding{} }

func denied(code Code, key, reason string) finding {
	return finding{code: code, denied: true, key: key, reason: reason}
}

// failFunc tells a fault of an entry of a constraint.
type failFunc func(e entry, key, format string, a ...any)

// newRule settles the constraints of m. A nil fail says that they were read
// without a fault before.
func newRule(s shape.Shape, m *section, fail failFunc) rule {
	if fail == nil {
		fail = func(entry, string, string, ...any) {}
	}
	switch s {
	case shape.ShellExec:
		return newCommandRule(m)
	case shape.HTTPRequest:
		return newHostRule(m, fail)
	case shape.SQLQuery:
		return newQueryRule(m, fail)
	}
	return newPathRule(m, fail)
}

// shown is a value from a call as a reason may name it: what looks like a
// secret redacted, control characters escaped, cut where it is long.
func shown(s string) string {
	clean, _ := secret.RedactAll(s)
	return quoted(clean)
}
