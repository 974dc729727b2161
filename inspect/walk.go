package inspect

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"

	"github.com/aegis-aar/aegis/internal/secret"
)

// role is what a container is in a response.
type role uint8

const (
	other    role = iota
	top           // the response object
	result        // its result
	meta          // the result's _meta
	contents      // the result's content
	blocks        // an element of it
	resource      // a block's resource
)

// level is a container that is open.
type level struct {
	role      role
	array     bool
	empty     bool // no member or element yet
	marked    bool // a result that has _meta, or a _meta that has warden
	index     int
	start     int // of the container
	nameStart int // the member at hand: its name without quotes
	nameEnd   int
}

// maxDepth bounds what is read as JSON; deeper text is looked at as it is.
const maxDepth = 10000

// block is what is known of a content block.
type block struct {
	kind       []byte
	text, blob bool // a text string; a resource's blob or uri
	res        bool // a resource's text or uri
	isObject   bool
}

// walk looks at every string of b, which is JSON but for what a reader may
// forgive: duplicate names, any scalar, any escape. It reports whether b is one
// value; if not, what came before the fault has been looked at.
func (s *inspection) walk(b []byte) bool {
	s.stack = s.stack[:0]
	s.block = -1
	for i, value := skipSpace(b, 0), true; ; i = skipSpace(b, i) {
		if i == len(b) {
			return len(s.stack) == 0 && !value
		}
		c := b[i]
		switch {
		case value && (c == '{' || c == '['):
			if len(s.stack) == maxDepth {
				return false
			}
			s.open(b, i)
			i = skipSpace(b, i+1)
			if i < len(b) && b[i] == c+2 { // '}' and ']'
				i = s.close(b, i)
				value = false
			} else if i = s.begin(b, i); i < 0 {
				return false
			}
		case value && c == '"':
			end, escaped := stringEnd(b, i+1)
			if end < 0 {
				return false
			}
			s.stringValue(b, i+1, end, escaped)
			i = s.done(b, i, end+1)
			value = false
		case value:
			end := i
			for end < len(b) && !structural[b[end]] {
				end++
			}
			if end == i {
				return false
			}
			i = s.done(b, i, end)
			value = false
		case len(s.stack) == 0:
			return false
		case c == ',':
			l := &s.stack[len(s.stack)-1]
			l.index++
			if i = s.begin(b, skipSpace(b, i+1)); i < 0 {
				return false
			}
			value = true
		case c == '}' || c == ']':
			if s.stack[len(s.stack)-1].array != (c == ']') {
				return false
			}
			i = s.close(b, i)
		default:
			return false
		}
	}
}

// begin reads the name of the next member and its colon, or starts the next
// element, and returns where the value is, or -1.
func (s *inspection) begin(b []byte, i int) int {
	l := &s.stack[len(s.stack)-1]
	l.empty = false
	if l.array {
		if l.role == contents {
			s.block = l.index
			s.content = block{}
		}
		return i
	}
	if i == len(b) || b[i] != '"' {
		return -1
	}
	end, escaped := stringEnd(b, i+1)
	if end < 0 {
		return -1
	}
	l.nameStart, l.nameEnd = i+1, end
	s.inspectString(b, i+1, end, escaped, nil)
	i = skipSpace(b, end+1)
	if i == len(b) || b[i] != ':' {
		return -1
	}
	return i + 1
}

// open begins the container at i.
func (s *inspection) open(b []byte, i int) {
	l := level{array: b[i] == '[', empty: true, start: i}
	if n := len(s.stack); n == 0 || n == 1 && s.stack[0].array {
		if !l.array {
			l.role = top
		}
	} else {
		parent := &s.stack[n-1]
		name := b[parent.nameStart:parent.nameEnd]
		switch {
		case parent.role == top && !l.array && string(name) == "result":
			l.role = result
		case parent.role == result && l.array && string(name) == "content":
			l.role = contents
		case parent.role == result && !l.array && string(name) == "_meta":
			l.role = meta
			parent.marked = true
		case parent.role == contents && !l.array:
			l.role = blocks
			s.content.isObject = true
		case parent.role == blocks && !l.array && string(name) == "resource":
			l.role = resource
		}
	}
	s.stack = append(s.stack, l)
}

// close ends the innermost container, whose bracket is at i, and returns what
// comes after.
func (s *inspection) close(b []byte, i int) int {
	l := s.stack[len(s.stack)-1]
	switch {
	case l.role == result && !l.marked:
		s.rewrite.mark(i, i, markMeta, !l.empty)
	case l.role == meta && !l.marked:
		s.rewrite.mark(i, i, markWarden, !l.empty)
	}
	s.stack = s.stack[:len(s.stack)-1]
	return s.done(b, l.start, i+1)
}

// done ends the value b[start:end] and returns end.
func (s *inspection) done(b []byte, start, end int) int {
	if len(s.stack) == 0 {
		return end
	}
	l := &s.stack[len(s.stack)-1]
	switch name := b[l.nameStart:l.nameEnd]; {
	case l.role == contents:
		s.endBlock()
		s.block = -1
	case l.role == result && string(name) == "_meta" && b[start] != '{':
		l.marked = true
		s.rewrite.mark(start, end, markObject, false)
	case l.role == meta && string(name) == "warden":
		l.marked = true
		s.rewrite.mark(start, end, markValue, false)
	}
	return end
}

