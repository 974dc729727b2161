package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/internal/secret"
	"github.com/aegis-aar/aegis/internal/shape"
)

// explain turns x to the argument half, which refuses req: an edit for every
// refusal of it, and those that the rules need then.
func (h *argumentHalf) explain(req Request, x *Explanation) {
	t := h.of(req.Tool)
	x.Line = x.Judgement.Denied.Line
	x.Outranked = nil
	then, ruleEdits := x.Match.Action, x.Edits
	x.Edits, x.Narrower, x.Then = nil, nil, Deny
	for i, f := range x.Judgement.Findings {
		if !f.Denied {
			continue
		}
		e, ok := h.edit(req.Tool, t, &f, &x.Judgement.Params[i])
		if !ok {
			x.Edits = nil
			return // nothing in the file makes this argument lawful
		}
		if !slices.Contains(x.Edits, e) {
			x.Edits = append(x.Edits, e)
		}
	}
	x.Then = then
	if then == Deny {
		x.Edits, x.Then = append(x.Edits, ruleEdits...), Allow
	}
}

// edit is the change of the file that has one parameter allowed, if there is one.
func (h *argumentHalf) edit(tool string, t *toolRules, f *Finding, p *derive.Param) (Edit, bool) {
	switch f.Key {
	case "deny_paths", "deny_cidrs":
		if e, ok := h.entryOf(tool, p.Shape, f.Key, f.Entry); ok {
			return Edit{Line: e.line, Rule: f.Rule, Old: e.text}, true
		}
	case "deny_statements":
		if e, ok := h.entryOf(tool, p.Shape, f.Key, f.Entry); ok {
			return Edit{Line: e.line, Rule: f.Rule, Old: e.text}, true
		}
		rest := slices.DeleteFunc(slices.Clone(defaultDenyStatements), func(s string) bool { return s == f.Entry })
		return h.add(tool, t, p.Shape, "deny_statements: ["+strings.Join(rest, ", ")+"]"), true
	case "allow_paths":
		return h.allow(tool, t, p.Shape, f.Key, p.Path.Clean)
	case "allow_commands":
		return h.allow(tool, t, p.Shape, f.Key, p.Command.Words[0])
	case "allow_hosts", "allow_unresolved":
		if p.Host() != p.Target.Host {
			return Edit{}, false
		}
		return h.allow(tool, t, p.Shape, "allow_hosts", p.Target.Host)
	case "deny_private":
		if a := p.Target.Addr; a.IsValid() {
			return h.allow(tool, t, p.Shape, "allow_cidrs", fmt.Sprintf("%s/%d", a.WithZone(""), a.BitLen()))
		}
	case "allow":
		return h.set(tool, t, p.Shape, "allow", "true"), true
	case "allow_readonly_only":
		return h.set(tool, t, p.Shape, "allow_readonly_only", "false"), true
	}
	return Edit{}, false
}

// valueOf is a constraint of a tool, from its own section or the defaults.
func (h *argumentHalf) valueOf(tool string, s shape.Shape, key string) (value, bool) {
	if t := h.tools[tool]; t != nil && t.sections[s] != nil {
		if v, ok := t.sections[s].values[key]; ok {
			return v, true
		}
	}
	if sec := h.defaults[s]; sec != nil {
		v, ok := sec.values[key]
		return v, ok
	}
	return value{}, false
}

func (h *argumentHalf) entryOf(tool string, s shape.Shape, key, text string) (entry, bool) {
	v, _ := h.valueOf(tool, s, key)
	for _, e := range v.list {
		if strings.EqualFold(e.text, text) {
			return e, true
		}
	}
	return entry{}, false
}

// allow adds an entry to a list, or the list. What looks like a secret is not
// suggested.
func (h *argumentHalf) allow(tool string, t *toolRules, s shape.Shape, key, text string) (Edit, bool) {
	if _, hit := secret.RedactAll(text); hit {
		return Edit{}, false
	}
	v, ok := h.valueOf(tool, s, key)
	if !ok {
		return h.add(tool, t, s, key+": ["+yamlText(text)+"]"), true
	}
	var list []string
	for _, e := range v.list {
		list = append(list, yamlText(e.text))
	}
	old := strings.Join(list, ", ")
	return Edit{Line: v.line, Rule: t.names[s], Old: key + ": [" + old + "]", New: key + ": [" + strings.Join(append(list, yamlText(text)), ", ") + "]"}, true
}

// set gives a constraint another value.
func (h *argumentHalf) set(tool string, t *toolRules, s shape.Shape, key, to string) Edit {
	if v, ok := h.valueOf(tool, s, key); ok {
		return Edit{Line: v.line, Rule: t.names[s], Old: fmt.Sprintf("%s: %t", key, v.flag), New: key + ": " + to}
	}
	return h.add(tool, t, s, key+": "+to)
}

// add adds a constraint, with what must stand around it where there is nothing.
func (h *argumentHalf) add(tool string, t *toolRules, s shape.Shape, constraint string) Edit {
	if t.lines[s] > 0 {
		return Edit{Line: t.lines[s], Rule: t.names[s], New: constraint}
	}
	section := yamlText(tool) + ": {" + s.Key() + ": {" + constraint + "}}"
	if own := h.tools[tool]; own != nil {
		return Edit{Line: own.line, New: s.Key() + ": {" + constraint + "}"}
	}
	if h.toolsLine > 0 {
		return Edit{Line: h.toolsLine, New: section}
	}
	return Edit{New: "tools: {" + section + "}"}
}
