package sql

import (
	"strings"
	"unicode/utf8"
)

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
