package policy

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/internal/shape"
)

// binding says which argument of a tool supplies which axis. It has no member
// that could say which paths or hosts are allowed, and must never get one: a
// binding may come from whoever wrote the server, and a mistake in it can only
// name the wrong argument, never widen what is allowed.
type binding struct {
	line       int
	schemaHash string // `sha256:` and 64 hex digits, or "" if it is not pinned
	hashLine   int
	arguments  []boundArgument
	other      []entry
	plan       derive.Binding
}

// boundArgument is one argument as written.
type boundArgument struct {
	arg, axis string
	line      int
}

var (
	bindingKeys  = []string{"schema_hash", "arguments", "other"}
	boundKeys    = []string{"arg", "axis"}
	schemaHashOK = lazyRegexp(`^sha256:[0-9a-f]{64}$`)
	axisTokens   = func() []string {
		var axes []string
		for _, s := range shape.All() {
			axes = append(axes, s.Axis())
		}
		return axes
	}()
)

func (d *document) bindings(f field) map[string]*binding {
	out := make(map[string]*binding)
	d.named(f, "`bindings`", func(name string, v field) {
		if b := d.binding(name, v); b != nil {
			out[name] = b
		}
	})
	return out
}

func (d *document) binding(tool string, v field) *binding {
	before := len(d.errs)
	where := "the binding of " + quoted(tool)
	if v.value.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(v.value.Content); i += 2 {
			if k := v.value.Content[i]; k.Value == "unbound" {
				d.malformed(k, "unbound", "`unbound` is for the cell only: a server process runs with whatever authority it has; list its arguments under `other` instead")
				return nil
			}
		}
	}
	f := d.fields(v.value, where, bindingKeys)
	if f == nil {
		return nil
	}
	b := &binding{line: v.key.Line}
	if h, ok := f["schema_hash"]; ok {
		b.schemaHash, _ = d.text(h)
		b.hashLine = h.value.Line
		if len(d.errs) == before && !schemaHashOK().MatchString(b.schemaHash) {
			d.malformed(h.value, "schema_hash", "`schema_hash` is `sha256:` and 64 lower-case hex digits, found %s", quoted(b.schemaHash))
		}
	}
	if a, ok := f["arguments"]; ok {
		if a.value.Kind != yaml.SequenceNode {
			d.malformed(a.value, "arguments", "`arguments` is a list, found %s", kindName(a.value))
		} else {
			b.arguments = []boundArgument{}
			for _, n := range a.value.Content {
				d.boundArgument(n, b)
			}
		}
	}
	if o, ok := f["other"]; ok {
		b.other, _ = d.list(o)
	}
	if len(d.errs) > before {
		return nil
	}
	if b.arguments == nil && b.other == nil {
		d.malformed(v.value, tool, "%s says nothing; list the arguments of the tool under `arguments` and `other`", where)
		return nil
	}
	b.plan.Bound = make([]derive.Bound, 0, len(b.arguments))
	seen := make(map[string]int)
	for _, a := range b.arguments {
		s, _ := shape.ByAxis(a.axis)
		p := derive.Pointer(a.arg)
		b.plan.Bound = append(b.plan.Bound, derive.Bound{Pointer: p, Shape: s})
		if line, ok := seen[p+" "+a.axis]; ok {
			d.malformed(&yaml.Node{Line: a.line, Column: 1}, a.arg, "%s binds %s to %s twice; first on line %d", where, quoted(a.arg), a.axis, line)
		}
		seen[p+" "+a.axis] = a.line
	}
	for _, o := range b.other {
		p := derive.Pointer(o.text)
		b.plan.Other = append(b.plan.Other, p)
		for i, bound := range b.plan.Bound {
			if bound.Pointer == p || strings.HasPrefix(bound.Pointer, p+"/") {
				d.malformed(&yaml.Node{Line: o.line, Column: o.column}, o.text, "%s sets %s aside, and binds %s on line %d", where, quoted(o.text), quoted(b.arguments[i].arg), b.arguments[i].line)
			}
		}
	}
	return b
}

func (d *document) boundArgument(n *yaml.Node, b *binding) {
	before := len(d.errs)
	f := d.fields(n, "a bound argument", boundKeys)
	if f == nil {
		return
	}
	d.needs(n, f, "a bound argument", before, boundKeys...)
	a := boundArgument{line: n.Line}
	if v, ok := f["arg"]; ok {
		a.arg, _ = d.argName(v)
	}
	if v, ok := f["axis"]; ok {
		a.axis, _ = d.token(v, axisTokens)
	}
	if len(d.errs) == before {
		b.arguments = append(b.arguments, a)
	}
}
