package sql

import "strings"

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
