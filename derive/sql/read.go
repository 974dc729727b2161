package sql

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Limits on a text. What is beyond one is a Fault.
const (
	MaxText  = 1 << 20 // bytes
	MaxDepth = 1000    // open parentheses
)

// Reading is what a text was read as.
type Reading struct {
	// Kinds are the kinds of statement in it, each once, in order of
	// appearance; [Kinds] lists the values. They say all that the text does
	// that is not in a literal: a common table expression that deletes adds
	// "DELETE", a function on a written list adds "FUNCTION". With a Fault one
	// of them is [Unknown]. There is always one.
	Kinds []string
	// Stacked: there is more than one statement that is not empty.
	Stacked bool
	Fault   string // why it is not understood, fixed text; "" if it is
}

// Read reads a text by the rules of one dialect, or of all four for [Any],
// where it is a Fault if they differ in kinds or stacking; Kinds and Stacked
// then are those of all readings together. It takes time and memory linear in
// the text.
//
// EXPLAIN is of that kind alone, since what it explains is not run; EXPLAIN
// ANALYZE adds the kinds of what it runs.
func Read(text string, d Dialect) Reading {
	switch {
	case len(text) > MaxText:
		return Reading{Kinds: []string{Unknown}, Fault: faultLong}
	case strings.IndexByte(text, 0) >= 0:
		return Reading{Kinds: []string{Unknown}, Fault: faultNUL}
	case !utf8.ValidString(text):
		return Reading{Kinds: []string{Unknown}, Fault: faultUTF8}
	}
	f := dialectFeatures[d]
	if f == nil {
		return Reading{Kinds: []string{Unknown}, Fault: faultNoDialect}
	}
	buf := tokenBuffers.Get().(*[]token)
	defer func() {
		if cap(*buf) <= keptTokens {
			tokenBuffers.Put(buf)
		}
	}()
	r := readAs(text, f, buf)
	if r.split != "" {
		r = readAll(text, r.split, buf)
	}
	return Reading{Kinds: r.kinds.names(), Stacked: r.stacked, Fault: r.fault}
}

const faultNoDialect = "the dialect is not a known one"

// tokenBuffers are kept, since the tokens of a text take more than it does. One
// grown by a huge text is not.
var tokenBuffers = sync.Pool{New: func() any { return new([]token) }}

const keptTokens = 1 << 14

// readAs reads by one set of rules.
func readAs(text string, f *features, buf *[]token) reader {
	l := lexer{features: f, text: text, tokens: (*buf)[:0]}
	l.run()
	*buf = l.tokens[:0]
	r := reader{features: f, text: text, split: l.split}
	if l.split != "" {
		return r
	}
	r.minus = len(l.tokens) > 0 && l.tokens[0].kind == tokenOp && text[l.tokens[0].start] == '-'
	if l.fault != "" {
		r.fault = l.fault // the first one; the kinds are those up to there
	}
	r.script(l.tokens)
	if l.fault != "" {
		r.kinds.add(kindUnknown)
	}
	return r
}

// readAll reads by the rules of every dialect and compares. Why they differ is
// known from the first place where they can.
func readAll(text, split string, buf *[]token) reader {
	var all reader
	differ, first := false, true
	for _, f := range comparedFeatures {
		r := readAs(text, f, buf)
		if f.dashSpace && r.minus && !r.stacked {
			continue // a text that begins with a minus: no engine runs that
		}
		if first {
			all, first = r, false
			continue
		}
		differ = differ || r.stacked != all.stacked || r.kinds.has != all.kinds.has
		all.kinds.addAll(&r.kinds)
		all.stacked = all.stacked || r.stacked
		if all.fault == "" {
			all.fault = r.fault
		}
	}
	if differ {
		all.fault = split
		all.kinds.add(kindUnknown)
	}
	return all
}