// endBlock notes a content block that holds what is not inspected.
func (s *inspection) endBlock() {
	c := &s.content
	switch string(c.kind) {
	case "text":
		if c.text {
			return
		}
	case "resource":
		if c.res && !c.blob {
			return
		}
	case "resource_link":
		return
	}
	s.addNote(Finding{BlockIndex: s.block, Pointer: s.pointer(nil)}, RuleUninspectable,
		"content block "+strconv.Itoa(s.block)+" not decoded (binary/unknown)")
}

// stringValue looks at the string b[start:end], the value of the member or
// element at hand.
func (s *inspection) stringValue(b []byte, start, end int, escaped bool) {
	if len(s.stack) == 0 {
		s.inspectString(b, start, end, escaped, nil)
		return
	}
	l := &s.stack[len(s.stack)-1]
	name := b[l.nameStart:l.nameEnd]
	switch l.role {
	case top:
		if string(name) == "id" || string(name) == "jsonrpc" {
			return // the client's own words, and the protocol's
		}
	case blocks:
		switch string(name) {
		case "type":
			s.content.kind = b[start:end]
			if escaped {
				s.content.kind = decode(nil, b[start:end])
			}
		case "text":
			s.content.text = true
		case "data":
			if isBase64(b[start:end]) {
				return
			}
		}
	case resource:
		switch string(name) {
		case "text", "uri":
			s.content.res = true
		case "blob":
			s.content.blob = true
			if isBase64(b[start:end]) {
				return
			}
		}
	}
	s.inspectString(b, start, end, escaped, name)
}

// isBase64 reports whether raw is base64 of RFC 4648 section 4, as data and blob
// are defined. What is not is text in disguise.
func isBase64(raw []byte) bool {
	for _, c := range raw {
		if base64Byte[c] == 0 {
			return false
		}
	}
	return true
}

var base64Byte = func() (t [256]uint8) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") {
		t[c] = 1
	}
	return
}()

// inspectString looks at the string whose text is b[start:end] and at strings
// of JSON held in it.
func (s *inspection) inspectString(b []byte, start, end int, escaped bool, name []byte) {
	raw := b[start:end]
	text := raw
	if escaped {
		s.decoded = decode(s.decoded[:0], raw)
		text = s.decoded
	}
	s.tally.clear()
	s.look(name, text)
	var edits []edit
	if !s.empty() {
		s.conclude(text, s.pointer(b))
		edits = s.editsFor(text)
	}
	if held := bytes.TrimLeft(text, " \t\r\n"); len(held) > 0 && (held[0] == '{' || held[0] == '[') && bytes.IndexByte(held, '\\') >= 0 {
		edits = append(edits, s.heldJSON(b, text)...)
	}
	if edits != nil {
		s.rewrite.add(start, rawEdits(raw, edits, escaped))
	}
}

// heldJSON looks at the strings of the JSON in text that read otherwise without
// their escapes; the others have been seen as they stand. It returns edits of
// text.
func (s *inspection) heldJSON(b, text []byte) (edits []edit) {
	var name []byte
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		start := i + 1
		end, escaped := stringEnd(text, start)
		if end < 0 {
			return edits
		}
		i = end
		raw := text[start:end]
		after := skipSpace(text, end+1)
		isName := after < len(text) && text[after] == ':'
		if escaped {
			s.inner = decode(s.inner[:0], raw)
			s.tally.clear()
			s.look(name, s.inner)
			if !s.empty() {
				s.conclude(s.inner, s.pointer(b))
				for _, e := range rawEdits(raw, s.editsFor(s.inner), true) {
					edits = append(edits, edit{start + e.start, start + e.end, e.with})
				}
			}
		}
		name = nil
		if isName {
			name = raw
		}
	}
	return edits
}

// pointer is the JSON pointer (RFC 6901) of the string at hand.
func (s *inspection) pointer(b []byte) string {
	var out []byte
	for _, l := range s.stack {
		out = append(out, '/')
		if l.array {
			out = strconv.AppendInt(out, int64(l.index), 10)
			continue
		}
		if b == nil { // only names of the protocol lead to a content block
			b = s.text
		}
		out = appendName(out, b[l.nameStart:l.nameEnd])
	}
	return string(out)
}

// appendName appends a member name if it is a plain one, else `…`: names are a
// server's text too.
func appendName(out, raw []byte) []byte {
	const longest = 64
	plain := len(raw) <= longest
	for _, c := range raw {
		plain = plain && (wordByte(c) || c == '.' || c == '$')
	}
	if !plain || secret.Find(raw) != nil {
		return append(out, "…"...)
	}
	return append(out, raw...)
}

var structural = func() (t [256]bool) {
	for _, c := range []byte(" \t\r\n,:{}[]\"") {
		t[c] = true
	}
	return
}()

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns where the quote is that ends the string whose text begins
// at i, or -1, and whether there is an escape in it.
func stringEnd(b []byte, i int) (end int, escaped bool) {
	for i < len(b) {
		if i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			found := firstZero(x^ones*'"') | firstZero(x^ones*'\\')
			if found == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(found) / 8
		}
		switch b[i] {
		case '"':
			return i, escaped
		case '\\':
			escaped = true
			i++
		}
		i++
	}
	return -1, false
}

const ones, highs = 0x0101010101010101, 0x8080808080808080

// firstZero has the high bit of the first byte of x that is zero, and perhaps
// bits of later ones; it is zero if no byte is.
func firstZero(x uint64) uint64 { return (x - ones) &^ x & highs }
