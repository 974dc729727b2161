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

// why a text is not read. All are fixed texts.
const (
	faultLong       = "the query is longer than 1 MiB"
	faultUTF8       = "the query is not UTF-8"
	faultNUL        = "the query holds a NUL"
	faultControl    = "a control character stands outside quotes"
	faultLookalike  = "white space, a look-alike or an invisible character beyond ASCII stands outside quotes"
	faultString     = "a literal has no end"
	faultName       = "a quoted name has no end"
	faultComment    = "a comment has no end"
	faultNewline    = "a line comment holds a character at which some engines end the line"
	faultExecutable = "an executable comment (/*! or SET_VAR) is not judged"
	faultBackslash  = "a backslash stands outside quotes, a command of some clients"
	faultClient     = "a line begins with a command of the client"
	faultDigits     = "a number runs into a name"
	faultPrefix     = "a quote follows a letter that begins another kind of literal in some engines"
	faultHex        = "a bit or hexadecimal literal holds other characters"
	faultContinued  = "a literal with escapes goes on in another line"
	faultUnicode    = "a name is written in Unicode escapes"
)

// What dialects read differently. Each is a Fault if the readings differ in
// what the query does.
const (
	splitBackslash  = "dialects disagree about a backslash before a quote: set dialect"
	splitDash       = "dialects disagree about -- without white space behind it: set dialect"
	splitHash       = "dialects disagree about #, a comment in some: set dialect"
	splitNested     = "dialects disagree about a comment within a comment: set dialect"
	splitExecutable = "dialects disagree about /*! or /*+, which some run: set dialect"
	splitBracket    = "dialects disagree about [, a quote in some: set dialect"
	splitBacktick   = "dialects disagree about `, a quote in some: set dialect"
	splitDollar     = "dialects disagree about $, a quote in some: set dialect"
	splitUnicode    = "dialects disagree about a name in Unicode escapes: set dialect"
	splitLine       = "dialects disagree about a line that is a client's command in some: set dialect"
	splitImplicit   = "dialects disagree about where a statement ends, which needs no ; in some: set dialect"
)

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

// prefixed reads a name of at most two letters and the quote at i behind it.
func (l *lexer) prefixed(start, i int) int {
	var prefix [2]byte
	n := copy(prefix[:], l.text[start:i])
	for j := range n {
		prefix[j] |= 0x20
	}
	switch string(prefix[:n]) {
	case "e":
		if l.any {
			return l.quoted(start, i, '\'', false, tokenString)
		}
		end := l.quoted(start, i, '\'', l.backslash || l.escapeE, tokenString)
		if l.fault == "" && l.escapeE && l.continued(end) {
			l.fault = faultContinued
		}
		return end
	case "n":
		return l.quoted(start, i, '\'', l.backslash, tokenString)
	case "x", "b":
		end := l.quoted(start, i, '\'', l.backslash, tokenString)
		if l.fault == "" && l.split == "" && !hexadecimal(l.text[i+1:end-1]) {
			l.fault = faultHex
		}
		return end
	case "q", "nq", "r", "br", "rb", "f", "ur":
		l.fault = faultPrefix
		return i
	}
	w := lookup(l.text[start:i])
	l.tokens = append(l.tokens, token{start: uint32(start), end: uint32(i), kind: tokenWord, word: w})
	return i
}

