package wire

import (
	"bytes"
	"errors"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxDepth is the deepest accepted nesting of arrays and objects. Parsers
	// in the field give up somewhere between 64 and 10,000.
	maxDepth = 128

	// maxBatch is the largest accepted number of elements in a batch. It
	// bounds what a frame of three-byte elements costs, and is more than a
	// session may have in flight.
	maxBatch = 4096
)

// fault is the reason why a frame is not Exact; empty for none.
type fault string

const (
	faultNotJSON     fault = "not JSON"
	faultOverCap     fault = "longer than the frame cap"
	faultDuplicate   fault = "duplicate member name"
	faultDisguised   fault = "member name differs only by case or folding"
	faultProto       fault = "member named __proto__"
	faultNUL         fault = "NUL in a name"
	faultUTF8        fault = "invalid UTF-8"
	faultSurrogate   fault = "lone surrogate"
	faultTrailing    fault = "bytes after the value"
	faultDepth       fault = "nesting over 128"
	faultCR          fault = "raw CR"
	faultLF          fault = "raw LF"
	faultBoth        fault = "method together with result or error"
	faultMethod      fault = "method that is not a string"
	faultID          fault = "id that is not a string, a number or null"
	faultLongID      fault = "id over 64 KiB"
	faultToolName    fault = "tools/call without a string params.name"
	faultNestedBatch fault = "nested batch"
	faultLongBatch   fault = "batch of more than 4096 elements"
)

// Classify says what a complete frame means. The body may end with its line
// end; slices of the result point into it.
//
// Exact is one JSON value of RFC 8259 in UTF-8, with optional white space
// around it, that no two readers take differently. These faults make a frame
// Ambiguous; line breaks and nesting are looked for first, the others are met
// in the order of the text, and the first is the one that is named:
//
//   - a CR, or an LF, anywhere but as the line end: line readers split there,
//     and white space between tokens becomes the border of a second message;
//   - arrays and objects nested over 128 deep;
//   - at any depth: a member name that occurs twice after unescaping, bytes
//     that are not UTF-8, an escaped surrogate without its partner;
//   - anything but white space behind the value;
//   - a member of the envelope (jsonrpc, id, method, params, result, error),
//     of params where there is a method (name, arguments, _meta), or of the
//     params of notifications/cancelled (requestId) whose name is right but
//     for case or Unicode folding; or a member __proto__ there, from which a
//     JavaScript reader may inherit the members it does not find;
//   - a NUL in the name of a member of the envelope or of such params, in the
//     method or in the tool's name: a reader in C ends the text there;
//   - a method that is not a string; a method together with result or error;
//   - an id that is neither string, number nor null, or over 64 KiB;
//   - a tools/call without a string params.name;
//   - an array inside a batch, or a batch of more than 4096 elements.
//
// A frame without such a fault that is not JSON is NotJSON. Scalars, an empty
// batch and scalars in a batch are Exact: no reader finds a message there.
//
// The time is linear in len(body).
func Classify(body []byte) Message {
	text := bytes.TrimSuffix(bytes.TrimSuffix(body, []byte{'\n'}), []byte{'\r'})
	m, f := classify(text)
	if f == "" {
		return m
	}
	class := Ambiguous
	if f == faultNotJSON {
		class = NotJSON
	}
	var s Scanner
	s.Write(body)
	return s.message(class, f)
}

func classify(text []byte) (Message, fault) {
	switch {
	case bytes.IndexByte(text, '\r') >= 0:
		return Message{}, faultCR
	case bytes.IndexByte(text, '\n') >= 0:
		return Message{}, faultLF
	case tooDeep(text):
		return Message{}, faultDepth
	}
	p := parsers.Get().(*parser)
	p.reset(text)
	m, f := p.frame()
	p.reset(nil)
	if len(text) <= maxPooledFrame {
		parsers.Put(p)
	}
	return m, f
}

