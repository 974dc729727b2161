package wire

import (
	"bytes"
	"math/big"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxID is the longest id in bytes of JSON text that is accepted. Sessions
// keep the ids of open requests, thousands of them; real ids have under 100.
const maxID = 64 << 10

// ID is a JSON-RPC id. Raw is its exact JSON text as sent, which is what an
// answer has to echo; the zero ID is an absent one.
type ID struct{ Raw []byte }

// Present reports whether there is an id that an answer could carry: false
// for an absent id and for null.
func (id ID) Present() bool { return len(id.Raw) > 0 && string(id.Raw) != "null" }

// AppendAnswer appends what an answer carries: the bytes that were sent, or null.
func (id ID) AppendAnswer(dst []byte) []byte {
	if !id.Present() {
		return append(dst, "null"...)
	}
	return append(dst, id.Raw...)
}

// Clone returns a copy that does not keep the frame it came from in memory.
func (id ID) Clone() ID { return ID{Raw: bytes.Clone(id.Raw)} }

// Key returns a text that two ids share exactly when they are the same JSON
// value: strings with the same characters, numbers with the same exact value.
// 7, 7.0 and 70e-1 share one key, 7 and "7" do not, and neither do
// 9007199254740992 and 9007199254740993, which are one float64. The key of a
// number is no longer than its text plus a few bytes, whatever its exponent.
// An id that is not Present has the empty key.
func (id ID) Key() string {
	if !id.Present() {
		return ""
	}
	if id.Raw[0] != '"' {
		return numberKey(id.Raw)
	}
	// The fixed first byte keeps strings and numbers apart.
	text, err := jsontext.AppendUnquote([]byte{'s'}, id.Raw)
	if err != nil {
		// Only an ID that was not read by this package: itself and no other.
		return "?" + string(id.Raw)
	}
	return string(text)
}

// numberKey writes a JSON number as "n", an optional minus, its digits without
// zeros at either end, "e" and the exponent that makes it whole: the one way
// to write a number with no choice left.
func numberKey(num []byte) string {
	mantissa, exponent := num, []byte(nil)
	if i := bytes.IndexAny(num, "eE"); i >= 0 {
		mantissa, exponent = num[:i], num[i+1:]
	}
	key := make([]byte, 0, 32)
	key = append(key, 'n')
	if rest, negative := bytes.CutPrefix(mantissa, []byte{'-'}); negative {
		key, mantissa = append(key, '-'), rest
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})

	start := len(key)
	key = append(key, whole...)
	key = append(key, fraction...)
	digits := bytes.TrimLeft(key[start:], "0")
	significant := bytes.TrimRight(digits, "0")
	if len(significant) == 0 {
		return "n0"
	}
	shift := int64(len(digits) - len(significant) - len(fraction))
	key = append(key[:start], significant...)
	return string(appendSum(append(key, 'e'), exponent, shift))
}

// appendSum appends exponent + shift in decimal. An exponent beyond int64 is
// lawful JSON; it is added to, never expanded.
func appendSum(dst, exponent []byte, shift int64) []byte {
	if len(exponent) == 0 {
		return strconv.AppendInt(dst, shift, 10)
	}
	if len(exponent) <= 18 {
		if n, err := strconv.ParseInt(string(exponent), 10, 64); err == nil {
			return strconv.AppendInt(dst, n+shift, 10)
		}
	}
	n, ok := new(big.Int).SetString(string(exponent), 10)
	if !ok {
		return append(dst, exponent...)
	}
	return n.Add(n, big.NewInt(shift)).Append(dst, 10)
}
