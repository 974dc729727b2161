package policy

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
)

// Plain scalars are where YAML readers disagree: `no`, `0123` and `2026-01-02`
// are text to one, a boolean, a number, a date to another. Where this package
// wants text it takes only what every reader takes for text, and asks for quotes
// around the rest (a single y or n is text: hardly a reader still takes it for a
// boolean). Where it wants a number it takes plain decimal digits.

func isPlain(n *yaml.Node) bool {
	const quotes = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Kind == yaml.ScalarNode && n.Style&quotes == 0
}

func isNull(n *yaml.Node) bool {
	if !isPlain(n) {
		return false
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// Compiled when first asked for: most runs of aegis read no policy.
var (
	numberText = lazyRegexp(`^[-+]?(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?|\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
	dateText   = lazyRegexp(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?$`)
	boolText   = lazyRegexp(`^(yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)
)

func lazyRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// otherThanText says what some YAML reader takes a plain scalar for, or "".
func otherThanText(s string) string {
	switch {
	case s == "" || s == "~" || strings.EqualFold(s, "null"):
		return "null"
	case boolText().MatchString(s):
		return "a boolean"
	case numberText().MatchString(s):
		return "a number"
	case dateText().MatchString(s):
		return "a date"
	case s == "=" || s == "<<":
		return "a special value"
	}
	return ""
}

// text reads a string. ok is false after a fault.
func (d *document) text(f field) (s string, ok bool) {
	name, n := f.key.Value, f.value
	if n.Kind != yaml.ScalarNode {
		d.malformed(n, name, "%s is text, found %s", quoted(name), kindName(n))
		return "", false
	}
	if isPlain(n) {
		if n.Value == "" {
			d.malformed(n, name, "%s has no value; remove the key, or write \"\" for the empty text", quoted(name))
			return "", false
		}
		if other := otherThanText(n.Value); other != "" {
			d.malformed(n, name, "%s is text, but %s may be read as %s; quote this: %s", quoted(name), quoted(n.Value), other, strconv.Quote(n.Value))
			return "", false
		}
	}
	return n.Value, true
}

// optionalText reads a string of which null means that it is not given.
func (d *document) optionalText(f field) *string {
	if f.value == nil || isNull(f.value) {
		return nil
	}
	if s, ok := d.text(f); ok {
		return &s
	}
	return nil
}

// token reads one of a few fixed words.
func (d *document) token(f field, valid []string) (s string, ok bool) {
	name, n := f.key.Value, f.value
	if n.Kind == yaml.ScalarNode && slices.Contains(valid, n.Value) {
		return n.Value, true
	}
	e := d.malformed(n, n.Value, "%s is one of %s, found %s", quoted(name), strings.Join(valid, ", "), kindName(n))
	if n.Kind == yaml.ScalarNode {
		e.Near = nearest(n.Value, valid)
	}
	return "", false
}

// digits is the one spelling of a decimal number.
var digits = lazyRegexp(`^-?(0|[1-9][0-9]*)$`)

// number reports whether f holds a number in its one spelling.
func (d *document) number(f field) bool {
	name, n := f.key.Value, f.value
	switch {
	case n.Kind != yaml.ScalarNode || isNull(n):
		d.malformed(n, name, "%s is a number, found %s", quoted(name), kindName(n))
	case !isPlain(n):
		d.malformed(n, name, "%s is a number, found the text %s; remove the quotes", quoted(name), quoted(n.Value))
	case !digits().MatchString(n.Value):
		d.malformed(n, name, "%s is a whole number in plain decimal digits, found %s", quoted(name), quoted(n.Value))
	default:
		return true
	}
	return false
}

// unsigned reads a whole number from 0 to most, exactly or not at all.
func (d *document) unsigned(f field, most uint64) (u uint64, ok bool) {
	if !d.number(f) {
		return 0, false
	}
	u, err := strconv.ParseUint(f.value.Value, 10, 64)
	if err != nil || u > most {
		d.malformed(f.value, f.key.Value, "%s is a number from 0 to %d, found %s", quoted(f.key.Value), most, quoted(f.value.Value))
		return 0, false
	}
	return u, true
}

func (d *document) int32(f field) (i int32, ok bool) {
	if !d.number(f) {
		return 0, false
	}
	v, err := strconv.ParseInt(f.value.Value, 10, 32)
	if err != nil {
		d.malformed(f.value, f.key.Value, "%s is a number from %d to %d, found %s", quoted(f.key.Value), math.MinInt32, math.MaxInt32, quoted(f.value.Value))
		return 0, false
	}
	return int32(v), true
}
