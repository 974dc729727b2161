package policy

import (
	"slices"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/internal/shape"
)

// evaluator is the version of what is built in: the shapes and their names, the
// denied ranges, the readings of paths, commands, hosts and statements. It is
// part of the policy_set_hash, and moves whenever one of them changes a verdict.
const evaluator = "1"

// shapes is how many shapes there are.
const shapes = int(shape.SQLQuery) + 1

// argumentHalf is `defaults`, `tools` and `bindings` of a policy file.
type argumentHalf struct {
	line      int // of the first of the three keys
	toolsLine int // of `tools`; 0 without it
	defaults  sections
	tools     map[string]*toolSections
	bindings  map[string]*binding

	base  *toolRules            // of a tool that is not named
	named map[string]*toolRules // of the others
}

// sections are the constraints of one place, by shape; nil where none stand.
type sections [shapes]*section

type toolSections struct {
	line int
	sections
}

// section is what stands under one shape, as written.
type section struct {
	line   int
	values map[string]value
}

// value is one constraint: a boolean, a text or a list.
type value struct {
	kind   keyKind
	line   int // of the key
	column int // of the value
	flag   bool
	text   string
	list   []entry
}

// entry is one element of a list.
type entry struct {
	text         string
	line, column int
}

func (v value) texts() []string {
	out := make([]string, len(v.list))
	for i, e := range v.list {
		out[i] = e.text
	}
	return out
}

type keyKind uint8

const (
	flagKey keyKind = iota
	textKey
	listKey
)

type constraintKey struct {
	name string
	kind keyKind
}

var pathKeys = []constraintKey{{"allow_paths", listKey}, {"deny_paths", listKey}, {"path_arg", textKey}, {"resolve", flagKey}}

// constraintKeys are the constraints of each shape, in the order of the documentation.
var constraintKeys = [shapes][]constraintKey{
	shape.FilesystemWrite: pathKeys,
	shape.FilesystemRead:  pathKeys,
	shape.ShellExec:       {{"allow", flagKey}, {"allow_commands", listKey}, {"command_arg", textKey}},
	shape.HTTPRequest: {{"allow_hosts", listKey}, {"deny_cidrs", listKey}, {"deny_private", flagKey}, {"allow_cidrs", listKey},
		{"allow_unresolved", flagKey}, {"url_arg", textKey}},
	shape.SQLQuery: {{"deny_statements", listKey}, {"allow_readonly_only", flagKey}, {"dialect", textKey}, {"query_arg", textKey}},
}

// argKeys name the argument that supplies each shape.
var argKeys = [shapes]string{"path_arg", "path_arg", "command_arg", "url_arg", "query_arg"}

// merged is what holds of two sections for a tool: each key as the tool gives
// it, or else as the defaults do. A list of the tool's stands in the place of
// the defaults', it is not added to it. Either may be nil.
func merged(defaults, tool *section) *section {
	switch {
	case tool == nil:
		return defaults
	case defaults == nil:
		return tool
	}
	m := &section{line: tool.line, values: make(map[string]value, len(defaults.values)+len(tool.values))}
	for k, v := range defaults.values {
		m.values[k] = v
	}
	for k, v := range tool.values {
		m.values[k] = v
	}
	return m
}

// toolRules are the rules one tool is judged by, and how its arguments are read.
type toolRules struct {
	plan    derive.Plan
	rules   [shapes]rule
	names   [shapes]string // matched_rule
	lines   [shapes]int    // where each stands; 0 for what is built in
	binding *binding
	// armed has the shapes that hold whatever the names of a call say.
	armed shape.Set
}

// compile settles the rules of every tool that is named, and of the rest. It
// needs no other input, so that a decision merges nothing.
func (h *argumentHalf) compile() {
	h.base = h.rulesOf("", nil, nil)
	h.named = make(map[string]*toolRules, len(h.tools)+len(h.bindings))
	for name, t := range h.tools {
		h.named[name] = h.rulesOf(name, &t.sections, h.bindings[name])
	}
	for name, b := range h.bindings {
		if h.named[name] == nil {
			h.named[name] = h.rulesOf(name, nil, b)
		}
	}
}

// compiled is h with its rules settled.
func compiled(h *argumentHalf) *argumentHalf {
	h.compile()
	return h
}

func (h *argumentHalf) rulesOf(tool string, own *sections, b *binding) *toolRules {
	t := &toolRules{binding: b}
	if b != nil {
		t.plan.Binding = &b.plan
		for _, bound := range b.plan.Bound {
			t.armed = t.armed.With(bound.Shape)
		}
	}
	for _, s := range shape.All() {
		m, name := h.defaults[s], "defaults."+s.Key()
		if own != nil && own[s] != nil {
			m, name = merged(h.defaults[s], own[s]), "tools."+aar.BoundedName(tool)+"."+s.Key()
			t.plan.Shapes = t.plan.Shapes.With(s)
		}
		if m == nil {
			m = &section{}
		}
		t.names[s], t.lines[s] = name, m.line
		t.rules[s] = newRule(s, m, nil)
		if arg, ok := m.values[argKeys[s]]; ok {
			t.plan.Named[s] = derive.Pointer(arg.text)
		}
		if m.values["resolve"].flag {
			t.plan.Resolve = t.plan.Resolve.With(s)
		}
	}
	t.plan.Dialect = t.rules[shape.SQLQuery].(*queryRule).dialect
	t.armed |= t.plan.Shapes
	return t
}

// of is what a tool is judged by.
func (h *argumentHalf) of(tool string) *toolRules {
	if t := h.named[tool]; t != nil {
		return t
	}
	return h.base
}

// toolNames lists the tools that the half names, each once, sorted.
func (h *argumentHalf) toolNames() []string {
	names := make([]string, 0, len(h.named))
	for name := range h.named {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
