package derive

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Path is what a path argument means.
type Path struct {
	Raw   string // as it came
	Clean string // normal form: no doubled or trailing slash, no . or .. segment but a lone "." for the base itself

	// Entry is what the last name itself is, where Clean is what it leads to:
	// an unlink or a rename touches the entry, not what a link points at. The
	// two differ only after ResolvePath met a symbolic link in the last place.
	Entry string

	Resolved string // Lexical or AtDecision
	Fault    string // why the path cannot be read one way only; fixed text

	// Literal says that the Fault is a spelling which is a plain name here and
	// something else elsewhere: ~, a drive, backslashes. AsWritten can still
	// permit it. Clean then is the reading of elsewhere, for deny patterns.
	Literal bool
}

// How a Path was resolved, as the record says it.
const (
	Lexical    = "lexical"     // from the text alone: a symbolic link may lead elsewhere
	AtDecision = "at-decision" // through the links as they were then; they may change before the path is used
)

const (
	// MaxPath bounds a path in bytes. PATH_MAX is 4096 on Linux with the NUL,
	// 1024 on the BSDs and macOS: no kernel opens a longer one.
	MaxPath = 4095
	// MaxPathArgument bounds the argument, which as a URI can be three times
	// as long as its path.
	MaxPathArgument = 32 << 10
)

const (
	faultPathLong      = "path is too long"
	faultPathEmpty     = "path is empty"
	faultPathUTF8      = "path is not UTF-8"
	faultPathControl   = "control character in the path"
	faultPathInvisible = "invisible or bidirectional character in the path"
	faultPathSpace     = "white space at an end of the path"
	faultPathClimbs    = "relative path leaves its base"
	faultPathDisguised = "look-alike or encoded . .. or / in the path"
	faultPathHome      = "home directory form"
	faultPathDrive     = "drive form"
	faultPathBackslash = "backslash in the path"
	faultPathJSON      = "path spells a JSON list or object, which some servers read as one"
	faultPathURIForm   = "file: URI without an absolute path"
	faultPathURIHost   = "file: URI with a host"
	faultPathURIPart   = "file: URI with a query or a fragment"
	faultPathURICode   = "file: URI with a malformed escape, an encoded separator or an escape left after decoding"
)

// ReadPath reads a path as a kernel does where there are no symbolic links.
// Absolute and relative paths stay apart; a relative one that leaves its base
// has a Fault, since nobody said where the base is. A file: URI (RFC 8089, host
// empty or localhost) is decoded once.
//
// What kernels and file libraries read differently has a Fault: control
// characters (C0, DEL, C1, the line separators), what is invisible (bidi
// controls, zero-width space and the like), white space at an end (many servers
// trim), a segment that is . or .. once look-alikes or percent escapes are taken
// for what they show, home and drive forms and backslashes, a JSON list or object. Joiners, soft
// hyphens and variation selectors are lawful in names; MatchFold overlooks them
// as some file systems do. A dot or percent sign within a name means nothing.
func ReadPath(raw string) Path {
	p := Path{Raw: raw, Resolved: Lexical}
	text, fault := pathText(raw)
	if fault == "" {
		p.Clean, p.Fault, p.Literal = normalPath(text)
		p.Entry = p.Clean
	} else {
		p.Fault = fault
	}
	return p
}

// AsWritten reports whether pattern permits the path although it has a Fault:
// the Fault is Literal, and whoever wrote the pattern spelled the very same
// bytes. Wildcards have no meaning here.
func (p Path) AsWritten(pattern string) bool { return p.Literal && p.Raw == pattern }