// tooDeep reports whether text nests deeper than maxDepth. It is exact for
// JSON; for other text it may say anything, but never less than the nesting of
// the part before the first error.
func tooDeep(text []byte) bool {
	// No text is deeper than it has opening brackets, and counting is fast.
	if bytes.Count(text, []byte{'{'})+bytes.Count(text, []byte{'['}) <= maxDepth {
		return false
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// maxPooledFrame is the longest frame in bytes whose parser is used again. The
// tables of names that a parser keeps grow with the frames it has read.
const maxPooledFrame = 1 << 20

var parsers = sync.Pool{New: func() any { return new(parser) }}

// parser reads one frame, strictly. The tokenizer refuses duplicate names and
// invalid UTF-8 by default, at every depth.
type parser struct {
	dec  jsontext.Decoder
	src  bytes.Buffer
	text []byte
	name []byte // holds a member name that had to be unescaped
}

func (p *parser) reset(text []byte) {
	p.text = text
	p.src = *bytes.NewBuffer(text) // the decoder reads a bytes.Buffer in place
	p.dec.Reset(&p.src)
}

func (p *parser) frame() (Message, fault) {
	m := Message{Class: Exact}
	var f fault
	if m.Batch = p.dec.PeekKind() == '['; m.Batch {
		f = p.batch(&m)
	} else {
		m.Elements = make([]Element, 1)
		f = p.element(&m.Elements[0])
	}
	if f == "" && len(bytes.TrimLeft(p.text[p.dec.InputOffset():], " \t\r\n")) > 0 {
		f = faultTrailing
	}
	if f != "" {
		return Message{}, f
	}
	return m, ""
}

func (p *parser) batch(m *Message) fault {
	if _, err := p.dec.ReadToken(); err != nil {
		return p.syntax(err)
	}
	for p.dec.PeekKind() != ']' {
		switch {
		case p.dec.PeekKind() == '[':
			return faultNestedBatch
		case len(m.Elements) == maxBatch:
			return faultLongBatch
		}
		var e Element
		if f := p.element(&e); f != "" {
			return f
		}
		m.Elements = append(m.Elements, e)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return p.syntax(err)
	}
	return ""
}

func (p *parser) element(e *Element) fault {
	if p.dec.PeekKind() == '{' {
		return p.envelope(e)
	}
	v, f := p.value()
	e.Raw, e.Offset = v, int(p.dec.InputOffset())-len(v)
	return f
}

// value reads one value and returns its text.
func (p *parser) value() ([]byte, fault) {
	v, err := p.dec.ReadValue()
	if err != nil {
		return nil, p.syntax(err)
	}
	end := int(p.dec.InputOffset())
	return p.text[end-len(v) : end : end], ""
}

// member reads the name of the next member, unescaped. It is valid until the
// next call. Names in the wrong spelling are faults.
func (p *parser) member(known []string) ([]byte, fault) {
	quoted, f := p.value()
	if f != "" {
		return nil, f
	}
	name := p.unquote(quoted)
	switch {
	case disguised(name, known):
		return nil, faultDisguised
	case string(name) == "__proto__":
		return nil, faultProto
	case bytes.IndexByte(name, 0) >= 0:
		return nil, faultNUL
	}
	return name, ""
}

// unquote returns the text of a valid JSON string, in place where it can.
func (p *parser) unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	p.name, _ = jsontext.AppendUnquote(p.name[:0], quoted)
	return p.name
}

// syntax says which fault an error of the tokenizer is.
func (p *parser) syntax(err error) fault {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return faultDuplicate
	}
	if !utf8.Valid(p.text) {
		return faultUTF8
	}
	// The tokenizer has no error value for a lone surrogate, but it stops at
	// its backslash.
	var se *jsontext.SyntacticError
	if errors.As(err, &se) && se.ByteOffset < int64(len(p.text)) && surrogateEscape(p.text[se.ByteOffset:]) {
		return faultSurrogate
	}
	return faultNotJSON
}

// surrogateEscape reports whether b starts with the escape of a surrogate.
func surrogateEscape(b []byte) bool {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return false
	}
	var code rune
	for _, c := range b[2:6] {
		d, ok := hexDigit(c)
		if !ok {
			return false
		}
		code = code<<4 | d
	}
	return utf16.IsSurrogate(code)
}
