package policy

import (
	"fmt"

	"github.com/aegis-aar/aegis/derive"
)

// pathRule is filesystem_write or filesystem_read. Without allow_paths no path
// is allowed. A deny is blind to case, since the file system may be; an allow
// is exact.
type pathRule struct {
	allow, deny []glob
	given       bool // allow_paths
}

type glob struct {
	text string
	derive.Glob
}

func newPathRule(m *section, fail failFunc) *pathRule {
	r := &pathRule{}
	_, r.given = m.values["allow_paths"]
	r.allow, r.deny = globs(m, "allow_paths", fail), globs(m, "deny_paths", fail)
	return r
}

func globs(m *section, key string, fail failFunc) []glob {
	var out []glob
	for _, e := range m.values[key].list {
		g, err := derive.ParseGlob(e.text)
		if err != nil {
			fail(e, e.text, "%s in `%s`: %s", quoted(e.text), key, err)
			continue
		}
		out = append(out, glob{e.text, g})
	}
	return out
}

func (r *pathRule) judge(p *derive.Param) finding {
	path := &p.Path
	if f := r.denies(path.Clean); f.denied {
		return f
	}
	if path.Resolved == derive.AtDecision {
		// A denied name stays denied wherever it leads.
		if f := r.denies(derive.ReadPath(path.Raw).Clean); f.denied {
			return f
		}
	}
	if !r.given {
		return denied(CodeFSDeny, "allow_paths", fmt.Sprintf("path %s is not allowed: there is no allow_paths", shown(path.Clean)))
	}
	for i := range r.allow {
		if r.allow[i].Match(path.Clean) {
			return allowed()
		}
	}
	return denied(CodeFSDeny, "allow_paths", fmt.Sprintf("path %s is not in allow_paths", shown(path.Clean)))
}

func (r *pathRule) denies(clean string) finding {
	for i := range r.deny {
		if g := &r.deny[i]; g.MatchFold(clean) {
			f := denied(CodeFSDeny, "deny_paths", fmt.Sprintf("path %s matches deny_paths %s", shown(clean), quoted(g.text)))
			f.entry = g.text
			return f
		}
	}
	return allowed()
}

// literal judges a path that is a plain name here and something else elsewhere,
// such as ~/notes: deny_paths has it as it would be read elsewhere, allow_paths
// only letter for letter.
func (r *pathRule) literal(p *derive.Param) finding {
	if f := r.denies(p.Path.Clean); f.denied {
		return f
	}
	for i := range r.allow {
		if p.Path.AsWritten(r.allow[i].text) {
			return allowed()
		}
	}
	return denied(CodeArgAmbiguous, "", ambiguous(p))
}
