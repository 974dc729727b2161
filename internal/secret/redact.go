package secret

import (
	"strconv"
	"unicode/utf8"
)

// Redact is what may be shown of a secret: its first min(4, n/2) of n
// characters and its length, as in `ghp_…(len=40)`; of three characters or
// less, none. Characters are code points.
func Redact(match string) string {
	n := utf8.RuneCountInString(match)
	if n <= 3 {
		return "(len<=3)"
	}
	keep := 0
	for range min(4, n/2) {
		_, size := utf8.DecodeRuneInString(match[keep:])
		keep += size
	}
	return match[:keep] + "…(len=" + strconv.Itoa(n) + ")"
}

// maxRounds bounds how often a redacted text is looked at again. Every round
// but the last removes at least one secret of twelve characters or more and
// what it leaves cannot grow into one by itself, so few are ever needed.
const maxRounds = 16

// RedactAll redacts every secret in text, and looks again until there is none:
// what a redaction leaves may stand beside something it makes a secret with.
// hit reports whether there was any. Should text still match after sixteen
// rounds, nothing of it is kept but its length.
func RedactAll(text string) (redacted string, hit bool) {
	for range maxRounds {
		found := Find([]byte(text))
		if len(found) == 0 {
			return text, hit
		}
		hit = true
		out := make([]byte, 0, len(text))
		last := 0
		for _, m := range found {
			out = append(out, text[last:m.Start]...)
			out = append(out, Redact(text[m.Start:m.End])...)
			last = m.End
		}
		text = string(append(out, text[last:]...))
	}
	return "(len=" + strconv.Itoa(utf8.RuneCountInString(text)) + ")", true
}
