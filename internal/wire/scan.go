package wire

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// maxName is the longest member name in bytes of JSON text that a Scanner
// keeps; every escaped spelling of the names it looks for is shorter.
const maxName = 64

// Scanner reads a frame that cannot be parsed, because it is too long to hold
// or not Exact, and finds the little that can be said of it: whether any
// reader could find a tools/call in it, and the id to answer to.
//
// It takes the frame in chunks of any size and holds at most two ids (64 KiB
// each) and one member name. It never fails: text that is not JSON has strings,
// brackets and commas too, or it has no id. The zero Scanner is ready.
type Scanner struct {
	call callFinder

	depth    int
	object   bool // the outermost container is an object
	inString bool
	escaped  bool

	// The member of the outermost object that is being read.
	phase phase
	name  capture
	value capture
	isID  bool
	bad   bool // the member is not name, colon, scalar

	ids int    // members that some reader takes for the id
	id  []byte // the value of the last one, if it was readable

	hasMethod, hasResult bool
}

// phase is a place within a member of the outermost object.
type phase uint8

const (
	beforeName phase = iota
	inName
	beforeColon
	beforeValue
	inStringValue
	inBareValue
	afterValue
)

// capture is a bounded copy of a token.
type capture struct {
	text []byte
	over bool
}

func (c *capture) add(b byte, limit int) {
	if len(c.text) == limit {
		c.over = true
		return
	}
	c.text = append(c.text, b)
}

func (c *capture) clear() { c.text, c.over = c.text[:0], false }

// Write scans the next bytes of the frame. It never returns an error.
func (s *Scanner) Write(p []byte) (int, error) {
	s.call.scan(p)
	for i := 0; i < len(p); {
		if s.inString {
			i += s.stringBytes(p[i:])
		} else {
			s.structure(p[i])
			i++
		}
	}
	return len(p), nil
}

// OverCap returns what can be said of a frame over the cap after all of its
// body, [Frame.Body] and the chunks of [Reader.Rest], has been written.
func (s *Scanner) OverCap() Message { return s.message(OverCap, faultOverCap) }

func (s *Scanner) message(c Class, f fault) Message {
	m := Message{Class: c, Reason: string(f), MayCall: s.call.found}
	if s.ids == 1 && !s.isID { // an unfinished id member is one more
		m.ID = ID{Raw: s.id}
	}
	switch {
	case s.hasMethod && s.hasResult:
	case s.hasMethod && s.ids > 0:
		m.Kind = Request
	case s.hasMethod:
		m.Kind = Notification
	case s.hasResult:
		m.Kind = Response
	}
	return m
}

// atTop reports whether the scanner is directly inside an outermost object.
func (s *Scanner) atTop() bool { return s.depth == 1 && s.object }

// stringBytes takes bytes up to the end of the string, or all of p.
func (s *Scanner) stringBytes(p []byte) int {
	var into *capture
	limit := maxName
	switch {
	case s.phase == inName:
		into = &s.name
	case s.phase == inStringValue:
		into, limit = &s.value, maxID
	}
	for i, c := range p {
		if into != nil {
			into.add(c, limit)
		}
		switch {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = true
		case c == '"':
			s.inString = false
			switch s.phase {
			case inName:
				s.phase = beforeColon
			case inStringValue:
				s.phase = afterValue
			}
			return i + 1
		}
	}
	return len(p)
}

// structure takes one byte outside of strings.
func (s *Scanner) structure(c byte) {
	top := s.atTop()
	switch c {
	case '"':
		s.inString = true
		if top {
			s.openString()
		}
	case '{', '[':
		if top {
			s.bad = s.bad || s.isID || s.phase != beforeValue
			s.phase = afterValue
		}
		if s.depth++; s.depth == 1 {
			s.object = c == '{'
			s.startMember()
		}
	case '}', ']':
		if top {
			s.endMember()
		}
		s.depth = max(s.depth-1, 0)
	case ',':
		if top {
			s.endMember()
		}
	case ':':
		if top {
			s.colon()
		}
	case ' ', '\t', '\r', '\n':
		if top && s.phase == inBareValue {
			s.phase = afterValue
		}
	default:
		if top {
			s.bare(c)
		}
	}
}

func (s *Scanner) openString() {
	switch s.phase {
	case beforeName:
		s.phase = inName
		s.name.add('"', maxName)
	case beforeValue:
		if s.isID {
			s.phase = inStringValue
			s.value.add('"', maxID)
		} else {
			s.phase = afterValue
		}
	default:
		s.bad = true
	}
}

// colon judges the name that has been read.
func (s *Scanner) colon() {
	if s.phase != beforeColon {
		s.bad = true
		return
	}
	s.phase = beforeValue
	if s.name.over {
		return
	}
	name, err := jsontext.AppendUnquote(nil, s.name.text)
	if err != nil {
		return
	}
	switch string(name) {
	case "method":
		s.hasMethod = true
	case "result", "error":
		s.hasResult = true
	case "id":
		s.isID = true
	default:
		if disguised(name, []string{"id"}) {
			s.isID, s.bad = true, true // one id too many, and not readable
		}
	}
}

// bare takes a byte of a number, a literal or rubbish.
func (s *Scanner) bare(c byte) {
	switch s.phase {
	case beforeValue, inBareValue:
		s.phase = inBareValue
		if s.isID {
			s.value.add(c, maxID)
		}
	default:
		s.bad = true
	}
}

func (s *Scanner) startMember() {
	s.phase = beforeName
	s.isID, s.bad = false, false
	s.name.clear()
	s.value.clear()
}

func (s *Scanner) endMember() {
	if s.isID {
		s.ids++
		s.id = nil
		if !s.bad && !s.value.over && readableID(s.value.text) {
			s.id = bytes.Clone(s.value.text)
		}
	}
	s.startMember()
}

// readableID reports whether text can stand as the id of an answer.
func readableID(text []byte) bool {
	v := jsontext.Value(text)
	return (v.Kind() == '"' || v.Kind() == '0') && v.IsValid()
}
