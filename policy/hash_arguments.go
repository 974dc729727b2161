package policy

import (
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/aegis-aar/aegis/internal/shape"
)

// appendProjection appends the canonical (RFC 8785) form of the argument half:
// what is written, a section that is left out as an empty object, texts and
// booleans as they are, lists in the order of the file.
func (h *argumentHalf) appendProjection(b []byte) []byte {
	b = append(b, `{"bindings":{`...)
	for i, name := range sortedKeys(h.bindings) {
		b = appendKey(b, i, name)
		b = h.bindings[name].appendProjection(b)
	}
	b = append(b, `},"defaults":`...)
	b = h.defaults.appendProjection(b)
	b = append(b, `,"evaluator":"`+evaluator+`","tools":{`...)
	for i, name := range sortedKeys(h.tools) {
		b = appendKey(b, i, name)
		b = h.tools[name].appendProjection(b)
	}
	return append(b, "}}"...)
}

func (s *sections) appendProjection(b []byte) []byte {
	byKey := make(map[string]*section)
	for i, sec := range s {
		if sec != nil {
			byKey[shape.Shape(i).Key()] = sec
		}
	}
	b = append(b, '{')
	for i, key := range sortedKeys(byKey) {
		b = appendKey(b, i, key)
		b = append(b, '{')
		values := byKey[key].values
		for i, key := range sortedKeys(values) {
			b = appendKey(b, i, key)
			b = values[key].appendProjection(b)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

func (v value) appendProjection(b []byte) []byte {
	switch v.kind {
	case flagKey:
		if v.flag {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case textKey:
		return appendString(b, v.text)
	}
	return appendList(b, v.list)
}

func appendList(b []byte, list []entry) []byte {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, e.text)
	}
	return append(b, ']')
}

func (v *binding) appendProjection(b []byte) []byte {
	b = append(b, '{')
	n := 0
	if v.arguments != nil {
		b = append(b, `"arguments":[`...)
		for i, a := range v.arguments {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"arg":`...)
			b = appendString(b, a.arg)
			b = append(b, `,"axis":`...)
			b = append(appendString(b, a.axis), '}')
		}
		b, n = append(b, ']'), 1
	}
	if v.other != nil {
		b = appendKey(b, n, "other")
		b, n = appendList(b, v.other), 1
	}
	if v.schemaHash != "" {
		b = appendKey(b, n, "schema_hash")
		b = appendString(b, v.schemaHash)
	}
	return append(b, '}')
}

// appendKey appends the name of member i of an object, from 0.
func appendKey(b []byte, i int, name string) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return append(appendString(b, name), ':')
}

// sortedKeys are the names of an object in the order of RFC 8785, section
// 3.2.3: by their UTF-16 code units.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if ascii(a) && ascii(b) {
			return strings.Compare(a, b)
		}
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
	return keys
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] > 0x7f {
			return false
		}
	}
	return true
}
