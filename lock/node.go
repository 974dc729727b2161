package lock

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node is one value of a JSON document that was read strictly. Nodes are told
// apart by their address: a $ref can lead to one in two ways.
type node struct {
	kind    jsontext.Kind // { [ " 0 t f n
	raw     []byte        // of a number
	text    string        // of a string, unescaped
	members []member
	items   []*node
}

type member struct {
	name  string
	value *node
}

// maxDepth bounds nesting, as the wire does.
const maxDepth = 128

var errDeep = errors.New("nested over 128 deep")

// parseNode reads one strict JSON value.
func parseNode(text []byte) (*node, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	n, err := readNode(d, 0)
	if err != nil {
		return nil, err
	}
	if d.PeekKind() != 0 {
		return nil, errors.New("bytes after the value")
	}
	if rest := bytes.TrimLeft(text[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, errors.New("bytes after the value")
	}
	return n, nil
}

func readNode(d *jsontext.Decoder, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	t, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &node{kind: t.Kind()}
	switch n.kind {
	case '"':
		n.text = t.String()
	case '0':
		n.raw = []byte(t.String())
	case '[':
		for d.PeekKind() != ']' {
			item, err := readNode(d, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		_, err = d.ReadToken()
	case '{':
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			m := member{name: name.String()}
			if m.value, err = readNode(d, depth+1); err != nil {
				return nil, err
			}
			n.members = append(n.members, m)
		}
		_, err = d.ReadToken()
	}
	return n, err
}

// get is the value of a member, nil if n is no object or has none of that name.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].name == name {
			return n.members[i].value
		}
	}
	return nil
}

func (n *node) isNull() bool   { return n == nil || n.kind == 'n' }
func (n *node) isObject() bool { return n != nil && n.kind == '{' }
func (n *node) isString() bool { return n != nil && n.kind == '"' }

// canonical is the canonical form of the value.
func (n *node) canonical() ([]byte, error) {
	v := jsontext.Value(n.append(nil))
	err := canonicalize(&v)
	return v, err
}

// append appends the value as compact JSON, members in the order they came in.
func (n *node) append(dst []byte) []byte {
	switch n.kind {
	case '"':
		dst, _ = jsontext.AppendQuote(dst, n.text)
	case '0':
		dst = append(dst, n.raw...)
	case '[':
		dst = append(dst, '[')
		for i, item := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.append(dst)
		}
		dst = append(dst, ']')
	case '{':
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, _ = jsontext.AppendQuote(dst, m.name)
			dst = append(dst, ':')
			dst = m.value.append(dst)
		}
		dst = append(dst, '}')
	case 't':
		dst = append(dst, "true"...)
	case 'f':
		dst = append(dst, "false"...)
	default:
		dst = append(dst, "null"...)
	}
	return dst
}

// lookAlike finds a member whose name is one of names but for case or Unicode
// folding: a reader that folds would take it for that one.
func (n *node) lookAlike(names ...string) error {
	for _, m := range n.members {
		for _, name := range names {
			if m.name != name && strings.EqualFold(m.name, name) {
				return fmt.Errorf("a member that some readers take for %s", name)
			}
		}
	}
	return nil
}
