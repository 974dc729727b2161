package lock

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/internal/secret"
)

// Skeleton is what of an input schema matters to security: one entry for each
// property, by its dotted path. It exists to classify a change; that there is
// one is told by hashes.
type Skeleton struct {
	Props []Prop // by path, in byte order
}

// Prop is one property of a schema. What a schema may hold is the server's:
// Enum and the values of Constraints are JSON texts in canonical form.
type Prop struct {
	Path        string   // $root for the schema itself; items of an array by []
	Type        []string // sorted; nil if none is declared
	Required    bool
	Enum        []jsontext.Value // sorted; nil if none is declared
	Constraints []Constraint     // by name
}

// Constraint is maxLength, minLength, minimum, maximum, pattern, format or
// additionalProperties, or $ref or _truncated of a place that is not looked into.
type Constraint struct {
	Name  string
	Value jsontext.Value
}

// Bounds of the walk through a schema. A definition may refer to another one
// that refers to a third, twice each, and so unfold exponentially.
const (
	maxSchemaDepth = 64      // places nested deeper are _truncated
	maxRefs        = 256     // refs followed on one path; the next one is opaque
	maxProps       = 20_000  // entries of one skeleton
	maxPaths       = 8 << 20 // bytes of their paths and constraints
)

const rootPath = "$root"

var constraintNames = []string{"additionalProperties", "format", "maxLength", "maximum", "minLength", "minimum", "pattern"}

// UnfoldError says that a schema describes more properties than are looked at.
type UnfoldError struct{}

func (*UnfoldError) Error() string {
	return fmt.Sprintf("input schema unfolds to more than %d properties", maxProps)
}

// skeletonOf walks a schema; a nil one has none. With redact, text that looks
// like a secret is not kept.
func skeletonOf(schema *node, redact bool) (Skeleton, error) {
	w := walker{root: schema, redact: redact, seen: map[string]int{}}
	if err := w.walk(schema, "", false, 0, nil, nil); err != nil {
		return Skeleton{}, err
	}
	slices.SortFunc(w.props, func(a, b Prop) int { return strings.Compare(a.Path, b.Path) })
	return Skeleton{Props: w.props}, nil
}

type walker struct {
	root   *node
	redact bool
	props  []Prop
	seen   map[string]int // index of a path: a later place of the same path replaces it
	bytes  int
}

// chain is a linked list: the refs or nodes on the way to a place.
type chain[T comparable] struct {
	is   T
	up   *chain[T]
	size int
}

func (c *chain[T]) has(v T) bool {
	for ; c != nil; c = c.up {
		if c.is == v {
			return true
		}
	}
	return false
}

func (c *chain[T]) with(v T) *chain[T] {
	if c == nil {
		return &chain[T]{is: v, size: 1}
	}
	return &chain[T]{is: v, up: c, size: c.size + 1}
}

func (c *chain[T]) len() int {
	if c == nil {
		return 0
	}
	return c.size
}

// put keeps what was found at a path. Two places can have one path, a property
// `a.b` and the property b of a: the last one counts.
func (w *walker) put(p Prop) error {
	for _, c := range p.Constraints {
		w.bytes += len(c.Value)
	}
	for _, v := range p.Enum {
		w.bytes += len(v)
	}
	w.bytes += len(p.Path)
	if len(w.props) >= maxProps || w.bytes > maxPaths {
		return &UnfoldError{}
	}
	if i, ok := w.seen[p.Path]; ok {
		w.props[i] = p
		return nil
	}
	w.seen[p.Path] = len(w.props)
	w.props = append(w.props, p)
	return nil
}

