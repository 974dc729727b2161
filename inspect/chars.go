package inspect

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// control reports whether r may not stand in a text of charset.
func control(r rune, charset Charset) bool {
	switch {
	case r >= 0xa0:
		return charset == Text && (r == '\u2028' || r == '\u2029')
	case r >= 0x80:
		return charset == Text
	case r >= 0x7f:
		return true
	}
	return r < ' ' && r != '\t' && r != '\n' && r != '\r'
}

// nextOdd returns the first place at or after i of a byte that is a control
// character of ASCII other than tab, LF and CR, or not ASCII, or len(text). It
// looks at eight bytes a step.
func nextOdd(text []byte, i int) int {
	for ; i+8 <= len(text); i += 8 {
		x := binary.LittleEndian.Uint64(text[i:])
		below := (x - ones*' ') &^ x  // high bit: a byte below ' ', or a borrow from one
		del := (x ^ ones*0x7f) - ones // high bit: a byte that was DEL, or a borrow
		if (x|below|del&^(x^ones*0x7f))&highs == 0 {
			continue
		}
		for k := i; k < i+8; k++ {
			if oddByte[text[k]] {
				return k
			}
		}
	}
	for ; i < len(text); i++ {
		if oddByte[text[i]] {
			return i
		}
	}
	return len(text)
}

var oddByte = func() (t [256]bool) {
	for c := range 256 {
		t[c] = c >= 0x80 || control(rune(c), Text)
	}
	return
}()

// characters looks at every control character and everything that is not ASCII:
// it counts the disallowed and the invisible, and says whether a reader could
// see other words in the text than a comparison does, and whether that is for
// characters without a shape.
func (s *inspection) characters(text []byte, charset Charset) (disguised, concealed bool) {
	rtl := -1
	for i := nextOdd(text, 0); i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if charset != BinaryOK {
				s.controls.add(rune(c))
			}
			i = nextOdd(text, i+1)
			continue
		}
		// Most letters of most scripts are of no interest; their first byte
		// says so.
		if size := plainLead[c]; size > 0 && i+int(size) <= len(text) {
			i += int(size)
			if i < len(text) && text[i] < utf8.RuneSelf {
				i = nextOdd(text, i)
			}
			continue
		}
		if c >= 0xce && c <= 0xd5 && c != 0xd2 && !besideASCII(text, i) {
			i += 2 // Greek, Cyrillic, Armenian
			if i < len(text) && text[i] < utf8.RuneSelf {
				i = nextOdd(text, i)
			}
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case control(r, Text):
			if charset != BinaryOK && control(r, charset) {
				s.controls.add(r)
			}
			disguised = true
		case hidden(r):
			if !lawful(text, i, size, r, &rtl) {
				s.invisible.add(r)
			}
			disguised, concealed = true, true
		case lookalike(r) != 0:
			disguised = true
		case r == 'ſ' || r == '\u212a' || unicode.IsSpace(r):
			disguised = true
		}
		i += size
		if i < len(text) && text[i] < utf8.RuneSelf {
			i = nextOdd(text, i)
		}
	}
	return disguised, concealed
}

// plainLead is the size of the characters that begin with a byte, for bytes
// that begin letters only.
var plainLead = func() (t [256]uint8) {
	for c := 0xc3; c <= 0xc9; c++ {
		t[c] = 2
	}
	t[0xc5] = 0 // ſ
	for c := 0xe4; c <= 0xe9; c++ {
		t[c] = 3
	}
	for c := 0xeb; c <= 0xed; c++ {
		t[c] = 3
	}
	return
}()

// hidden reports whether r has no shape of its own.
func hidden(r rune) bool {
	switch {
	case r < 0x34f:
		return false
	case r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r >= 0xe0000 && r <= 0xe0fff:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	}
	switch r {
	case 0x034f, 0x061c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d, 0x180e, 0x3164, 0xffa0:
		return true
	}
	return false
}

func variation(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef }
func tagRune(r rune) bool   { return r >= 0xe0020 && r <= 0xe007f }

// lawful reports whether the hidden character r at i stands where honest text
// has it: a leading byte order mark, joiners and selectors after what they act
// on, a flag's tags, direction marks in text that has two directions.
func lawful(text []byte, i, size int, r rune, rtl *int) bool {
	before, _ := utf8.DecodeLastRune(text[:i])
	after, _ := utf8.DecodeRune(text[i+size:])
	if i == 0 {
		before = ' '
	}
	if i+size == len(text) {
		after = ' '
	}
	switch {
	case r == 0xfeff && i == 0:
		return !hidden(after)
	case tagRune(r):
		return tagRune(before) && lawfulTags(text, i) || before == 0x1f3f4
	case variation(r):
		return !variation(before) && before > ' ' && !(r >= 0xe0100 && before < 0x2e80)
	case r == 0x200d: // joins emoji, and letters of Arabic and Indic scripts
		return before >= 0x80 && (!hidden(before) || variation(before) || tagRune(before)) && !hidden(after) && !ascii(after)
	case r == 0x200c:
		return !hidden(before) && !hidden(after)
	case r == 0x202d || r == 0x202e || r >= 0xe0000:
		return false
	case r >= 0x202a && r <= 0x202c, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return rightToLeft(text, rtl) && !(ascii(before) && ascii(after))
	}
	// Zero width: lawful alone between letters of scripts without spaces.
	return !hidden(before) && !hidden(after) && !ascii(before) && !ascii(after)
}

