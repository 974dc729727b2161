package wire

import "unicode/utf8"

// Members with a meaning in the protocol. A member whose name is one of these
// but for its case is a trap: some readers take it for the member (Go's
// encoding/json does), others ignore it.
var (
	topMembers    = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramsMembers = []string{"name", "arguments", "_meta"}
	cancelMembers = []string{"requestId"}
)

// disguised reports whether name is one of members in another spelling.
func disguised(name []byte, members []string) bool {
	for _, m := range members {
		if string(name) == m {
			return false
		}
		if foldsTo(name, m) {
			return true
		}
	}
	return false
}

// foldsTo reports whether name equals the ASCII text member under case
// folding, Unicode simple folding or the case mappings of Turkic letters.
func foldsTo(name []byte, member string) bool {
	for i := range len(member) {
		if len(name) == 0 {
			return false
		}
		r, size := utf8.DecodeRune(name)
		if fold(r) != fold(rune(member[i])) {
			return false
		}
		name = name[size:]
	}
	return len(name) == 0
}

// fold maps a rune to the lower-case ASCII letter some reader equates it with.
// The list is complete: Unicode has simple foldings into ASCII for the long s
// and the Kelvin sign only, and simple upper or lower case mappings into ASCII
// besides those for the two Turkic letters i.
func fold(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + ('a' - 'A')
	case r == 'ſ':
		return 's'
	case r == '\u212a':
		return 'k'
	case r == 'İ' || r == 'ı':
		return 'i'
	}
	return r
}
