package lock

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/secret"
)

// change is one fact in which two skeletons differ.
type change struct{ path, class, detail string }

// compareSkeletons tells every fact, by path and class: a property whose type
// was broadened and that is no longer required gives two.
func compareSkeletons(was, is *Skeleton) (changes []change) {
	walk(was.Props, is.Props, func(p *Prop) string { return p.Path }, func(path string, was, is *Prop) {
		c := comparison{path: path, changes: changes}
		switch {
		case was == nil:
			c.added(is)
		case is == nil && was.Required:
			c.add("schema-required-removed", "required property removed")
		case is == nil:
			c.add("schema-property-removed", "optional property removed")
		default:
			c.required(was, is)
			c.types(was.Type, is.Type)
			c.enum(was.Enum, is.Enum)
			c.constraints(was, is)
		}
		changes = c.changes
	})
	slices.SortStableFunc(changes, func(a, b change) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.class, b.class))
	})
	return changes
}

type comparison struct {
	path    string
	changes []change
}

func (c *comparison) add(class, detail string) {
	c.changes = append(c.changes, change{c.path, class, detail})
}

func (c *comparison) added(p *Prop) {
	switch free := p.unconstrained(); {
	case p.Required && free:
		c.add("schema-required-unconstrained-added", "new required unconstrained")
	case p.Required:
		c.add("schema-required-added", "new required constrained")
	case free:
		c.add("schema-unconstrained-added", "new optional unconstrained")
	default:
		c.add("schema-property-added", "new optional constrained")
	}
}

// unconstrained: no enum, pattern or maxLength, and of type string, object or
// none that is declared.
func (p *Prop) unconstrained() bool {
	if len(p.Enum) > 0 || !isNull(p.constraint("pattern")) || !isNull(p.constraint("maxLength")) {
		return false
	}
	for _, t := range p.Type {
		if t != "string" && t != "object" {
			return false
		}
	}
	return true
}

func (p *Prop) constraint(name string) jsontext.Value {
	for _, c := range p.Constraints {
		if c.Name == name {
			return c.Value
		}
	}
	return nil
}

func isNull(v jsontext.Value) bool { return v == nil || string(v) == "null" }

func (c *comparison) required(was, is *Prop) {
	switch {
	case was.Required == is.Required:
	case was.Required:
		c.add("schema-constraint-relaxed", "required→optional")
	case is.unconstrained():
		c.add("schema-required-unconstrained-added", "optional→required unconstrained")
	default:
		c.add("schema-required-added", "optional→required")
	}
}

func (c *comparison) types(was, is []string) {
	if slices.Equal(was, is) {
		return
	}
	detail := "type " + typesShown(was) + "→" + typesShown(is)
	switch {
	case len(was) == 0 || len(is) > 0 && subset(is, was):
		c.add("schema-type-narrowed", detail)
	case len(is) == 0 || subset(was, is):
		c.add("schema-type-broadened", detail)
	default:
		c.add("schema-type-changed", detail)
	}
}

func subset[T ~string](a, b []T) bool {
	for _, v := range a {
		if !slices.Contains(b, v) {
			return false
		}
	}
	return true
}

func typesShown(types []string) string {
	if len(types) == 0 {
		return "any"
	}
	return "['" + shorten(strings.Join(types, "', '")) + "']"
}

func (c *comparison) enum(was, is []jsontext.Value) {
	a, b := texts(was), texts(is)
	switch {
	case (was == nil) == (is == nil) && slices.Equal(a, b):
	case is == nil:
		c.add("schema-enum-removed", "enum removed")
	case was == nil:
		c.add("schema-enum-added", "enum added")
	case len(a) > len(b) && within(b, a):
		c.add("schema-enum-narrowed", fmt.Sprintf("enum %d→%d values", len(was), len(is)))
	default: // other values are new values
		c.add("schema-enum-widened", fmt.Sprintf("enum %d→%d values", len(was), len(is)))
	}
}

func within(a, b []string) bool {
	in := make(map[string]bool, len(b))
	for _, v := range b {
		in[v] = true
	}
	for _, v := range a {
		if !in[v] {
			return false
		}
	}
	return true
}

func texts(values []jsontext.Value) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

func (c *comparison) constraints(was, is *Prop) {
	for _, marker := range []string{"$ref", "_truncated"} {
		if a, b := was.constraint(marker), is.constraint(marker); !bytes.Equal(a, b) {
			c.add("schema-modified", marker+" "+valueShown(a)+"→"+valueShown(b))
		}
	}
	// A place that is not looked into declares nothing of this.
	a, b := was.constraint("additionalProperties"), is.constraint("additionalProperties")
	switch closed, closes := string(a) == "false", string(b) == "false"; {
	case closed && !closes:
		c.add("schema-additional-props-opened", "additionalProperties "+valueShown(a)+"→"+valueShown(b))
	case !closed && closes:
		c.add("schema-constraint-tightened", "additionalProperties "+valueShown(a)+"→"+valueShown(b))
	case !bytes.Equal(a, b) && a != nil && b != nil:
		c.add("schema-modified", "additionalProperties "+valueShown(a)+"→"+valueShown(b))
	}
	c.bound("maxLength", was, is, 1)
	c.bound("maximum", was, is, 1)
	c.bound("minLength", was, is, -1)
	c.bound("minimum", was, is, -1)
	for _, name := range []string{"pattern", "format"} {
		a, b := was.constraint(name), is.constraint(name)
		switch {
		case bytes.Equal(a, b):
		case isNull(b):
			c.add("schema-constraint-relaxed", name+" removed")
		case isNull(a):
			c.add("schema-constraint-tightened", name+" added")
		default:
			c.add("schema-constraint-tightened", name+" changed")
		}
	}
}

// bound compares a numeric bound; up is 1 if a higher one allows more.
func (c *comparison) bound(name string, was, is *Prop, up int) {
	a, okA := number(was.constraint(name))
	b, okB := number(is.constraint(name))
	switch {
	case !okA && !okB:
	case !okA:
		c.add("schema-constraint-tightened", name+" added "+valueShown(is.constraint(name)))
	case !okB:
		c.add("schema-constraint-relaxed", name+" removed")
	case bytes.Equal(was.constraint(name), is.constraint(name)):
	default:
		detail := name + " " + valueShown(was.constraint(name)) + "→" + valueShown(is.constraint(name))
		// Two that a binary64 does not tell apart are of unknown direction.
		if cmp.Compare(b, a) != -up {
			c.add("schema-constraint-relaxed", detail)
		} else {
			c.add("schema-constraint-tightened", detail)
		}
	}
}

func number(v jsontext.Value) (float64, bool) {
	if v == nil || v.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil || f != 0 // out of range is an infinity, which compares
}

// maxShown is how many bytes of a value a detail holds.
const maxShown = 40

func shorten(s string) string { return report.Clip(s, maxShown) }

// valueShown is a value of a schema in a detail: short and without secrets.
func valueShown(v jsontext.Value) string {
	switch {
	case v == nil:
		return "none"
	case string(v) == "true":
		return "True"
	case string(v) == "false":
		return "False"
	}
	text := string(v)
	if v.Kind() == '"' {
		if s, err := jsontext.AppendUnquote(nil, v); err == nil {
			text = string(s)
		}
	}
	text, _ = secret.RedactAll(text)
	return shorten(text)
}
