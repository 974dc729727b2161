package derive

import (
	"net/netip"
	"strings"

	"github.com/aegis-aar/aegis/internal/address"
)

// maxURL is the longest URL in bytes that is read. Browsers and servers stop
// well before; what is longer is a fault.
const maxURL = 64 << 10

// Target is where a URL or a host leads.
type Target struct {
	// Scheme is in lower case, and empty for a host without one.
	Scheme string
	// Host is canonical: a name in lower case without its root dot, in A-labels,
	// or the text of Addr, without brackets.
	Host string
	// Port is the one written, or the scheme's default. It is 0 where HasPort
	// is false, which is for a host alone; a port that is 0 is a fault.
	Port    uint16
	HasPort bool
	// Addr is valid if the host is an address, in any numeric spelling.
	Addr netip.Addr
	// Fault is a fixed text that says why the argument cannot be read one way
	// only, and empty if it can. With a Fault the rest is zero.
	Fault string
}

// Why a URL cannot be read one way only. A fault of its host comes from package
// address.
const (
	faultURLEmpty     = "the URL is empty"
	faultURLLong      = "the URL is longer than 64 KiB"
	faultURLControl   = "the URL holds a control character"
	faultURLBackslash = "a backslash stands before the path, which is a slash to some readers and not to others"
	faultURLPercent   = "a percent sign stands before the path, where some readers decode it and others do not"
	faultURLUserinfo  = "a user name stands before the host (any @ before the path is denied)"
	faultURLBehind    = "an @ stands behind a ? or # with no path before it, which some readers take for the end of a user name"
	faultURLRelative  = "the URL is relative and names no host"
	faultURLScheme    = "the scheme is not one of http, https, ws, wss, ftp"
	faultURLSlashes   = "the scheme is not followed by // and a host"
	faultURLPort      = "the port is not a number from 1 to 65535 without leading zeros"
	faultURLBareV6    = "an IPv6 address and a port need brackets: [address]:port"
)

// schemes are the schemes that are read, with their default ports (WHATWG URL
// standard, section 3.1). They are the ones for which URL parsers agree on what
// a host is. Others are faults: a rule about hosts cannot bind a data: URL, and
// gopher: or dict: to an allowed host speaks another protocol than was allowed.
var schemes = map[string]uint16{
	"http":  80,
	"https": 443,
	"ws":    80,
	"wss":   443,
	"ftp":   21,
}

// ReadTarget reads a URL, a host, or a host and port, each possibly with a path
// behind it: https://example.com/x, example.com, example.com:8080, [::1]:80.
//
// Where readers that exist read it differently the Target has a Fault. The
// rules are stricter than RFC 3986: no user name, no percent sign, backslash,
// space or dot beyond ASCII before the path, no control character anywhere, no
// empty port, exactly two slashes.
func ReadTarget(raw string) Target {
	switch {
	case raw == "":
		return Target{Fault: faultURLEmpty}
	case len(raw) > maxURL:
		return Target{Fault: faultURLLong}
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] < ' ' || raw[i] == 0x7f {
			return Target{Fault: faultURLControl}
		}
	}
	scheme, rest, fault := cutScheme(raw)
	if fault != "" {
		return Target{Fault: fault}
	}
	authority, fault := cutAuthority(rest)
	if fault != "" {
		return Target{Fault: fault}
	}
	if authority == "" {
		return Target{Fault: faultURLSlashes}
	}
	host, port, fault := cutPort(authority, scheme != "")
	if fault != "" {
		return Target{Fault: fault}
	}
	h, fault := address.ParseHost(host)
	if fault != "" {
		return Target{Fault: fault}
	}
	if port == 0 {
		port = schemes[scheme]
	}
	return Target{Scheme: scheme, Host: h.Name, Port: port, HasPort: port != 0, Addr: h.Addr}
}

// cutScheme cuts the scheme and its two slashes off. scheme is empty where raw
// begins with a host.
func cutScheme(raw string) (scheme, rest, fault string) {
	switch raw[0] {
	case '/', '?', '#':
		return "", "", faultURLRelative
	case '\\':
		return "", "", faultURLBackslash
	}
	end := strings.IndexAny(raw, ":/?#\\@[")
	if end < 0 || raw[end] != ':' {
		return "", raw, ""
	}
	scheme, rest = strings.ToLower(raw[:end]), raw[end+1:]
	_, known := schemes[scheme]
	switch {
	case known && strings.HasPrefix(rest, "//"):
		return scheme, rest[len("//"):], ""
	case known:
		return "", "", faultURLSlashes // "http:80" is no host and port
	case scheme == "file":
		return "", "", faultURLScheme // "file:80" is a file
	case rest != "" && '0' <= rest[0] && rest[0] <= '9', strings.Count(authorityOf(raw), ":") > 1:
		return "", raw, "" // a host and port, or an IPv6 address
	}
	return "", "", faultURLScheme
}

// authorityOf is what stands before the path, query and fragment.
func authorityOf(rest string) string {
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		return rest[:end]
	}
	return rest
}

// cutAuthority cuts the host and port off rest.
func cutAuthority(rest string) (authority, fault string) {
	authority = authorityOf(rest)
	switch {
	case strings.IndexByte(authority, '\\') >= 0:
		return "", faultURLBackslash
	case strings.IndexByte(authority, '@') >= 0:
		return "", faultURLUserinfo
	case strings.IndexByte(authority, '%') >= 0:
		return "", faultURLPercent
	}
	if behind := rest[len(authority):]; behind != "" && behind[0] != '/' {
		if end := strings.IndexAny(behind, "/@"); end >= 0 && behind[end] == '@' {
			return "", faultURLBehind
		}
	}
	return authority, ""
}

// cutPort cuts the port off, 0 if there is none. Behind a scheme an IPv6
// address needs its brackets.
func cutPort(authority string, inURL bool) (host string, port uint16, fault string) {
	colon := strings.LastIndexByte(authority, ':')
	switch {
	case colon < 0, authority[0] == '[' && authority[len(authority)-1] == ']':
		return authority, 0, ""
	case authority[0] != '[' && strings.IndexByte(authority, ':') < colon:
		// 2001:db8::1:80 is one address, or another and a port.
		if _, err := netip.ParseAddr(authority[:colon]); err == nil || inURL {
			return "", 0, faultURLBareV6
		}
		return authority, 0, ""
	}
	port, ok := portNumber(authority[colon+1:])
	if !ok {
		return "", 0, faultURLPort
	}
	return authority[:colon], port, ""
}

// portNumber reads a decimal port from 1 to 65535 without leading zeros.
func portNumber(text string) (uint16, bool) {
	if text == "" || len(text) > 5 || text[0] == '0' {
		return 0, false
	}
	n := 0
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || '9' < text[i] {
			return 0, false
		}
		n = 10*n + int(text[i]-'0')
	}
	return uint16(n), n <= 0xffff
}
