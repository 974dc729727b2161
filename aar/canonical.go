package aar

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxInteger is the largest integer a Line may hold, 2^53-1: the largest that
// a JavaScript verifier reads without loss (specification, section 3.2).
const MaxInteger = 1<<53 - 1

// maxDepth bounds nesting. No Line comes near it; a deeper one is not read.
const maxDepth = 128

// A SyntaxError says that a text is not one JSON value in UTF-8.
type SyntaxError struct{ Err error }

func (e *SyntaxError) Error() string { return e.Err.Error() }
func (e *SyntaxError) Unwrap() error { return e.Err }

// A ValueError says that a text is JSON but outside the value space of a Line
// (specification, section 3.2), so that it has no reproducible hash.
type ValueError struct {
	Path string // where, as `$.member[0]`
	What Violation
	Text string // the offending number or member name
}

// Violation names a rule of the value space.
type Violation uint8

// The rules of the value space.
const (
	Float         Violation = iota + 1 // a fraction or an exponent, in any spelling
	Negative                           // a minus sign, -0 included
	TooLarge                           // an integer above MaxInteger
	Null                               // a literal null
	DuplicateName                      // a member name that occurs twice in one object
)

func (e *ValueError) Error() string {
	switch e.What {
	case Float:
		return fmt.Sprintf("floating-point value at %s is outside the JCS value space", e.Path)
	case Negative:
		return fmt.Sprintf("negative integer at %s is outside the JCS value space", e.Path)
	case TooLarge:
		return fmt.Sprintf("integer %s at %s is at or above 2^53 (max %d)", e.Text, e.Path, MaxInteger)
	case Null:
		return fmt.Sprintf("null at %s; absent fields must be omitted, never null", e.Path)
	case DuplicateName:
		return fmt.Sprintf("duplicate member name at %s", e.Path)
	}
	return "outside the JCS value space at " + e.Path
}

// Canonicalize returns the RFC 8785 form of text, which must be one JSON value
// within the value space of a Line: no float in any spelling, integers from 0
// to [MaxInteger], no null, no duplicate member name. Members are ordered by
// the UTF-16 code units of their names. The error is a *[SyntaxError] or else a
// *[ValueError] that names the first violation.
func Canonicalize(text []byte) ([]byte, error) {
	c := canonicalizers.Get().(*canonicalizer)
	defer canonicalizers.Put(c)
	if err := c.run(text); err != nil {
		return nil, err
	}
	return bytes.Clone(c.out), nil
}

// canonicalizer turns one text into its canonical form in out. If the text is
// an object, top holds its members in canonical order. Both are valid until
// the next run.
type canonicalizer struct {
	out []byte
	top []member

	draft   bytes.Buffer // a Line as it is marshalled, for the Writer
	in      bytes.Buffer
	dec     *jsontext.Decoder
	members []member // a stack: the members of every object still open
	scratch []byte
	names   map[string]string // of members, so that the few that Lines have are allocated once
	invalid *ValueError       // the first violation; reading goes on, since a text that is no JSON at all is a different finding
}

// member is one member of an object: where `"name":value` stands in out.
type member struct {
	name       string
	start, val int // of the name's quote and of the value
	end        int
}

var canonicalizers = sync.Pool{New: func() any {
	c := &canonicalizer{names: map[string]string{}}
	c.dec = jsontext.NewDecoder(&c.in, jsontext.AllowDuplicateNames(true))
	return c
}}

func (c *canonicalizer) run(text []byte) error {
	c.out, c.members, c.top, c.invalid = c.out[:0], c.members[:0], nil, nil
	c.in = *bytes.NewBuffer(text)
	c.dec.Reset(&c.in, jsontext.AllowDuplicateNames(true))
	err := c.value(0)
	if err == nil {
		if _, err = c.dec.ReadToken(); err == nil {
			err = errors.New("bytes after the value")
		} else if err == io.EOF {
			err = nil
		}
	}
	c.in = bytes.Buffer{}
	if err != nil {
		return &SyntaxError{err}
	}
	if c.invalid != nil {
		return c.invalid
	}
	return nil
}

