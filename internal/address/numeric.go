package address

import (
	"net/netip"
	"strings"
)

// endsInNumber reports whether the last label of a canonical name is a number,
// decimal or 0x and hexadecimal, with or without digits behind the 0x.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	hex, ok := strings.CutPrefix(last, "0x")
	if ok {
		return strings.IndexFunc(hex, notHex) < 0
	}
	return strings.IndexFunc(last, notDigit) < 0
}

func notDigit(r rune) bool { return r < '0' || '9' < r }
func notHex(r rune) bool   { return notDigit(r) && (r < 'a' || 'f' < r) }

// parseV4 reads a canonical name that ends in a number as inet_aton and the
// WHATWG URL standard do: one to four numbers, each decimal, octal behind 0 or
// hexadecimal behind 0x; the last one fills the octets that are left.
func parseV4(name string) (netip.Addr, string) {
	if strings.Count(name, ".") > 3 {
		return netip.Addr{}, faultNumeric
	}
	octal, decimal := uint32(0), uint32(0)
	decimalToo := true
	more := true
	for n, part := 0, ""; more; n++ {
		part, name, more = strings.Cut(name, ".")
		// The first parts are one octet; the last is what is left of four.
		bits := 8
		if !more {
			bits = 8 * (4 - n)
		}
		v, fault := number(part)
		if fault != "" {
			return netip.Addr{}, fault
		}
		if v >= 1<<bits {
			return netip.Addr{}, faultNumeric
		}
		octal = uint32(uint64(octal)<<bits | v)
		d, ok := decimalReading(part, v)
		decimalToo = decimalToo && ok && d < 1<<bits
		decimal = uint32(uint64(decimal)<<bits | d)
	}
	a := v4(octal)
	// Some readers take leading zeros for decoration. They go elsewhere, unless
	// they give up. The octal reading is shown where it is denied in any case.
	if decimalToo && decimal != octal {
		if _, denied := Denied(a); !denied {
			return netip.Addr{}, faultOctal
		}
	}
	return a, ""
}

func v4(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// number reads one part. It is at most 1<<32, which is too large anywhere.
func number(part string) (uint64, string) {
	const tooLarge = 1 << 32
	base, digits := uint64(10), part
	if hex, ok := strings.CutPrefix(part, "0x"); ok {
		if hex == "" {
			return 0, faultHexEmpty
		}
		base, digits = 16, hex
	} else if part[0] == '0' {
		base = 8
	}
	v := uint64(0)
	for i := 0; i < len(digits); i++ {
		d := uint64(digits[i] - '0')
		if digits[i] >= 'a' {
			d = uint64(digits[i]-'a') + 10
		}
		if d >= base {
			return 0, faultNumeric
		}
		if v = v*base + d; v > tooLarge {
			v = tooLarge
		}
	}
	return v, ""
}

// decimalReading is what a reader makes of part that knows no octal, and false
// if it makes nothing of it: hexadecimal. v is its value otherwise.
func decimalReading(part string, v uint64) (uint64, bool) {
	if strings.HasPrefix(part, "0x") {
		return v, false
	}
	if digits := strings.TrimLeft(part, "0"); digits != "" {
		v, _ = number(digits)
		return v, true
	}
	return 0, true
}
