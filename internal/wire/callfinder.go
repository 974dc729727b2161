package wire

import "unicode/utf16"

// callFinder looks for the text tools/call in a stream of bytes, in every
// spelling that some JSON reader turns into it. It knows nothing of strings or
// structure and errs on the side of finding: bytes outside of printable ASCII
// are skipped wherever they stand, as a reader does that drops what it cannot
// decode (and as UTF-16 needs), and every escape counts.
type callFinder struct {
	found   bool
	matched int // bytes of the text that were seen
	escape  int // 0: none, 1: behind a backslash, 2 to 5: before a digit of \uXXXX
	code    rune
}

func (f *callFinder) scan(p []byte) {
	for _, c := range p {
		if f.found {
			return
		}
		if c < ' ' || c >= 0x7f {
			continue
		}
		switch {
		case f.escape == 0 && c != '\\':
			f.match(rune(c))
		case f.escape == 0:
			f.escape = 1
		case f.escape == 1:
			f.escaped(c)
		default:
			f.digit(c)
		}
	}
}

// escaped takes the byte behind a backslash.
func (f *callFinder) escaped(c byte) {
	f.escape = 0
	switch c {
	case 'u':
		f.escape, f.code = 2, 0
	case 'b', 'f', 'n', 'r', 't':
		f.matched = 0
	default:
		f.match(rune(c))
	}
}

// digit takes a byte where a digit of \uXXXX belongs.
func (f *callFinder) digit(c byte) {
	d, ok := hexDigit(c)
	if !ok {
		f.escape, f.matched = 0, 0
		if c == '\\' {
			f.escape = 1
		} else {
			f.match(rune(c))
		}
		return
	}
	f.code = f.code<<4 | d
	if f.escape++; f.escape == 6 {
		f.escape = 0
		if !utf16.IsSurrogate(f.code) { // readers may drop a lone one
			f.match(f.code)
		}
	}
}

// match takes the next character. No part of the text but its first letter
// starts it anew, so there is nothing to go back to.
func (f *callFinder) match(r rune) {
	switch r {
	case rune(MethodCall[f.matched]):
		f.matched++
		f.found = f.matched == len(MethodCall)
	case rune(MethodCall[0]):
		f.matched = 1
	default:
		f.matched = 0
	}
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0'), true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10, true
	}
	return 0, false
}
