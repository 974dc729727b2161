package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/internal/wire"
)

// maxNumber bounds the text of a number. No honest definition comes near it.
const maxNumber = 1024

// Canonical returns the RFC 8785 form of text, which must be one strict JSON
// value: UTF-8, no lone surrogate, no member twice.
//
// RFC 8785 reads every number as a binary64 and so gives 9007199254740993 and
// 9007199254740992 one form, though many readers tell them apart; a lock that
// did would miss a change. A whole number whose form says another one, and a
// number beyond the range of a binary64, is written exactly instead: its digits
// without zeros at their end, e and the exponent. All else is RFC 8785's form.
func Canonical(text []byte) ([]byte, error) {
	v := jsontext.Value(bytes.Clone(text))
	if err := canonicalize(&v); err != nil {
		return nil, err
	}
	return v, nil
}

// canonicalize is Canonical in place.
func canonicalize(v *jsontext.Value) error {
	// Numbers stay as they were sent and are looked at one by one.
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return fmt.Errorf("not one strict JSON value: %w", err)
	}
	out, err := canonicalNumbers(*v)
	*v = out
	return err
}

// canonicalNumbers rewrites the numbers of a compact JSON text.
func canonicalNumbers(text []byte) ([]byte, error) {
	var out []byte // nil while nothing had to be rewritten
	done := 0      // what of text is in out
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			i = endOfString(text, i)
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(text) && numberByte(text[end]) {
				end++
			}
			if raw := text[i:end]; !plainInteger(raw) {
				form, err := canonicalNumber(raw)
				if err != nil {
					return nil, err
				}
				if !bytes.Equal(raw, form) {
					out = append(append(out, text[done:i]...), form...)
					done = end
				}
			}
			i = end
		default:
			i++
		}
	}
	if done == 0 {
		return text, nil
	}
	return append(out, text[done:]...), nil
}

func numberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// endOfString is where the string that begins at i has ended.
func endOfString(text []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		// A quote is escaped by an odd number of backslashes before it.
		slashes := 0
		for k := i + n - 1; text[k] == '\\'; k-- {
			slashes++
		}
		i += n
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// plainInteger reports an integer that any reader takes the same way: its text
// is its RFC 8785 form.
func plainInteger(raw []byte) bool {
	digits := raw
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > 15 || bytes.ContainsAny(digits, ".eE") {
		return false
	}
	return len(digits) == len(raw) || digits[0] != '0' // -0 is 0
}

var errNumber = errors.New("a number of more than 1024 characters")

func canonicalNumber(raw []byte) ([]byte, error) {
	if len(raw) > maxNumber {
		return nil, errNumber
	}
	exact := wire.ID{Raw: raw}.Key() // n, the digits, e and the exponent
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil {
		form := jsontext.Float(f).String()
		if f == 0 {
			form = "0" // RFC 8785 has no negative zero
		}
		if fraction := strings.Contains(exact, "e-"); fraction || (wire.ID{Raw: []byte(form)}).Key() == exact {
			return []byte(form), nil
		}
	}
	return []byte(exact[1:]), nil
}

// hashPrefix stands before the 64 lowercase hex digits of a SHA-256 in a lock.
const hashPrefix = "sha256:"

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hashPrefix + hex.EncodeToString(sum[:])
}

// Hash is the hash of a JSON value as a lock writes it: SHA-256 over [Canonical].
func Hash(text []byte) (string, error) {
	c, err := Canonical(text)
	if err != nil {
		return "", err
	}
	return sumOf(c), nil
}

// isHash reports whether s has the form of a hash.
func isHash(s string) bool {
	if len(s) != len(hashPrefix)+2*sha256.Size || s[:len(hashPrefix)] != hashPrefix {
		return false
	}
	for _, c := range []byte(s[len(hashPrefix):]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
