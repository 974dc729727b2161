package policy

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/aegis-aar/aegis/internal/shape"
)

// arguments reads the argument half, or returns nil if the file has none of its
// keys. A key without a value is a fault here: what was forgotten would arm the
// half and constrain nothing.
func (d *document) arguments(f map[string]field) *argumentHalf {
	h := &argumentHalf{}
	for _, key := range argumentKeys {
		if v, ok := f[key]; ok && (h.line == 0 || v.key.Line < h.line) {
			h.line = v.key.Line
		}
	}
	if h.line == 0 {
		return nil
	}
	before := len(d.errs)
	if v, ok := f["defaults"]; ok {
		h.defaults = d.sections(v.value, "`defaults`")
	}
	if v, ok := f["tools"]; ok {
		h.tools, h.toolsLine = make(map[string]*toolSections), v.key.Line
		d.named(v, "`tools`", func(name string, v field) {
			h.tools[name] = &toolSections{v.key.Line, d.sections(v.value, "tool "+quoted(name))}
		})
	}
	if v, ok := f["bindings"]; ok {
		h.bindings = d.bindings(v)
	}
	if len(d.errs) == before {
		h.compile()
	}
	return h
}

// named reads a mapping whose keys are names of tools, each at most once.
func (d *document) named(f field, where string, each func(name string, v field)) {
	n := f.value
	if n.Kind != yaml.MappingNode {
		d.malformed(n, f.key.Value, "%s is a mapping, found %s", where, kindName(n))
		return
	}
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content) && len(d.errs) <= maxLoadErrors; i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			d.malformed(k, "", "a key of %s is %s, not text", where, kindName(k))
			continue
		}
		name := k.Value
		switch line, twice := lines[name]; {
		case name == "<<" && isPlain(k):
			d.malformed(k, name, "merge keys are not supported; write the keys out")
			continue
		case isPlain(k) && otherThanText(name) != "":
			d.malformed(k, name, "the name of a tool is text, but %s may be read as %s; quote it", quoted(name), otherThanText(name))
			continue
		case twice:
			d.malformed(k, name, "duplicate tool %s on line %d; it was given on line %d", quoted(name), k.Line, line)
			continue
		}
		lines[name] = k.Line
		each(name, field{k, v})
	}
}

var shapeKeys = func() []string {
	var keys []string
	for _, s := range shape.All() {
		keys = append(keys, s.Key())
	}
	return keys
}()

// sections reads the constraints of one place.
func (d *document) sections(n *yaml.Node, where string) (out sections) {
	f := d.fields(n, where, shapeKeys)
	for _, s := range shape.All() {
		if v, ok := f[s.Key()]; ok {
			out[s] = d.section(v, s, "`"+s.Key()+"` of "+where)
		}
	}
	return out
}

func (d *document) section(f field, s shape.Shape, where string) *section {
	var valid []string
	for _, k := range constraintKeys[s] {
		valid = append(valid, k.name)
	}
	out := &section{line: f.key.Line, values: make(map[string]value)}
	m := d.fields(f.value, where, valid)
	for _, k := range constraintKeys[s] {
		v, ok := m[k.name]
		if !ok {
			continue
		}
		c := value{kind: k.kind, line: v.key.Line, column: v.value.Column}
		switch k.kind {
		case flagKey:
			c.flag, ok = d.flag(v)
		case textKey:
			if k.name == argKeys[s] {
				c.text, ok = d.argName(v)
			} else {
				c.text, ok = d.text(v)
			}
		case listKey:
			c.list, ok = d.list(v)
		}
		if ok {
			out.values[k.name] = c
		}
	}
	newRule(s, out, func(e entry, key, format string, a ...any) {
		d.malformed(&yaml.Node{Line: e.line, Column: e.column}, key, format, a...)
	})
	return out
}

// flag reads a boolean in its two spellings.
func (d *document) flag(f field) (b, ok bool) {
	name, n := f.key.Value, f.value
	switch {
	case isPlain(n) && n.Value == "true":
		return true, true
	case isPlain(n) && n.Value == "false":
		return false, true
	case n.Kind == yaml.ScalarNode && !isPlain(n):
		d.malformed(n, name, "%s is true or false, found the text %s; remove the quotes", quoted(name), quoted(n.Value))
	default:
		d.malformed(n, name, "%s is true or false, found %s", quoted(name), kindName(n))
	}
	return false, false
}

// list reads a list of texts.
func (d *document) list(f field) ([]entry, bool) {
	name, n := f.key.Value, f.value
	if n.Kind != yaml.SequenceNode {
		d.malformed(n, name, "%s is a list, found %s", quoted(name), kindName(n))
		return nil, false
	}
	before := len(d.errs)
	out := make([]entry, 0, len(n.Content))
	for _, c := range n.Content {
		if len(d.errs) > maxLoadErrors {
			break
		}
		if c.Kind != yaml.ScalarNode || isNull(c) {
			d.malformed(c, name, "an entry of %s is text, found %s", quoted(name), kindName(c))
			continue
		}
		text, ok := d.text(field{f.key, c})
		if ok && text == "" {
			d.malformed(c, name, "an entry of %s is empty", quoted(name))
		}
		out = append(out, entry{text, c.Line, c.Column})
	}
	return out, len(d.errs) == before
}

// argName reads the name of an argument, or a JSON pointer without indices.
func (d *document) argName(f field) (string, bool) {
	s, ok := d.text(f)
	if !ok {
		return "", false
	}
	if s == "" {
		d.malformed(f.value, f.key.Value, "%s names no argument", quoted(f.key.Value))
		return "", false
	}
	if !strings.HasPrefix(s, "/") {
		return s, true
	}
	for i := range len(s) {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			d.malformed(f.value, s, "%s is no JSON pointer: ~ is written ~0, and / within a name ~1", quoted(s))
			return "", false
		}
	}
	return s, true
}
