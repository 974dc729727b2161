package sql

import "strings"

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
