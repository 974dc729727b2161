package policy

import (
	"strings"

	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/internal/shape"
)

// ToolSurface is what a lock says of one tool.
type ToolSurface struct {
	Name         string
	Capabilities []string // as in a lock: fs-write, fs-read, shell-exec, http-request, sql-query
	// Properties are the properties of its input schema.
	Properties []Property
	// InputSchemaHash is `sha256:` and 64 hex digits.
	InputSchemaHash string
}

// Property is one property of an input schema.
type Property struct {
	// Path is dotted, the items of a list are `[]`: options.files[].path.
	Path string
	// Types are the JSON types it may have; none if the schema does not say.
	Types []string
}

// Surface is the tools of a lock.
type Surface struct {
	tools  map[string]ToolSurface
	shapes map[string]shape.Set
}

// NewSurface returns the surface that tools make up. Of two tools of one name
// the last counts.
func NewSurface(tools []ToolSurface) *Surface {
	s := &Surface{tools: make(map[string]ToolSurface, len(tools)), shapes: make(map[string]shape.Set, len(tools))}
	for _, t := range tools {
		s.tools[t.Name], s.shapes[t.Name] = t, t.Shapes()
	}
	return s
}

// Tool is what the lock says of a tool; ok is false if it does not have it. A
// nil Surface has none.
func (s *Surface) Tool(name string) (t ToolSurface, ok bool) {
	if s == nil {
		return t, false
	}
	t, ok = s.tools[name]
	return t, ok
}

// Shapes are those of the tool: the capabilities of the lock, and what the
// names of the declared properties say to a policy, which knows more names than
// a lock may.
func (t *ToolSurface) Shapes() shape.Set {
	var set shape.Set
	for _, c := range t.Capabilities {
		if s, ok := shape.ByCapability(c); ok {
			set = set.With(s)
		}
	}
	var props []shape.Property
	for _, p := range t.Properties {
		if name := p.name(); name != "" {
			props = append(props, shape.Property{Name: name, Text: p.text()})
		}
	}
	return derive.Join(set, shape.Recognise(t.Name, props))
}

// name is the member that a property's value is called by.
func (p *Property) name() string {
	steps := strings.Split(strings.ReplaceAll(p.Path, "[]", ""), ".")
	name := steps[len(steps)-1]
	if name == "$root" {
		return ""
	}
	return name
}

// text reports whether the value may be a text, or a list of texts.
func (p *Property) text() bool {
	if len(p.Types) == 0 {
		return true
	}
	for _, t := range p.Types {
		if t == "string" {
			return true
		}
	}
	return false
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer is where the property stands, as a policy names it: a JSON pointer
// without indices; "" for the arguments as a whole.
func (p *Property) pointer() string {
	path := strings.ReplaceAll(p.Path, "[]", "")
	if path == "$root" || path == "" {
		return ""
	}
	out := ""
	for step := range strings.SplitSeq(path, ".") {
		out += "/" + pointerEscapes.Replace(step)
	}
	return out
}
