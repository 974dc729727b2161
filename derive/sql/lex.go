package sql

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenWord   tokenKind = iota // a bare name or keyword
	tokenName                    // a name in quotes; in MySQL "…" is a string
	tokenString                  // a literal with its prefix
	tokenNumber
	tokenOpen
	tokenClose
	tokenComma
	tokenDot
	tokenEnd // of a statement
	tokenOp  // any other character, one a token
)

type token struct {
	start, end uint32 // of its text; for names in quotes, without them
	kind       tokenKind
	word       word // of a tokenWord
}

// classes of bytes outside quotes.
const (
	isBlank = 1 << iota
	isNameStart
	isDigit
	isNamePart
)

var class = func() (c [256]uint8) {
	for _, b := range " \t\r\n" {
		c[b] = isBlank
	}
	for b := range 256 {
		switch {
		case b|0x20 >= 'a' && b|0x20 <= 'z' && b < 0x80, b == '_', b >= 0x80:
			c[b] = isNameStart | isNamePart
		case b >= '0' && b <= '9':
			c[b] = isDigit | isNamePart
		case b == '$':
			c[b] = isNamePart
		}
	}
	return c
}()

// lexer cuts a text into tokens by the rules of one dialect. With features.any
// it stops at the first thing that dialects read differently, named in split;
// up to there they agree.
type lexer struct {
	*features
	text   string
	tokens []token
	fault  string
	split  string
}

func (l *lexer) emit(kind tokenKind, start, end int) {
	l.tokens = append(l.tokens, token{start: uint32(start), end: uint32(end), kind: kind})
}

// run reads the whole text, which is valid UTF-8 without a NUL. Every step
// consumes what it looks at, so that it is linear.
func (l *lexer) run() {
	for i := 0; i < len(l.text); {
		next := l.step(i)
		if l.fault != "" || l.split != "" {
			return
		}
		i = next
	}
}

// step reads the token, comment or white space at i and returns its end.
func (l *lexer) step(i int) int {
	text := l.text
	c := text[i]
	switch {
	case class[c]&isBlank != 0:
		return i + 1
	case class[c]&isNameStart != 0:
		return l.name(i)
	case class[c]&isDigit != 0:
		return l.number(i)
	}
	var next byte
	if i+1 < len(text) {
		next = text[i+1]
	}
	switch c {
	case '\'':
		return l.quoted(i, i, '\'', l.backslash, tokenString)
	case '"':
		return l.quoted(i, i, '"', l.backslash, tokenName)
	case '`':
		if l.any {
			l.split = splitBacktick
			return i
		}
		if l.backtick {
			return l.quoted(i, i, '`', false, tokenName)
		}
	case '[':
		if l.any {
			l.split = splitBracket
			return i
		}
		if l.brackets {
			return l.bracketed(i)
		}
	case '-':
		if next == '-' {
			return l.dashes(i)
		}
	case '#':
		if l.any {
			l.split = splitHash
			return i
		}
		if l.hash {
			return l.lineComment(i)
		}
	case '/':
		if next == '*' {
			return l.comment(i)
		}
		if (l.any || l.slashLine) && l.alone(i, i+1) {
			return l.terminator(i, i+1)
		}
	case '$':
		return l.dollarSign(i)
	case '.':
		if class[next]&isDigit != 0 && !l.qualifies(i) {
			return l.number(i)
		}
		l.emit(tokenDot, i, i+1)
		return i + 1
	case '(':
		l.emit(tokenOpen, i, i+1)
		return i + 1
	case ')':
		l.emit(tokenClose, i, i+1)
		return i + 1
	case ',':
		l.emit(tokenComma, i, i+1)
		return i + 1
	case ';':
		l.emit(tokenEnd, i, i+1)
		return i + 1
	case '\\':
		l.fault = faultBackslash
		return i
	case ':', '!':
		if (l.any || l.sqlcmd) && l.lineStart(i) && sqlcmdCommand(text[i:]) {
			if l.any {
				l.split = splitLine
			} else {
				l.fault = faultClient
			}
			return i
		}
	}
	if c < ' ' || c == 0x7f {
		l.fault = faultControl
		return i
	}
	l.emit(tokenOp, i, i+1)
	return i + 1
}

// qualifies says whether a dot at i belongs to a name right before it.
func (l *lexer) qualifies(i int) bool {
	n := len(l.tokens)
	return n > 0 && l.tokens[n-1].kind <= tokenName && i > 0 && class[l.text[i-1]]&isBlank == 0
}

// name reads a bare name or keyword, or the literal it is the prefix of.
func (l *lexer) name(start int) int {
	text := l.text
	i := start
	for i < len(text) && class[text[i]]&isNamePart != 0 {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !plainLetter(r) {
			l.fault = faultLookalike
			return i
		}
		i += size
	}
	if i < len(text) {
		switch text[i] {
		case '\'':
			if i-start <= 2 {
				return l.prefixed(start, i)
			}
		case '&':
			if i-start == 1 && text[start]|0x20 == 'u' && i+1 < len(text) {
				return l.unicodeEscaped(start, i)
			}
		}
	}
	w := lookup(text[start:i])
	if w == wGo && (l.any || l.goLine) && l.alone(start, i) {
		return l.terminator(start, i)
	}
	l.tokens = append(l.tokens, token{start: uint32(start), end: uint32(i), kind: tokenWord, word: w})
	return i
}

// plainLetter is a character beyond ASCII that has a place in a bare name: a
// letter, mark or digit that no folding makes an ASCII one.
func plainLetter(r rune) bool {
	switch {
	case r >= 0xff00 && r <= 0xffef: // full and half width forms
		return false
	case r >= 0x1d400 && r <= 0x1d7ff: // mathematical letters
		return false
	case r >= 0x2100 && r <= 0x218f: // letterlike symbols, such as the Kelvin sign
		return false
	case r == 0x0130, r == 0x0131, r == 0x017f: // dotted I, dotless i, long s
		return false
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0x034f, r == 0x17b4, r == 0x17b5: // invisible
		return false
	case r >= 0x180b && r <= 0x180f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef: // variation selectors
		return false
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

// number reads a number from a digit or a dot on.
func (l *lexer) number(start int) int {
	text := l.text
	i := start
	if text[i] == '0' && i+2 < len(text) && strings.IndexByte("xXbBoO", text[i+1]) >= 0 && hexadecimal(text[i+2:i+3]) {
		for i += 2; i < len(text) && (hexadecimal(text[i:i+1]) || text[i] == '_'); i++ {
		}
	} else {
		i = digits(text, i)
		if i < len(text) && text[i] == '.' {
			i = digits(text, i+1)
		}
		if i < len(text) && text[i]|0x20 == 'e' {
			exponent := i + 1
			if exponent < len(text) && (text[exponent] == '+' || text[exponent] == '-') {
				exponent++
			}
			if end := digits(text, exponent); end > exponent {
				i = end
			}
		}
	}
	if i < len(text) && class[text[i]]&isNamePart != 0 {
		l.fault = faultDigits
		return i
	}
	l.emit(tokenNumber, start, i)
	return i
}

// digits returns the end of the digits from i on, which may have _ between.
func digits(text string, i int) int {
	for i < len(text) && (class[text[i]]&isDigit != 0 || text[i] == '_' && i > 0 && class[text[i-1]]&isDigit != 0) {
		i++
	}
	return i
}