// lawfulTags reports whether the tag at i belongs to the run of a black flag,
// which is at most seven tags long.
func lawfulTags(text []byte, i int) bool {
	for range 7 {
		r, size := utf8.DecodeLastRune(text[:i])
		if r == 0x1f3f4 {
			return true
		}
		if !tagRune(r) {
			return false
		}
		i -= size
	}
	return false
}

// ascii reports whether r is a letter or digit of ASCII.
func ascii(r rune) bool {
	return r < utf8.RuneSelf && r > ' ' && wordByte(byte(r)) && r != '-'
}

// rightToLeft reports whether text has a letter of a script written from the
// right. It is worked out once a text.
func rightToLeft(text []byte, known *int) bool {
	if *known < 0 {
		*known = 0
		for i := 0; i+1 < len(text); i++ {
			if c := text[i]; c >= 0xd6 && c <= 0xdf || c == 0xef && text[i+1] >= 0xac && text[i+1] <= 0xbb {
				*known = 1
				break
			}
		}
	}
	return *known == 1
}

// lookalike is the ASCII letter that r is easily taken for, or 0: letters of
// Cyrillic and Greek, the full-width and the mathematical ones.
func lookalike(r rune) byte {
	switch {
	case r >= 0xff21 && r <= 0xff3a:
		return byte(r - 0xff21 + 'a')
	case r >= 0xff41 && r <= 0xff5a:
		return byte(r - 0xff41 + 'a')
	case r >= 0x1d400 && r <= 0x1d6a3:
		return byte((r-0x1d400)%26 + 'a')
	}
	switch r {
	case 'а', 'А', 'α', 'Α':
		return 'a'
	case 'В', 'Β':
		return 'b'
	case 'с', 'С', 'ϲ':
		return 'c'
	case 'ԁ':
		return 'd'
	case 'е', 'Е', 'ё', 'Ε':
		return 'e'
	case 'ɡ':
		return 'g'
	case 'Н', 'һ', 'Η':
		return 'h'
	case 'і', 'І', 'ї', 'ι', 'Ι', 'ı':
		return 'i'
	case 'ј', 'Ј':
		return 'j'
	case 'К', 'к', 'κ', 'Κ':
		return 'k'
	case 'ӏ', 'Ӏ':
		return 'l'
	case 'М', 'Μ':
		return 'm'
	case 'Ν', 'ո':
		return 'n'
	case 'о', 'О', 'ο', 'Ο':
		return 'o'
	case 'р', 'Р', 'ρ', 'Ρ':
		return 'p'
	case 'ԛ':
		return 'q'
	case 'ѕ', 'Ѕ':
		return 's'
	case 'т', 'Т', 'τ', 'Τ':
		return 't'
	case 'υ', 'ս':
		return 'u'
	case 'ν', 'ѵ':
		return 'v'
	case 'ԝ', 'ω':
		return 'w'
	case 'х', 'Х', 'χ', 'Χ':
		return 'x'
	case 'у', 'У', 'γ', 'Υ':
		return 'y'
	case 'Ζ':
		return 'z'
	}
	return 0
}

// besideASCII reports whether the character of two bytes at i stands beside a
// letter of ASCII.
func besideASCII(text []byte, i int) bool {
	letter := func(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }
	return i > 0 && letter(text[i-1]) || i+2 < len(text) && letter(text[i+2])
}

// reveal appends to dst what a reader sees in text: small letters, look-alikes
// as what they look like, tags as what they spell, every white space as one
// space, hidden characters gone, or spaces if asked, and control characters
// gone.
func reveal(dst, text []byte, hiddenIsSpace bool) []byte {
	space := func() {
		if n := len(dst); n == 0 || dst[n-1] != ' ' {
			dst = append(dst, ' ')
		}
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case isSpace(c):
				space()
			case oddByte[c]:
			default:
				dst = append(dst, lower(c))
			}
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		i += size
		switch {
		case tagRune(r) && r < 0xe007f:
			if t := byte(r - 0xe0000); t == ' ' {
				space()
			} else {
				dst = append(dst, lower(t))
			}
		case hidden(r) || r == 0xad:
			if hiddenIsSpace {
				space()
			}
		case r == '\u2028' || r == '\u2029' || unicode.IsSpace(r):
			space()
		case control(r, Text):
		default:
			if l := lookalike(r); l != 0 {
				dst = append(dst, l)
			} else {
				dst = utf8.AppendRune(dst, foldRune(r))
			}
		}
	}
	return dst
}
