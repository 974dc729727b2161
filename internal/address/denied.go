package address

import "net/netip"

// Range is a block of addresses that is denied by default.
type Range struct {
	// Prefix is the block, of IPv4 also where the address is an IPv6 one that
	// carries an IPv4 address.
	Prefix netip.Prefix
	// Label names the block, in the guard contract's spelling where it has one.
	Label string
	// Metadata says that the address asked about is one of a cloud's metadata
	// service, which no policy can open.
	Metadata bool
}

// ranges4 are the denied blocks of IPv4. The blocks are those of the IANA
// registry of special-purpose addresses (RFC 6890) that lead to the machine
// itself, to networks around it, or nowhere.
var ranges4 = []Range{
	{Prefix: netip.MustParsePrefix("169.254.0.0/16"), Label: "link-local"},               // RFC 3927
	{Prefix: netip.MustParsePrefix("127.0.0.0/8"), Label: "loopback"},                    // RFC 1122 section 3.2.1.3
	{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Label: "RFC1918 (10)"},                 // RFC 1918
	{Prefix: netip.MustParsePrefix("172.16.0.0/12"), Label: "RFC1918 (172.16-31)"},       // RFC 1918
	{Prefix: netip.MustParsePrefix("192.168.0.0/16"), Label: "RFC1918 (192.168)"},        // RFC 1918
	{Prefix: netip.MustParsePrefix("0.0.0.0/8"), Label: "this network"},                  // RFC 791 section 3.2; Linux connects 0.0.0.0 to itself
	{Prefix: netip.MustParsePrefix("100.64.0.0/10"), Label: "shared address space"},      // RFC 6598
	{Prefix: netip.MustParsePrefix("192.0.0.0/24"), Label: "IETF protocol assignments"},  // RFC 6890 section 2.1
	{Prefix: netip.MustParsePrefix("198.18.0.0/15"), Label: "benchmarking"},              // RFC 2544
	{Prefix: netip.MustParsePrefix("224.0.0.0/4"), Label: "multicast"},                   // RFC 5771
	{Prefix: netip.MustParsePrefix("240.0.0.0/4"), Label: "reserved, limited broadcast"}, // RFC 1112 section 4, RFC 8190
}

// thisNetwork is the block that zero bits fall into.
var thisNetwork = netip.MustParsePrefix("0.0.0.0/8")

// ranges6 are the denied blocks of IPv6 proper.
var ranges6 = []Range{
	{Prefix: netip.MustParsePrefix("::1/128"), Label: "IPv6 loopback"},     // RFC 4291 section 2.5.3
	{Prefix: netip.MustParsePrefix("fc00::/7"), Label: "IPv6 ULA"},         // RFC 4193
	{Prefix: netip.MustParsePrefix("fe80::/10"), Label: "IPv6 link-local"}, // RFC 4291 section 2.5.6
	{Prefix: netip.MustParsePrefix("::/128"), Label: "IPv6 unspecified"},   // RFC 4291 section 2.5.2; Linux connects it to itself
	{Prefix: netip.MustParsePrefix("ff00::/8"), Label: "IPv6 multicast"},   // RFC 4291 section 2.7
}

// Denied is the denied block that a lies in, and whether there is one. An IPv6
// address that carries an IPv4 address is judged by both: a translator or a
// tunnel delivers to the carried one. A zone is ignored. The invalid Addr is in
// no block; who has none has nothing to allow either.
func Denied(a netip.Addr) (Range, bool) {
	if !a.IsValid() {
		return Range{}, false
	}
	a = a.WithZone("")
	r, denied := block(a)
	if service, ok := metadataService(a); ok {
		if !denied {
			r = Range{Prefix: netip.PrefixFrom(service, service.BitLen()), Label: "cloud metadata"}
		}
		r.Metadata = true
		return r, true
	}
	return r, denied
}

// block is the block a lies in, metadata services aside.
func block(a netip.Addr) (Range, bool) {
	if a.Is4() {
		return find(ranges4, a)
	}
	if r, ok := find(ranges6, a); ok {
		return r, true
	}
	var buf [maxCarried]netip.Addr
	var zeros Range
	carried := appendCarried(buf[:0], a)
	inZeros := 0
	for _, v4 := range carried {
		r, ok := find(ranges4, v4)
		switch {
		case !ok:
		case r.Prefix != thisNetwork || !severalReadings(a):
			return r, true
		default:
			zeros = r
			inZeros++
		}
	}
	// Where a prefix length has to be guessed, the bits of one guess are the
	// padding of another, so that zeros say something only if they are all.
	return zeros, inZeros > 0 && inZeros == len(carried)
}

func find(ranges []Range, a netip.Addr) (Range, bool) {
	for _, r := range ranges {
		if r.Prefix.Contains(a) {
			return r, true
		}
	}
	return Range{}, false
}
