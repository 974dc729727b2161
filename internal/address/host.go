package address

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Bounds of a host name, in bytes of its ASCII form without the root dot
// (RFC 1035 section 2.3.4).
const (
	maxName  = 253
	maxLabel = 63
)

// maxZone bounds a zone; Linux's interface names end at 15 bytes (IFNAMSIZ).
const maxZone = 32

// Host is one host, read the one way that every reader reads it.
type Host struct {
	// Name is canonical: lower case, A-labels, no root dot; or the text of Addr.
	Name string
	// Addr is valid if the host is an address, in any spelling. An IPv4-mapped
	// address stays one; a zone is kept.
	Addr netip.Addr
}

// Why a host cannot be read one way only.
const (
	faultEmpty      = "the host is empty"
	faultLong       = "the host is longer than 253 bytes"
	faultLabelLong  = "a label of the host is longer than 63 bytes"
	faultLabelEmpty = "a label of the host is empty"
	faultHyphen     = "a label of the host begins or ends with a hyphen"
	faultUTF8       = "the host is not UTF-8"
	faultControl    = "the host holds a control character"
	faultSpace      = "the host holds a space"
	faultPercent    = "the host holds a percent sign"
	faultBackslash  = "the host holds a backslash"
	faultCharacter  = "the host holds a character that no host name has"
	faultDot        = "the host holds a dot that is not the ASCII one"
	faultIDNA       = "the host is no valid internationalised name"
	faultDeviation  = "the host holds a character that IDNA 2003 and IDNA 2008 read as different names"
	faultMapped     = "the host holds a character that stands for another; write lower-case letters or A-labels (xn--)"
	faultNumeric    = "the host ends in a number but is no IPv4 address"
	faultHexEmpty   = "the host holds 0x without digits, which is zero to some and no number to others"
	faultOctal      = "the host holds a number with leading zeros, which is octal to some and decimal to others"
	faultV6         = "the host is no IPv6 address"
	faultZone       = "the zone of the IPv6 address is malformed"
)

// ParseHost reads a host as it stands in a URL or a configuration: a name, an
// IPv4 address in any spelling that inet_aton and the WHATWG URL standard read
// alike, an IPv6 address, in brackets or not, with a zone or not.
//
// fault says in a fixed text why the host cannot be read one way only, and is
// empty if it can; with a fault the Host is zero. A host whose last label is a
// number is an address or a fault, never a name: "ends in a number" of the
// WHATWG standard, section 3.5.
//
// Names have the bounds of RFC 1035: 253 bytes, 63 a label, no empty one. An
// internationalised name is mapped as UTS 46 has it, not transitional; where
// that changes more than case, or the IDNA of 2003 names another host, it is a
// fault, and A-labels are the way to write it. An underscore is part of a name,
// for real services have one; a label that begins or ends with a hyphen is a
// fault, since resolvers differ on it.
func ParseHost(host string) (h Host, fault string) {
	if host == "" {
		return Host{}, faultEmpty
	}
	if host[0] == '[' {
		if host[len(host)-1] != ']' {
			return Host{}, faultV6
		}
		return parseV6(host[1 : len(host)-1])
	}
	// The longest name there is can be longer in UTF-8 than in A-labels, but
	// not by more than four bytes for one.
	if len(host) > 4*(maxName+1) {
		return Host{}, faultLong
	}
	if strings.IndexByte(host, ':') >= 0 {
		return parseV6(host)
	}
	name, fault := canonicalName(host)
	if fault != "" {
		return Host{}, fault
	}
	if !endsInNumber(name) {
		return Host{Name: name}, ""
	}
	a, fault := parseV4(name)
	if fault != "" {
		return Host{}, fault
	}
	return Host{Name: a.String(), Addr: a}, ""
}

// parseV6 reads an IPv6 address without its brackets. The zone of RFC 6874 is
// written behind %25, that of RFC 4007 behind %.
func parseV6(text string) (Host, string) {
	text, zone, zoned := strings.Cut(text, "%")
	if zoned {
		if rest, ok := strings.CutPrefix(zone, "25"); ok && rest != "" {
			zone = rest
		}
		if zone == "" || len(zone) > maxZone || strings.IndexFunc(zone, notZone) >= 0 {
			return Host{}, faultZone
		}
	}
	if len(text) > len("0000:0000:0000:0000:0000:0000:255.255.255.255") {
		return Host{}, faultV6
	}
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is6() {
		return Host{}, faultV6
	}
	a = a.WithZone(zone)
	return Host{Name: a.String(), Addr: a}, ""
}