func (w *walker) walk(schema *node, path string, required bool, depth int, refs *chain[string], way *chain[*node]) error {
	at := path
	if at == "" {
		at = rootPath
	}
	open := Constraint{"additionalProperties", jsontext.Value("true")}
	if !schema.isObject() {
		if path == "" {
			return nil
		}
		return w.put(Prop{Path: path, Constraints: []Constraint{open}})
	}
	leaf := func(name string, value jsontext.Value) error {
		return w.put(Prop{Path: at, Required: required, Constraints: []Constraint{{name, value}}})
	}
	truncated := func() error { return leaf("_truncated", jsontext.Value("true")) }

	if ref := schema.get("$ref"); ref != nil {
		if !ref.isString() {
			text, err := ref.canonical()
			if err != nil {
				return err
			}
			return leaf("$ref", quote(string(text)))
		}
		target := w.resolve(ref.text, refs)
		switch {
		case len(schema.members) != 1 || !refs.has(ref.text) && target == nil:
			return leaf("$ref", w.shown(ref.text))
		case refs.has(ref.text):
			return truncated()
		}
		return w.walk(target, path, required, depth+1, refs.with(ref.text), way)
	}
	if depth > maxSchemaDepth || way.has(schema) {
		return truncated()
	}
	way = way.with(schema)

	p := Prop{Path: at, Required: required, Type: typesOf(schema.get("type"))}
	var err error
	if p.Enum, err = w.enumOf(schema.get("enum")); err != nil {
		return err
	}
	for _, name := range constraintNames {
		c := Constraint{Name: name}
		switch v := schema.get(name); {
		case v != nil && v.isString():
			c.Value = w.shown(v.text)
		case v != nil:
			if c.Value, err = v.canonical(); err != nil {
				return err
			}
		case name == "additionalProperties":
			c = open
		default:
			continue
		}
		p.Constraints = append(p.Constraints, c)
	}
	if err := w.put(p); err != nil {
		return err
	}

	if properties := schema.get("properties"); properties.isObject() {
		needed := map[string]bool{}
		if list := schema.get("required"); list != nil {
			for _, item := range list.items {
				if item.isString() {
					needed[item.text] = true
				}
			}
		}
		sorted := slices.Clone(properties.members)
		slices.SortFunc(sorted, func(a, b member) int { return strings.Compare(a.name, b.name) })
		for _, m := range sorted {
			child := m.name
			if path != "" {
				child = path + "." + m.name
			}
			if err := w.walk(m.value, child, needed[m.name], depth+1, refs, way); err != nil {
				return err
			}
		}
	}
	if items := schema.get("items"); items.isObject() {
		return w.walk(items, path+"[]", false, depth+1, refs, way)
	}
	return nil
}

// resolve is the object that an in-document $ref leads to (RFC 6901), nil if it
// leads to none: another document, the whole document, a place that is not there.
func (w *walker) resolve(ref string, refs *chain[string]) *node {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer == "" || refs.len() >= maxRefs {
		return nil
	}
	pointer = unescapePercent(pointer)
	if !strings.HasPrefix(pointer, "/") {
		return nil
	}
	at := w.root
	for segment := range strings.SplitSeq(pointer[1:], "/") {
		segment = strings.ReplaceAll(strings.ReplaceAll(segment, "~1", "/"), "~0", "~")
		switch {
		case at.isObject():
			at = at.get(segment)
		case at != nil && at.kind == '[':
			i, err := strconv.ParseUint(segment, 10, 31)
			if err != nil || segment != strconv.FormatUint(i, 10) || int(i) >= len(at.items) {
				return nil
			}
			at = at.items[i]
		default:
			return nil
		}
	}
	if !at.isObject() {
		return nil
	}
	return at
}

// unescapePercent decodes what is a percent escape and leaves what is none; what
// is no UTF-8 then is replaced, and resolves to nothing.
func unescapePercent(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

func typesOf(n *node) []string {
	switch {
	case n.isString():
		return []string{n.text}
	case n != nil && n.kind == '[':
		var types []string
		for _, item := range n.items {
			if item.isString() {
				types = append(types, item.text)
			}
		}
		slices.Sort(types)
		return slices.Compact(types)
	}
	return nil
}

// enumOf sorts the values of an enum by type and then by text. The names of the
// types, and so their order, are those of the peer, which is written in Python.
func (w *walker) enumOf(n *node) ([]jsontext.Value, error) {
	if n == nil || n.kind != '[' {
		return nil, nil
	}
	type value struct {
		kind, text string
		form       jsontext.Value
	}
	values := make([]value, len(n.items))
	for i, item := range n.items {
		form, err := item.canonical()
		if err != nil {
			return nil, err
		}
		v := value{kindName(item.kind, form), spaced(form), form}
		if item.isString() {
			v.form = w.shown(item.text)
		}
		values[i] = v
	}
	slices.SortStableFunc(values, func(a, b value) int {
		if c := strings.Compare(a.kind, b.kind); c != 0 {
			return c
		}
		return strings.Compare(a.text, b.text)
	})
	enum := make([]jsontext.Value, len(values))
	for i, v := range values {
		enum[i] = v.form
	}
	return enum, nil
}

func kindName(k jsontext.Kind, form []byte) string {
	switch k {
	case 'n':
		return "NoneType"
	case 't', 'f':
		return "bool"
	case '{':
		return "dict"
	case '[':
		return "list"
	case '"':
		return "str"
	}
	if strings.ContainsAny(string(form), ".e") {
		return "float"
	}
	return "int"
}

// spaced is a JSON text with the blanks that the peer sorts by.
func spaced(form jsontext.Value) string {
	v := jsontext.Value(slices.Clone(form))
	if v.Kind() == '{' || v.Kind() == '[' {
		_ = v.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
	}
	return string(v)
}

func quote(s string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, s)
	return v
}

// shown is a string as it may stand in a lock.
func (w *walker) shown(s string) jsontext.Value {
	if w.redact {
		s, _ = secret.RedactAll(s)
	}
	return quote(s)
}