func (c *canonicalizer) value(depth int) error {
	switch c.dec.PeekKind() {
	case '{':
		return c.object(depth)
	case '[':
		return c.array(depth)
	}
	raw, err := c.dec.ReadValue()
	if err != nil {
		return err
	}
	switch raw[0] {
	case '"':
		return c.string(raw)
	case 'n':
		c.violation(Null, "")
	case 't', 'f':
	default:
		c.number(raw)
	}
	c.out = append(c.out, raw...)
	return nil
}

func (c *canonicalizer) number(raw []byte) {
	switch {
	case bytes.ContainsAny(raw, ".eE"):
		c.violation(Float, string(raw))
	case raw[0] == '-':
		c.violation(Negative, string(raw))
	default:
		if n, err := strconv.ParseUint(string(raw), 10, 64); err != nil || n > MaxInteger {
			c.violation(TooLarge, string(raw))
		}
	}
}

// string appends a strict string. Without an escape it is canonical already.
func (c *canonicalizer) string(raw []byte) error {
	if bytes.IndexByte(raw, '\\') < 0 {
		c.out = append(c.out, raw...)
		return nil
	}
	text, err := jsontext.AppendUnquote(c.scratch[:0], raw)
	if err != nil {
		return err
	}
	c.scratch = text
	c.out, err = jsontext.AppendQuote(c.out, text)
	return err
}

func (c *canonicalizer) array(depth int) error {
	if err := c.open(depth); err != nil {
		return err
	}
	c.out = append(c.out, '[')
	for i := 0; c.dec.PeekKind() != ']'; i++ {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		if err := c.value(depth + 1); err != nil {
			return err
		}
	}
	c.out = append(c.out, ']')
	_, err := c.dec.ReadToken()
	return err
}

func (c *canonicalizer) object(depth int) error {
	if err := c.open(depth); err != nil {
		return err
	}
	base := len(c.members)
	c.out = append(c.out, '{')
	for c.dec.PeekKind() != '}' {
		if len(c.members) > base {
			c.out = append(c.out, ',')
		}
		m := member{start: len(c.out)}
		raw, err := c.dec.ReadValue()
		if err != nil {
			return err
		}
		if err := c.string(raw); err != nil {
			return err
		}
		if bytes.IndexByte(raw, '\\') < 0 {
			m.name = c.intern(raw[1 : len(raw)-1])
		} else {
			m.name = c.intern(c.scratch)
		}
		c.out = append(c.out, ':')
		m.val = len(c.out)
		if err := c.value(depth + 1); err != nil {
			return err
		}
		m.end = len(c.out)
		c.members = append(c.members, m)
	}
	c.sort(c.members[base:])
	c.out = append(c.out, '}')
	if depth == 0 {
		c.top = c.members
	} else {
		c.members = c.members[:base]
	}
	_, err := c.dec.ReadToken()
	return err
}

// maxNames and maxName bound what is kept of names: all that Lines have is under both.
const (
	maxNames = 128
	maxName  = 64
)

// intern returns name as a string.
func (c *canonicalizer) intern(name []byte) string {
	if known, ok := c.names[string(name)]; ok {
		return known
	}
	s := string(name)
	if len(s) <= maxName && len(c.names) < maxNames {
		c.names[s] = s
	}
	return s
}

