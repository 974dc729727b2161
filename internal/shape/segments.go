package shape

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Segments are the lower-cased words of a name. Anything that is not a letter
// or a digit separates (so _, - and . do, and so do / and : in prefixed
// names), and so does a change of case as in readFile, HTTPGet and URLFetch,
// and a step between letters and digits: path2 is about a path.
func Segments(name string) []string {
	return split(name, house)
}

// contractSegments split where the guard contract does: at _ - . and white
// space and at a change of case among ASCII letters. Digits do not separate,
// so path2 is one word.
func contractSegments(name string) []string {
	return split(name, contract)
}

// kind is what one character does in a name.
type kind uint8

const (
	separator kind = iota
	lower
	upper
	digit
	other // a letter without case, or one the reading takes no notice of
)

func house(r rune) kind {
	switch {
	case unicode.IsLower(r):
		return lower
	case unicode.IsUpper(r), unicode.IsTitle(r):
		return upper
	case unicode.IsDigit(r):
		return digit
	case unicode.IsLetter(r), unicode.IsMark(r):
		return other
	}
	return separator
}

func contract(r rune) kind {
	switch {
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
		return lower
	case 'A' <= r && r <= 'Z':
		return upper
	case r == '_', r == '-', r == '.', unicode.IsSpace(r), '\x1c' <= r && r <= '\x1f':
		return separator
	}
	return other
}

func split(name string, kindOf func(rune) kind) []string {
	var segments []string
	walk(name, kindOf, func(segment string) { segments = append(segments, strings.ToLower(segment)) })
	return segments
}

// walk calls visit with every segment of name as it is written.
func walk(name string, kindOf func(rune) kind, visit func(segment string)) {
	start := 0 // of the segment being read
	before := separator
	for i, r := range name {
		now := kindOf(r)
		switch {
		case now == separator:
			if before != separator {
				visit(name[start:i])
			}
		case before == separator:
			start = i
		case now == upper && (before == lower || before == digit || before == upper && lowerNext(name[i:], kindOf)),
			now == digit && before != digit,
			now != digit && before == digit:
			visit(name[start:i])
			start = i
		}
		before = now
	}
	if before != separator {
		visit(name[start:])
	}
}

// lowerNext reports whether a small letter follows the first character: the
// last capital of a run belongs to the word after it. A digit is not one, not
// even where the contract counts it with the small letters.
func lowerNext(s string, kindOf func(rune) kind) bool {
	_, size := utf8.DecodeRuneInString(s)
	next, _ := utf8.DecodeRuneInString(s[size:])
	return kindOf(next) == lower && !('0' <= next && next <= '9')
}
