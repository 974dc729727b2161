package sql

import "strings"

// nameOf is the text of a token as a name: without the quotes of a literal that
// stands where a name may.
func (r *reader) nameOf(t token) string {
	text := r.text[t.start:t.end]
	if t.kind == tokenString && len(text) >= 2 && text[0] == '\'' {
		return text[1 : len(text)-1]
	}
	return text
}

// spells says whether a token, quoted or not, is that name.
func (r *reader) spells(t token, name string) bool {
	return t.kind <= tokenString && strings.EqualFold(r.nameOf(t), name)
}

// is says whether the token at i is that character.
func (r *reader) is(s []token, i int, c byte) bool {
	return i >= 0 && i < len(s) && s[i].kind == tokenOp && r.text[s[i].start] == c
}

// skipOpen returns the index of the first token from i on that is no opening
// parenthesis.
func skipOpen(s []token, i int) int {
	for i < len(s) && s[i].kind == tokenOpen {
		i++
	}
	return i
}

// wordAt is the keyword at i, or 0.
func wordAt(s []token, i int) word {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i].word
}

// wordBefore is the keyword before i, or 0.
func wordBefore(s []token, i int) word { return wordAt(s, i-1) }
