package address

import "net/netip"

// maxCarried bounds the IPv4 addresses that one IPv6 address can carry: the
// four readings of a NAT64 prefix, and the ISATAP identifier.
const maxCarried = 5

var (
	translated = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 2765 section 2.1
	compatible = netip.MustParsePrefix("::/96")           // RFC 4291 section 2.5.5.1, deprecated
	nat64      = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052 section 2.1
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")  // RFC 8215
	sixToFour  = netip.MustParsePrefix("2002::/16")       // RFC 3056 section 2
	teredo     = netip.MustParsePrefix("2001::/32")       // RFC 4380 section 4
)

// Carried are the IPv4 addresses that a translator or a tunnel may deliver to
// when it is asked for a, under every reading; nil if there are none.
func Carried(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	return appendCarried(nil, a.WithZone(""))
}

// severalReadings reports whether the place of the carried address depends on
// a prefix length that only the operator of the translator knows.
func severalReadings(a netip.Addr) bool { return nat64Local.Contains(a) }

// appendCarried appends the IPv4 addresses that the IPv6 address a carries,
// under every reading, maxCarried at most. a has no zone.
func appendCarried(dst []netip.Addr, a netip.Addr) []netip.Addr {
	b := a.As16()
	at := func(i, j, k, l int) netip.Addr { return netip.AddrFrom4([4]byte{b[i], b[j], b[k], b[l]}) }
	last := at(12, 13, 14, 15)
	switch {
	case a.Is4In6(), // RFC 4291 section 2.5.5.2
		translated.Contains(a), compatible.Contains(a), nat64.Contains(a):
		return append(dst, last)
	case nat64Local.Contains(a):
		// An operator takes a prefix of 48, 56, 64 or 96 bits out of the block;
		// RFC 6052 section 2.2 places the address behind it, around octet 8,
		// and has a translator ignore what follows.
		dst = append(dst, at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12), last)
	case sixToFour.Contains(a):
		dst = append(dst, at(2, 3, 4, 5))
	case teredo.Contains(a):
		// The server, and the client's address with every bit inverted.
		dst = append(dst, at(4, 5, 6, 7), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	// An ISATAP interface identifier, under any prefix (RFC 5214 section 6.1).
	if b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		dst = append(dst, last)
	}
	return dst
}
