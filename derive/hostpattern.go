package derive

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aegis-aar/aegis/internal/address"
)

// HostPattern is one entry of a list of allowed hosts. The zero HostPattern
// matches nothing.
type HostPattern struct {
	host       string // canonical; behind "*." the parent
	subdomains bool
	port       uint16 // 0 is any
}

// ParseHostPattern reads a pattern. There are four, each with an optional
// :port, which then is the only one it takes:
//
//	example.com     that host alone
//	*.example.com   the hosts below it, at any depth, and not itself
//	192.0.2.1       that address
//	[2001:db8::1]   that address
//
// Case, a root dot and the two spellings of an internationalised name make no
// difference. There is no pattern for every host, and none with a * elsewhere.
func ParseHostPattern(pattern string) (HostPattern, error) {
	p, err := parseHostPattern(pattern)
	if err != nil {
		return HostPattern{}, fmt.Errorf("host pattern %q: %w", pattern, err)
	}
	return p, nil
}

func parseHostPattern(pattern string) (HostPattern, error) {
	if i := strings.IndexAny(pattern, "/?#\\@"); i >= 0 {
		return HostPattern{}, fmt.Errorf("a pattern is a host with or without a port, not a URL: it cannot hold %q", pattern[i])
	}
	host, port := pattern, uint16(0)
	if colon := strings.LastIndexByte(pattern, ':'); colon >= 0 && !strings.HasSuffix(pattern, "]") {
		if strings.IndexByte(pattern, ':') < colon && pattern[0] != '[' {
			return HostPattern{}, errors.New("an IPv6 address needs brackets: [address] or [address]:port")
		}
		var ok bool
		if port, ok = portNumber(pattern[colon+1:]); !ok {
			return HostPattern{}, errors.New(faultURLPort)
		}
		host = pattern[:colon]
	}
	host, subdomains := strings.CutPrefix(host, "*.")
	switch {
	case host == "*":
		return HostPattern{}, errors.New("there is no pattern for every host; leave the list out, or write *.example.com for the hosts below one")
	case strings.IndexByte(host, '*') >= 0:
		return HostPattern{}, errors.New("a * stands only at the front, as the whole first label: *.example.com")
	}
	h, fault := address.ParseHost(host)
	switch {
	case fault != "":
		return HostPattern{}, errors.New(fault)
	case h.Addr.Zone() != "":
		return HostPattern{}, errors.New("an address with a zone is another one on each machine")
	case h.Addr.IsValid() && subdomains:
		return HostPattern{}, errors.New("there are no hosts below an address")
	case h.Addr.Is4() && h.Name != host:
		return HostPattern{}, fmt.Errorf("write the address as %s", h.Name)
	}
	return HostPattern{host: h.Name, subdomains: subdomains, port: port}, nil
}

// Match reports whether the pattern takes a Target's Host and Port, which are
// canonical. A pattern with a port does not take a host whose port is not
// known, which is 0. A Target with a Fault has no host and is never taken.
func (p HostPattern) Match(host string, port uint16) bool {
	if p.host == "" || p.port != 0 && p.port != port {
		return false
	}
	if !p.subdomains {
		return host == p.host
	}
	at := len(host) - len(p.host)
	return at > 1 && host[at-1] == '.' && host[at:] == p.host
}
