package cli

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// invisible names what a reader does not see but a model reads.
var invisible = map[rune]string{
	0x00ad: "SOFT HYPHEN", 0x034f: "COMBINING GRAPHEME JOINER", 0x061c: "ARABIC LETTER MARK",
	0x115f: "HANGUL CHOSEONG FILLER", 0x1160: "HANGUL JUNGSEONG FILLER", 0x180e: "MONGOLIAN VOWEL SEPARATOR",
	0x200b: "ZERO WIDTH SPACE", 0x200c: "ZERO WIDTH NON-JOINER", 0x200d: "ZERO WIDTH JOINER",
	0x200e: "LEFT-TO-RIGHT MARK", 0x200f: "RIGHT-TO-LEFT MARK", 0x2028: "LINE SEPARATOR", 0x2029: "PARAGRAPH SEPARATOR",
	0x202a: "LEFT-TO-RIGHT EMBEDDING", 0x202b: "RIGHT-TO-LEFT EMBEDDING", 0x202c: "POP DIRECTIONAL FORMATTING",
	0x202d: "LEFT-TO-RIGHT OVERRIDE", 0x202e: "RIGHT-TO-LEFT OVERRIDE",
	0x2060: "WORD JOINER", 0x2061: "FUNCTION APPLICATION", 0x2062: "INVISIBLE TIMES", 0x2063: "INVISIBLE SEPARATOR", 0x2064: "INVISIBLE PLUS",
	0x2066: "LEFT-TO-RIGHT ISOLATE", 0x2067: "RIGHT-TO-LEFT ISOLATE", 0x2068: "FIRST STRONG ISOLATE", 0x2069: "POP DIRECTIONAL ISOLATE",
	0x3164: "HANGUL FILLER", 0xfeff: "ZERO WIDTH NO-BREAK SPACE", 0xffa0: "HALFWIDTH HANGUL FILLER",
	0xe0001: "LANGUAGE TAG", 0xe007f: "CANCEL TAG",
}

// invisibleName is the name of a character that has no shape, empty for others.
func invisibleName(r rune) string {
	switch name := invisible[r]; {
	case name != "":
		return name
	case r >= 0xe0020 && r < 0xe007f:
		return "TAG " + string(r-0xe0000)
	case r >= 0xfe00 && r <= 0xfe0f:
		return fmt.Sprintf("VARIATION SELECTOR-%d", r-0xfe00+1)
	case r >= 0xe0100 && r <= 0xe01ef:
		return fmt.Sprintf("VARIATION SELECTOR-%d", r-0xe0100+17)
	case unicode.Is(unicode.Cf, r):
		return "FORMAT CHARACTER"
	case unicode.IsSpace(r) && r > ' ' && r != 0x85:
		return "SPACE"
	}
	return ""
}

// escaped spells a text so that a terminal shows every character of it: control
// and format characters by their code point, invisible ones with their name.
// Backslashes are doubled, so that no text looks like an escape.
func escaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		name := invisibleName(r)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case name != "" || unicode.IsControl(r) || !unicode.IsGraphic(r):
			if r > 0xffff {
				fmt.Fprintf(&b, `\U%08x`, r)
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
			if name != "" {
				b.WriteString("{" + name + "}")
			}
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// cutMiddle is a text of at most about limit characters. What is left out is
// from its middle, with how much it is and its hash: an end is never hidden.
func cutMiddle(s string, limit int) string {
	n := utf8.RuneCountInString(s)
	if n <= limit {
		return escaped(s)
	}
	runes := []rune(s)
	head, tail := limit/2, limit-limit/2
	out := string(runes[head : n-tail])
	return escaped(string(runes[:head])) +
		fmt.Sprintf(" …[%d characters, sha256:%x]… ", n-head-tail, sha256.Sum256([]byte(out))) +
		escaped(string(runes[n-tail:]))
}