func hexadecimal(s string) bool {
	for i := range len(s) {
		if c := s[i]; class[c]&isDigit == 0 && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// continued says whether a literal that ends at i goes on behind white space
// with a newline in it, as the SQL standard has it.
func (l *lexer) continued(i int) bool {
	newline := false
	for i < len(l.text) {
		switch c := l.text[i]; {
		case c == '\n' || c == '\r':
			newline = true
			i++
		case c == ' ' || c == '\t':
			i++
		case strings.HasPrefix(l.text[i:], "--"):
			end := strings.IndexByte(l.text[i:], '\n')
			if end < 0 {
				return false
			}
			i += end
		default:
			return newline && c == '\''
		}
	}
	return false
}

// unicodeEscaped reads U and the & at i behind it: PostgreSQL's U&'…' and
// U&"…", elsewhere a name and an operator.
func (l *lexer) unicodeEscaped(start, i int) int {
	switch l.text[i+1] {
	case '\'':
		return l.quoted(start, i+1, '\'', l.backslash, tokenString)
	case '"':
		end := l.quoted(start, i+1, '"', l.backslash, tokenName)
		if l.fault == "" && l.split == "" && (l.any || l.escapeE) && strings.IndexByte(l.text[i:end], '\\') >= 0 {
			if l.any {
				l.split = splitUnicode
			} else {
				l.fault = faultUnicode
			}
		}
		return end
	}
	l.emit(tokenWord, start, i)
	return i
}

// quoted reads what is quoted from the quote at open on; the token begins at
// start. A doubled quote is one that is part of it.
func (l *lexer) quoted(start, open int, quote byte, backslash bool, kind tokenKind) int {
	text := l.text
	i := open + 1
	for {
		at := strings.IndexByte(text[i:], quote)
		if at < 0 {
			l.fault = faultName
			if kind == tokenString {
				l.fault = faultString
			}
			return i
		}
		at += i
		if quote != '`' && at > open+1 && text[at-1] == '\\' {
			if l.any {
				l.split = splitBackslash
				return at
			}
			if backslash {
				first := at - 1
				for first > i && text[first-1] == '\\' {
					first--
				}
				if (at-first)%2 == 1 {
					i = at + 1
					continue
				}
			}
		}
		if at+1 < len(text) && text[at+1] == quote {
			i = at + 2
			continue
		}
		if kind == tokenName {
			l.emit(kind, open+1, at)
		} else {
			l.emit(kind, start, at+1)
		}
		return at + 1
	}
}

func (l *lexer) bracketed(open int) int {
	i := open + 1
	for {
		at := strings.IndexByte(l.text[i:], ']')
		if at < 0 {
			l.fault = faultName
			return i
		}
		i += at + 1
		if l.doubled && i < len(l.text) && l.text[i] == ']' {
			i++
			continue
		}
		l.emit(tokenName, open+1, i-1)
		return i
	}
}

// dashes reads a -- at i.
func (l *lexer) dashes(i int) int {
	if i+2 < len(l.text) && class[l.text[i+2]]&isBlank == 0 {
		if l.any {
			l.split = splitDash
			return i
		}
		if l.dashSpace {
			l.emit(tokenOp, i, i+1)
			return i + 1
		}
	}
	return l.lineComment(i)
}

// lineComment reads a comment up to the end of its line.
func (l *lexer) lineComment(i int) int {
	end := strings.IndexByte(l.text[i:], '\n')
	if end < 0 {
		end = len(l.text)
	} else {
		end += i
	}
	// A CR is part of CRLF, or ends the line for PostgreSQL alone.
	body := strings.TrimSuffix(l.text[i:end], "\r")
	if strings.IndexByte(body, '\r') >= 0 || strings.ContainsAny(body, "\u0085\u2028\u2029") {
		l.fault = faultNewline
	}
	return end
}

func (l *lexer) comment(open int) int {
	text := l.text
	i := open + 2
	if i < len(text) && (text[i] == '!' || strings.HasPrefix(text[i:], "M!")) {
		if l.any {
			l.split = splitExecutable
			return open
		}
		if l.executable {
			l.fault = faultExecutable
			return open
		}
	}
	hint := i < len(text) && text[i] == '+'
	if hint && l.any {
		l.split = splitExecutable
		return open
	}
	for depth := 1; ; {
		at := strings.IndexAny(text[i:], "*/")
		if at < 0 || i+at+1 >= len(text) {
			l.fault = faultComment
			return open
		}
		i += at
		switch {
		case text[i] == '*' && text[i+1] == '/':
			i += 2
			depth--
		case text[i] == '/' && text[i+1] == '*':
			if l.any {
				l.split = splitNested
				return open
			}
			if l.nested {
				depth++
				i += 2
			} else {
				i++
			}
		default:
			i++
		}
		if depth == 0 {
			break
		}
	}
	if hint && l.executable && containsFold(text[open:i], "set_var") {
		l.fault = faultExecutable
	}
	return i
}

// containsFold is strings.Contains for an ASCII needle in lower case.
func containsFold(text, needle string) bool {
	for i := 0; i+len(needle) <= len(text); i++ {
		if text[i]|0x20 == needle[0] && strings.EqualFold(text[i:i+len(needle)], needle) {
			return true
		}
	}
	return false
}

// dollarSign reads a parameter ($1, $name), or a literal in dollar quotes.
func (l *lexer) dollarSign(i int) int {
	text := l.text
	end := i + 1
	for end < len(text) && class[text[end]]&isNamePart != 0 && text[end] != '$' {
		if text[end] < utf8.RuneSelf {
			end++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[end:])
		if !plainLetter(r) {
			l.fault = faultLookalike
			return i
		}
		end += size
	}
	if end < len(text) && text[end] == '$' && (end == i+1 || class[text[i+1]]&isDigit == 0) {
		if l.any {
			l.split = splitDollar
			return i
		}
		if l.dollar {
			tag := text[i : end+1]
			body := strings.Index(text[end+1:], tag)
			if body < 0 {
				l.fault = faultString
				return i
			}
			end += 1 + body + len(tag)
			l.emit(tokenString, i, end)
			return end
		}
		end++
	}
	if end == i+1 && end < len(text) && text[end] == '(' {
		l.fault = faultClient // a variable of sqlcmd, replaced before the text is sent
		return i
	}
	l.emit(tokenOp, i, end)
	return end
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

// lineStart says whether only blanks stand before i on its line.
func (l *lexer) lineStart(i int) bool {
	for i > 0 && (l.text[i-1] == ' ' || l.text[i-1] == '\t') {
		i--
	}
	return i == 0 || l.text[i-1] == '\n' || l.text[i-1] == '\r'
}

// alone says whether the text from start to end, GO or /, is alone on its line
// but for a count of GO and a comment.
func (l *lexer) alone(start, end int) bool {
	if !l.lineStart(start) {
		return false
	}
	rest := l.text[l.behind(start, end):]
	return rest == "" || rest[0] == '\n' || rest[0] == '\r' || rest[0] == ';' ||
		strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*")
}

// behind skips the blanks after end, and a count after GO.
func (l *lexer) behind(start, end int) int {
	count := l.text[start] != '/'
	for end < len(l.text) && (l.text[end] == ' ' || l.text[end] == '\t' || count && class[l.text[end]]&isDigit != 0) {
		end++
	}
	return end
}

// terminator reads a line that ends a statement for some clients.
func (l *lexer) terminator(start, end int) int {
	if l.any {
		l.split = splitLine
		return start
	}
	l.emit(tokenEnd, start, end)
	return l.behind(start, end)
}

// sqlcmdCommand says whether a line begins with a command of sqlcmd that acts.
func sqlcmdCommand(line string) bool {
	if strings.HasPrefix(line, "!!") {
		return true
	}
	if line[0] != ':' {
		return false
	}
	end := 1
	for end < len(line) && class[line[end]]&isNameStart != 0 {
		end++
	}
	switch strings.ToLower(line[1:min(end, 12)]) {
	case "r", "setvar", "connect", "out", "error", "perftrace", "ed", "on", "exit", "quit", "reset", "xml":
		return true
	}
	return false
}
