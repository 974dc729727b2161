package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// Bounds of a file in the YAML subset that this package reads.
const (
	maxFileBytes = 1 << 20
	maxNesting   = 64 // a policy needs four levels
)

// document reads one YAML file into nodes. Faults are collected, so that an
// author sees more than the first.
type document struct {
	file string
	errs LoadErrors
}

func (d *document) fail(n *yaml.Node, key, format string, a ...any) *LoadError {
	e := &LoadError{File: d.file, Line: n.Line, Column: n.Column, Key: key, Msg: fmt.Sprintf(format, a...)}
	d.errs = append(d.errs, e)
	return e
}

// malformed is a fault in what the file says rather than in what it means; the
// specification begins the message so.
func (d *document) malformed(n *yaml.Node, key, format string, a ...any) *LoadError {
	return d.fail(n, key, "policy parse error: "+format, a...)
}

// root parses src and returns its one top-level mapping, or nil after a fault.
// Nothing below it is an alias, carries an anchor or a tag.
func (d *document) root(src []byte, what string) *yaml.Node {
	if len(src) > maxFileBytes {
		d.malformed(&yaml.Node{}, "", "the file is larger than 1 MiB: %s", quoted(d.file))
		return nil
	}
	if !d.checkText(src) {
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(src),
		yaml.WithUniqueKeys(false), // checked here, with both positions
		yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxNesting))))
	if err != nil {
		d.syntax(err)
		return nil
	}
	var doc yaml.Node
	if err := loader.Load(&doc); err == io.EOF {
		d.malformed(&yaml.Node{Line: 1, Column: 1}, "", "the file is empty; an empty %s is not a %[1]s", what)
		return nil
	} else if err != nil {
		d.syntax(err)
		return nil
	}
	var second yaml.Node
	if err := loader.Load(&second); err == nil {
		d.malformed(&second, "", "a second document begins here; a %s is one document", what)
		return nil
	} else if err != io.EOF {
		d.syntax(err)
		return nil
	}
	if len(doc.Content) != 1 {
		d.malformed(&doc, "", "the file is empty; an empty %s is not a %[1]s", what)
		return nil
	}
	top := doc.Content[0]
	if isNull(top) {
		d.malformed(top, "", "the document is empty; an empty %s is not a %[1]s", what)
		return nil
	}
	if !d.restrict(top) {
		return nil
	}
	if top.Kind != yaml.MappingNode {
		d.malformed(top, "", "a %s is a mapping, found %s", what, kindName(top))
		return nil
	}
	return top
}

// checkText refuses what the YAML reader would take but other readers of the
// same bytes, an editor or a reviewer, see differently: text in another
// encoding and line breaks that most tools do not show as such.
func (d *document) checkText(src []byte) bool {
	line, start := 1, 0
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		bad := ""
		switch {
		case r == utf8.RuneError && size == 1:
			bad = "not UTF-8"
		case r == '\r' && (i+1 == len(src) || src[i+1] != '\n'):
			bad = "a carriage return that ends no line"
		case r == '\u0085' || r == '\u2028' || r == '\u2029':
			bad = fmt.Sprintf("the line separator U+%04X, which most editors do not show", r)
		}
		if bad != "" {
			at := yaml.Node{Line: line, Column: utf8.RuneCount(src[start:i]) + 1}
			d.malformed(&at, "", "%s", bad)
			return false
		}
		i += size
		if r == '\n' {
			line, start = line+1, i
		}
	}
	return true
}

// syntax reports an error of the YAML reader.
func (d *document) syntax(err error) {
	at, msg := &yaml.Node{Line: 1, Column: 1}, err.Error()
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		msg = e.Message
		if e.ContextMsg != "" {
			msg = e.ContextMsg + ": " + msg
			if e.ContextMark.Line > 0 && e.ContextMark.Line != e.Mark.Line {
				msg = fmt.Sprintf("%s (it began on line %d)", msg, e.ContextMark.Line)
			}
		}
		if e.Mark.Line > 0 {
			at.Line, at.Column = e.Mark.Line, e.Mark.Column
		}
	}
	switch {
	case strings.HasPrefix(msg, "while scanning an alias"):
		msg += `; a lone * must be quoted: "*"`
	case strings.Contains(msg, "cannot start any token"):
		msg += "; indent with spaces, not tabs, and quote text that begins with a special character"
	}
	d.malformed(at, "", "%s", msg)
}

// restrict refuses the parts of YAML by which one text means another: aliases
// and anchors, tags. Merge keys are refused with the unknown keys.
func (d *document) restrict(n *yaml.Node) bool {
	before := len(d.errs)
	switch {
	case n.Kind == yaml.AliasNode:
		d.malformed(n, "*"+n.Value, "aliases are not supported; write the value out")
		return false
	case n.Anchor != "":
		d.malformed(n, "&"+n.Anchor, "anchors are not supported; write each value out")
	case n.Style&yaml.TaggedStyle != 0:
		d.malformed(n, n.Tag, "tags are not supported; quote the value if it is a string")
	}
	for _, c := range n.Content {
		if len(d.errs) > maxLoadErrors {
			return false
		}
		d.restrict(c)
	}
	return len(d.errs) == before
}

// field is one key of a mapping and its value.
type field struct{ key, value *yaml.Node }

// fields reads a mapping whose keys must be among valid, each at most once.
// where names the mapping in messages.
func (d *document) fields(n *yaml.Node, where string, valid []string) map[string]field {
	if n.Kind != yaml.MappingNode {
		d.malformed(n, "", "%s is a mapping, found %s", where, kindName(n))
		return nil
	}
	found := make(map[string]field, len(valid))
	for i := 0; i+1 < len(n.Content) && len(d.errs) <= maxLoadErrors; i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			d.malformed(k, "", "a key of %s is %s, not text", where, kindName(k))
			continue
		}
		name := k.Value
		if first, ok := found[name]; ok {
			d.malformed(k, name, "duplicate key %s on line %d; it was given on line %d", quoted(name), k.Line, first.key.Line)
			continue
		}
		if !slices.Contains(valid, name) {
			d.unknownKey(k, where, valid)
			continue
		}
		found[name] = field{k, v}
	}
	return found
}

// needs demands keys of a mapping that has no other fault, such as a key that
// was misspelt.
func (d *document) needs(n *yaml.Node, f map[string]field, where string, faults int, keys ...string) {
	if len(d.errs) > faults {
		return
	}
	for _, name := range keys {
		if _, ok := f[name]; !ok {
			d.malformed(n, name, "%s needs %s", where, quoted(name))
		}
	}
}

func (d *document) unknownKey(k *yaml.Node, where string, valid []string) {
	name := k.Value
	switch {
	case name == "<<":
		d.malformed(k, name, "merge keys are not supported; write the keys out")
	default:
		e := d.malformed(k, name, "unknown key %s in %s", quoted(name), where)
		if e.Near = nearest(name, valid); e.Near == "" {
			e.Msg += " (known: " + strings.Join(valid, ", ") + ")"
		}
	}
}

func kindName(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	}
	return "the text " + quoted(n.Value)
}