// sort puts the members of one object, the last thing in out, into order.
func (c *canonicalizer) sort(members []member) {
	ordered := true
	for i := 1; i < len(members) && ordered; i++ {
		ordered = compareUTF16(members[i-1].name, members[i].name) < 0
	}
	if ordered {
		return
	}
	start := members[0].start
	slices.SortStableFunc(members, func(a, b member) int { return compareUTF16(a.name, b.name) })
	c.scratch = append(c.scratch[:0], c.out[start:]...)
	c.out = c.out[:start]
	for i := range members {
		m := &members[i]
		if i > 0 {
			c.out = append(c.out, ',')
			if m.name == members[i-1].name {
				c.violation(DuplicateName, m.name)
			}
		}
		shift := len(c.out) - m.start
		c.out = append(c.out, c.scratch[m.start-start:m.end-start]...)
		m.start, m.val, m.end = m.start+shift, m.val+shift, m.end+shift
	}
}

// lookup returns the value of a top-level member in its canonical form.
func (c *canonicalizer) lookup(name string) (value []byte, ok bool) {
	i, ok := c.find(name)
	if !ok {
		return nil, false
	}
	return c.out[c.top[i].val:c.top[i].end], true
}

func (c *canonicalizer) find(name string) (int, bool) {
	return slices.BinarySearchFunc(c.top, name, func(m member, name string) int { return compareUTF16(m.name, name) })
}

// appendWith appends the object in out with one more member, whose name it
// does not have and is not its first.
func (c *canonicalizer) appendWith(dst []byte, name string, value Signature) []byte {
	i, _ := c.find(name)
	at := c.top[i-1].end
	dst = append(dst, c.out[:at]...)
	dst = append(dst, `,"`+name+`":"`...)
	dst = hex.AppendEncode(dst, value[:])
	dst = append(dst, '"')
	return append(dst, c.out[at:]...)
}

// appendWithout appends the object in out without the member of that name.
func (c *canonicalizer) appendWithout(dst []byte, name string) []byte {
	i, ok := c.find(name)
	if !ok {
		return append(dst, c.out...)
	}
	start, end := c.top[i].start, c.top[i].end
	if i > 0 {
		start-- // the comma before it
	} else if len(c.top) > 1 {
		end++ // the comma behind it
	}
	return append(append(dst, c.out[:start]...), c.out[end:]...)
}

func (c *canonicalizer) open(depth int) error {
	if depth >= maxDepth {
		return fmt.Errorf("nesting over %d", maxDepth)
	}
	_, err := c.dec.ReadToken()
	return err
}

func (c *canonicalizer) violation(what Violation, text string) {
	if c.invalid == nil {
		c.invalid = &ValueError{Path: c.path(what, text), What: what, Text: text}
	}
}

// path spells where the decoder stands as `$.member[0]`. A duplicate is found
// when its object ends: there the last member read gives way to the duplicate.
func (c *canonicalizer) path(what Violation, text string) string {
	var b strings.Builder
	b.WriteByte('$')
	tokens := slices.Collect(c.dec.StackPointer().Tokens())
	if what == DuplicateName {
		tokens[len(tokens)-1] = text
	}
	for i, token := range tokens {
		if kind, _ := c.dec.StackIndex(i + 1); kind == '[' {
			b.WriteString("[" + token + "]")
		} else {
			b.WriteString("." + token)
		}
	}
	return b.String()
}

// compareUTF16 orders strings by their UTF-16 code units (RFC 8785, section
// 3.2.3). That differs from byte order only where a code point above the Basic
// Multilingual Plane (surrogates, 0xD800…) meets one at U+E000 or above.
func compareUTF16(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n == len(a) || n == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	for !utf8.RuneStart(a[n]) { // back to the start of the rune that differs
		n--
	}
	ra, _ := utf8.DecodeRuneInString(a[n:])
	rb, _ := utf8.DecodeRuneInString(b[n:])
	if (ra > 0xffff) == (rb > 0xffff) {
		return cmp.Compare(ra, rb)
	}
	return cmp.Compare(leadUnit(ra), leadUnit(rb))
}

// leadUnit is the first UTF-16 code unit of a rune.
func leadUnit(r rune) rune {
	if r > 0xffff {
		return 0xd800 + (r-0x10000)>>10
	}
	return r
}