// pathText is the path an argument spells: what a file: URI encodes, or itself.
func pathText(raw string) (text, fault string) {
	if len(raw) > MaxPathArgument {
		return "", faultPathLong
	}
	if !hasFileScheme(raw) {
		return raw, ""
	}
	rest := raw[len("file:"):]
	if strings.ContainsAny(rest, "?#") {
		return "", faultPathURIPart
	}
	if strings.HasPrefix(rest, "//") {
		host, _, _ := strings.Cut(rest[2:], "/")
		if host != "" && !strings.EqualFold(host, "localhost") {
			return "", faultPathURIHost
		}
		rest = rest[2+len(host):]
	}
	// A backslash is a slash to some URI parsers.
	if !strings.HasPrefix(rest, "/") || strings.Contains(rest, `\`) {
		return "", faultPathURIForm
	}
	return decodePathOnce(rest)
}

func hasFileScheme(s string) bool {
	return len(s) >= 5 && s[4] == ':' && strings.EqualFold(s[:4], "file")
}

func decodePathOnce(encoded string) (text, fault string) {
	if !strings.Contains(encoded, "%") {
		return encoded, ""
	}
	decoded := make([]byte, 0, len(encoded))
	for i := 0; i < len(encoded); i++ {
		if encoded[i] != '%' {
			decoded = append(decoded, encoded[i])
			continue
		}
		b, ok := percentByte(encoded[i:])
		if !ok || b == '/' || b == '\\' {
			return "", faultPathURICode
		}
		decoded = append(decoded, b)
		i += 2
	}
	text = string(decoded)
	for rest := text; ; {
		at := strings.IndexByte(rest, '%')
		if at < 0 {
			return text, ""
		}
		if _, ok := percentByte(rest[at:]); ok {
			return "", faultPathURICode
		}
		rest = rest[at+1:]
	}
}

// percentByte is the byte that the percent escape at the start of s stands for.
func percentByte(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	high, ok1 := hexDigit(s[1])
	low, ok2 := hexDigit(s[2])
	return high<<4 | low, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// normalPath normalises a path that is no URI.
func normalPath(text string) (clean, fault string, literal bool) {
	switch {
	case text == "":
		return "", faultPathEmpty, false
	case len(text) > MaxPath:
		return "", faultPathLong, false
	}
	suspect, fault := pathCharacters(text)
	if fault != "" {
		return "", fault, false
	}
	if spellsJSON(text) {
		return "", faultPathJSON, false
	}
	if strings.Contains(text, `\`) {
		// Read as elsewhere: a UNC or drive path, or one with \ for /.
		fault, literal = faultPathBackslash, true
		text = strings.ReplaceAll(text, `\`, "/")
	}
	clean = text
	if text[0] == '.' || text[len(text)-1] == '/' || strings.Contains(text, "//") || strings.Contains(text, "/.") {
		clean = path.Clean(text)
	}
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", faultPathClimbs, false
	}
	if suspect {
		for segment := range strings.SplitSeq(text, "/") {
			if disguised(segment) {
				return "", faultPathDisguised, false
			}
		}
	}
	// From here on what counts is the normal form: ./~ is as good as ~.
	first, _ := utf8.DecodeRuneInString(clean)
	last, _ := utf8.DecodeLastRuneInString(clean)
	switch {
	case unicode.IsSpace(first), unicode.IsSpace(last):
		return "", faultPathSpace, false
	case literal:
		return clean, fault, true
	case first == '~':
		return clean, faultPathHome, true
	case len(clean) >= 2 && clean[1] == ':' && 'a' <= clean[0]|0x20 && clean[0]|0x20 <= 'z':
		return clean, faultPathDrive, true
	case hasFileScheme(clean):
		return "", faultPathURIForm, false
	}
	return clean, "", false
}

// spellsJSON reports what can be a JSON list or object with a string in it.
// Servers on the Python SDK parse such a text where they declare a list. A
// directory called [slug] has no quotes.
func spellsJSON(text string) bool {
	last := text[len(text)-1]
	return (text[0] == '[' && last == ']' || text[0] == '{' && last == '}') && strings.IndexByte(text, '"') >= 0
}

// pathCharacters finds what no path may hold, and whether there is anything
// that could be a disguise.
func pathCharacters(text string) (suspect bool, fault string) {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f {
				return false, faultPathControl
			}
			suspect = suspect || c == '%' && i+1 < len(text) && (text[i+1] == '2' || text[i+1] == '5')
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return false, faultPathUTF8
		case r < 0xa0, r == '\u2028', r == '\u2029':
			return false, faultPathControl
		case invisible(r):
			return false, faultPathInvisible
		}
		suspect = suspect || ignorable(r) || lookAlike(r) != 0
		i += size
	}
	return suspect, ""
}

// invisible characters have no place in a file name: bidi controls and marks,
// zero-width and filling characters, tags. ignorable ones have.
func invisible(r rune) bool {
	switch {
	case r == 0x061c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x180e,
		r == 0x200b, r == 0x200e, r == 0x200f, 0x202a <= r && r <= 0x202e,
		0x2060 <= r && r <= 0x206f, r == 0x3164, r == 0xfeff, r == 0xffa0,
		0xfff9 <= r && r <= 0xfffb, 0xe0000 <= r && r <= 0xe007f:
		return true
	}
	return false
}

// ignorable characters are part of lawful names (joiners in Persian and in
// emoji, soft hyphens, variation selectors), but HFS+ and people overlook them.
func ignorable(r rune) bool {
	switch {
	case r == 0x00ad, r == 0x034f, r == 0x200c, r == 0x200d,
		0x180b <= r && r <= 0x180d, 0xfe00 <= r && r <= 0xfe0f, 0xe0100 <= r && r <= 0xe01ef:
		return true
	}
	return false
}

// disguised reports whether a segment is, or holds between look-alike or
// encoded slashes, a . or .. that is not spelled as one.
func disguised(segment string) bool {
	if segment == "." || segment == ".." {
		return false
	}
	dots, other := 0, false // of the piece being read
	for i := 0; i < len(segment); {
		r, size := disguise(segment[i:])
		i += size
		switch r {
		case 0: // nothing to see
		case '.':
			dots++
		case '‥':
			dots += 2
		case '/':
			if !other && (dots == 1 || dots == 2) {
				return true
			}
			dots, other = 0, false
		default:
			other = true
		}
	}
	return !other && (dots == 1 || dots == 2)
}

// disguise is what the first character of s, or the percent escape there,
// encoded however often, would be taken for.
func disguise(s string) (r rune, size int) {
	r, size = utf8.DecodeRuneInString(s)
	if r == '%' {
		at := 0
		for strings.HasPrefix(s[at+1:], "25") {
			at += 2
		}
		// s[at] is the percent sign itself or the 5 of an encoded one.
		switch b, ok := percentByte(s[at:]); {
		case ok && b == '.':
			return '.', at + 3
		case ok && (b == '/' || b == '\\'):
			return '/', at + 3
		}
		return '%', at + 1
	}
	if ignorable(r) {
		return 0, size
	}
	if l := lookAlike(r); l != 0 {
		r = l
	}
	return r, size
}

// lookAlike is the dot, two dots or slash that r is read as, or decomposes to
// in compatibility forms; 0 for all others.
func lookAlike(r rune) rune {
	switch r {
	case '․', '﹒', '．', '。', '｡':
		return '.'
	case '‥':
		return '‥'
	case '⁄', '∕', '⧸', '／', '∖', '⧵', '﹨', '＼':
		return '/'
	}
	return 0
}