// notZone is false for the unreserved characters of RFC 3986.
func notZone(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_' || r == '~')
}

// canonicalName is the lower-case ASCII form of a name without its root dot.
func canonicalName(host string) (name, fault string) {
	name = host
	if !isASCII(host) || hasALabel(host) {
		if name, fault = mapName(host); fault != "" {
			return "", fault
		}
	}
	name = strings.TrimSuffix(name, ".")
	if len(name) > maxName {
		return "", faultLong
	}
	start, upper := 0, false
	for i := 0; i <= len(name); i++ {
		if i == len(name) || name[i] == '.' {
			if fault := labelFault(name[start:i]); fault != "" {
				return "", fault
			}
			start = i + 1
			continue
		}
		if fault := byteFaults[name[i]]; fault != "" {
			return "", fault
		}
		upper = upper || 'A' <= name[i] && name[i] <= 'Z'
	}
	if upper {
		name = strings.ToLower(name)
	}
	return name, ""
}

func labelFault(label string) string {
	switch {
	case label == "":
		return faultLabelEmpty
	case len(label) > maxLabel:
		return faultLabelLong
	case label[0] == '-' || label[len(label)-1] == '-':
		return faultHyphen
	}
	return ""
}

// byteFaults is the fault of each byte that no ASCII name holds, "" for letters,
// digits, hyphen and underscore.
var byteFaults = func() (faults [256]string) {
	for i := range faults {
		switch b := byte(i); {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '-', b == '_':
		case b < ' ' || b == 0x7f:
			faults[i] = faultControl
		case b == ' ':
			faults[i] = faultSpace
		case b == '%':
			faults[i] = faultPercent
		case b == '\\':
			faults[i] = faultBackslash
		default:
			faults[i] = faultCharacter
		}
	}
	return faults
}()

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hasALabel reports whether a label begins with xn--, whatever its case.
func hasALabel(host string) bool {
	for i := 0; i+4 <= len(host); i++ {
		if (i == 0 || host[i-1] == '.') && host[i]|0x20 == 'x' && host[i+1]|0x20 == 'n' && host[i+2] == '-' && host[i+3] == '-' {
			return true
		}
	}
	return false
}

// mapping is the WHATWG URL standard's domain to ASCII: UTS 46, not
// transitional, with the joiner and bidi rules. Hyphens, ASCII characters and
// lengths are judged here, on the result.
var mapping = idna.New(
	idna.MapForLookup(),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
	idna.CheckJoiners(true),
	idna.BidiRule(),
	idna.Transitional(false),
)

// mapName maps a name with characters beyond ASCII, or with A-labels, which
// have to be valid.
func mapName(host string) (name, fault string) {
	if !utf8.ValidString(host) {
		return "", faultUTF8
	}
	// Each character is at least one byte of ASCII; encoding a label takes time
	// quadratic in its length, so that the bounds come first.
	whole, label := 0, 0
	for _, r := range host {
		whole++
		label++
		if r == '.' {
			label = 0
		}
		switch {
		case label > maxLabel:
			return "", faultLabelLong
		case whole > maxName+1:
			return "", faultLong
		}
		switch r {
		case '\u3002', '\uff0e', '\uff61':
			return "", faultDot
		case '\u00df', '\u1e9e', '\u03c2', '\u200c', '\u200d':
			// Sharp s, final sigma and the joiners: RFC 5894 section 7.2.
			return "", faultDeviation
		}
		if r < utf8.RuneSelf && r != '.' {
			if fault := byteFaults[byte(r)]; fault != "" {
				return "", fault
			}
		}
	}
	name, err := mapping.ToASCII(host)
	if err != nil {
		return "", faultIDNA
	}
	// Which characters are folded, decomposed or dropped has changed with each
	// version of IDNA and of Unicode. Case alone is agreed on.
	lower := strings.ToLower(host)
	for labels, more := name, true; more; {
		var label, written string
		label, labels, more = strings.Cut(labels, ".")
		written, lower, _ = strings.Cut(lower, ".")
		if isASCII(written) {
			continue
		}
		if decoded, err := idna.Punycode.ToUnicode(label); err != nil || decoded != written {
			return "", faultMapped
		}
	}
	return name, ""
}
