// Package report makes text of others safe to show.
package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SafeText returns s for a terminal: untrusted text cannot move the cursor, set
// a title or a clipboard, begin a line of its own, or turn the reading
// direction. Control and C1 characters, line and paragraph separators and
// format characters (bidi, tags, zero width) are shown as `\u` and four hex
// digits, or `\U` and eight; a byte that is not UTF-8 as `\x` and two. The
// joiners that scripts and emoji need pass, as does the soft hyphen.
func SafeText(s string) string {
	if !strings.ContainsFunc(s, unsafeRune) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unsafeRune(r):
			b.WriteString(s[i : i+size])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += size
	}
	return b.String()
}

// SafeJSON is the same for a JSON text: it stays JSON of the same value. What
// must be escaped can stand only inside its strings, where every character may
// be spelt as an escape. The text must be valid UTF-8 without line breaks
// outside of strings.
func SafeJSON(text []byte) []byte {
	if !strings.ContainsFunc(string(text), unsafeRune) {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for _, r := range string(text) {
		switch {
		case !unsafeRune(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// Clip returns s, cut at a character to at most limit bytes and an ellipsis.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// unsafeRune reports what a terminal or a reader may take for something else
// than text. A replacement character stands for a byte that is not UTF-8.
func unsafeRune(r rune) bool {
	switch r {
	case '\u200c', '\u200d', '\u00ad': // non-joiner, joiner, soft hyphen
		return false
	case utf8.RuneError:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
