package inspect

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aegis-aar/aegis/internal/secret"
)

// edit replaces text[start:end].
type edit struct {
	start, end int
	with       string
}

// rewrite collects what is to be changed in a response.
type rewrite struct {
	strip, redact bool // which findings are edited away

	edits []edit
	marks []mark
	rules []string // that edited something
}

// mark is a place where result._meta.warden goes.
type mark struct {
	start, end int
	form       form
	comma      bool
}

// form is what is written at a mark.
type form uint8

const (
	markMeta   form = iota // a _meta member with a warden in it
	markWarden             // a warden member
	markObject             // an object with a warden in it
	markValue              // the value of warden
)

func (r *rewrite) reset() {
	r.edits, r.marks = r.edits[:0], r.marks[:0]
}

func (r *rewrite) mark(start, end int, f form, comma bool) {
	r.marks = append(r.marks, mark{start, end, f, comma})
}

// add adds edits of a string that begins at base.
func (r *rewrite) add(base int, edits []edit) {
	for _, e := range edits {
		r.edits = append(r.edits, edit{base + e.start, base + e.end, e.with})
	}
}

// editsFor returns the edits of text that remove what look found in it.
func (s *inspection) editsFor(text []byte) []edit {
	var out []edit
	if s.rewrite.redact && len(s.secrets) > 0 && !s.d.SecretEchoExempt {
		s.rewrite.did(RuleSecretEcho)
		for _, m := range s.secrets {
			out = append(out, edit{m.Start, m.End, secret.Redact(string(text[m.Start:m.End]))})
		}
	}
	if s.rewrite.strip && s.controls.n > 0 {
		s.rewrite.did(RuleANSI)
		for i := nextOdd(text, 0); i < len(text); {
			r, size := utf8.DecodeRune(text[i:])
			if control(r, s.d.Charset) {
				out = append(out, edit{i, i + size, ""})
			}
			i = nextOdd(text, i+size)
		}
	}
	return out
}

func (r *rewrite) did(rule string) {
	if !slices.Contains(r.rules, rule) {
		r.rules = append(r.rules, rule)
		slices.Sort(r.rules)
	}
}

// rawEdits turns edits of the text of a JSON string into edits of the string as
// it is written. The edits come back in order and not overlapping.
func rawEdits(raw []byte, edits []edit, escaped bool) []edit {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	out := make([]edit, 0, len(edits))
	i, at := 0, 0 // a place in raw and the same one in the text
	for _, e := range edits {
		if e.start < at {
			continue // inside of the edit before it
		}
		start := e.start
		if escaped {
			for at < e.start {
				i, at = skipTo(raw, i, at, e.start)
			}
			start = i
			for at < e.end {
				i, at = skipTo(raw, i, at, e.end)
			}
		} else {
			i, at = e.end, e.end
		}
		out = append(out, edit{start, i, quote(e.with)})
	}
	return out
}

// skipTo moves from i in raw, which is at in the text, one character on or, over
// text without escapes, to limit.
func skipTo(raw []byte, i, at, limit int) (int, int) {
	if raw[i] != '\\' {
		n := bytes.IndexByte(raw[i:min(len(raw), i+limit-at)], '\\')
		if n < 0 {
			n = limit - at
		}
		return i + n, at + n
	}
	r, size := unescape(raw[i:])
	return i + size, at + utf8.RuneLen(r)
}

// decode appends to dst the text of a JSON string without its escapes. A lone
// surrogate is U+FFFD, as readers have it; an escape JSON does not know is the
// character after the backslash.
func decode(dst, raw []byte) []byte {
	// An escape of two bytes makes three at most; eight are written at once.
	dst = slices.Grow(dst, len(raw)+len(raw)/2+8)
	n := len(dst)
	dst = dst[:cap(dst)]
	for i := 0; i < len(raw); {
		if i+8 <= len(raw) {
			x := binary.LittleEndian.Uint64(raw[i:])
			binary.LittleEndian.PutUint64(dst[n:], x)
			found := firstZero(x ^ ones*'\\')
			if found == 0 {
				i += 8
				n += 8
				continue
			}
			k := bits.TrailingZeros64(found) / 8
			i += k
			n += k
		} else if raw[i] != '\\' {
			dst[n] = raw[i]
			i++
			n++
			continue
		}
		if i+1 < len(raw) && shortEscape[raw[i+1]] != 0 {
			dst[n] = shortEscape[raw[i+1]]
			i += 2
			n++
			continue
		}
		r, size := unescape(raw[i:])
		i += size
		n += utf8.EncodeRune(dst[n:], r)
	}
	return dst[:n]
}

// shortEscape is what an escape of one letter stands for, RFC 8259 section 7.
var shortEscape = [256]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', '\\': '\\', '/': '/'}

// unescape reads the escape at the head of raw.
func unescape(raw []byte) (r rune, size int) {
	if len(raw) < 2 {
		return utf8.RuneError, len(raw)
	}
	if short := shortEscape[raw[1]]; short != 0 {
		return rune(short), 2
	}
	if raw[1] == 'u' {
		r, ok := hex4(raw[2:])
		if !ok {
			return 'u', 2
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
			if low, ok := hex4(raw[8:]); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return pair, 12
				}
			}
		}
		return utf8.RuneError, 6
	}
	r, size = utf8.DecodeRune(raw[1:])
	if r == utf8.RuneError && size == 1 {
		// One stray byte, of which three bytes are made.
		return r, 2
	}
	return r, 1 + size
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		if hexByte[c] == 0 {
			return 0, false
		}
		v := rune(c & 15)
		if c > '9' {
			v += 9
		}
		r = r<<4 | v
	}
	return r, true
}

// quote is text as it stands inside a JSON string.
func quote(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) < 0 {
		return text
	}
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			b.WriteString(`\u00`)
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// apply returns b with the edits made.
func apply(b []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	out := make([]byte, 0, len(b)+64)
	last := 0
	for _, e := range edits {
		if e.start < last {
			continue
		}
		out = append(append(out, b[last:e.start]...), e.with...)
		last = e.end
	}
	return append(out, b[last:]...)
}

// marking returns the edits that say in every result what was modified. A
// server's own _meta.warden gives way.
func (r *rewrite) marking() []edit {
	value := `{"modified":true,"rules":["` + strings.Join(r.rules, `","`) + `"]}`
	var out []edit
	for _, m := range r.marks {
		with := value
		switch m.form {
		case markMeta:
			with = `"_meta":{"warden":` + value + `}`
		case markWarden:
			with = `"warden":` + value
		case markObject:
			with = `{"warden":` + value + `}`
		}
		if m.comma {
			with = "," + with
		}
		out = append(out, edit{m.start, m.end, with})
	}
	return out
}
