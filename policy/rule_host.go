package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/internal/address"
)

// hostRule is http_request. Private and local addresses are denied unless
// deny_private is false or allow_cidrs opens a range; the metadata addresses of
// the cloud providers are always denied. No name is looked up: without
// allow_hosts a name is allowed only where allow_unresolved says so, or where
// private addresses are allowed anyway.
type hostRule struct {
	hosts           []hostPattern
	listed          bool // allow_hosts
	deny, allow     []netip.Prefix
	private         bool // deny_private
	allowUnresolved bool
}

type hostPattern struct {
	text string
	derive.HostPattern
}

func newHostRule(m *section, fail failFunc) *hostRule {
	r := &hostRule{private: true, allowUnresolved: m.values["allow_unresolved"].flag}
	if v, ok := m.values["deny_private"]; ok {
		r.private = v.flag
	}
	hosts, listed := m.values["allow_hosts"]
	r.listed = listed
	for _, e := range hosts.list {
		p, err := derive.ParseHostPattern(e.text)
		if err != nil {
			fail(e, e.text, "%s in `allow_hosts`: %s", quoted(e.text), err)
			continue
		}
		r.hosts = append(r.hosts, hostPattern{e.text, p})
	}
	r.deny, r.allow = prefixes(m, "deny_cidrs", fail), prefixes(m, "allow_cidrs", fail)
	return r
}

// prefixes reads the networks of a list; an address by itself is a network of one.
func prefixes(m *section, key string, fail failFunc) []netip.Prefix {
	var out []netip.Prefix
	for _, e := range m.values[key].list {
		p, err := netip.ParsePrefix(e.text)
		if a, aerr := netip.ParseAddr(e.text); err != nil && aerr == nil && a.Zone() == "" {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		switch {
		case err != nil:
			fail(e, e.text, "%s in `%s` is no network, such as 192.0.2.0/24 or 2001:db8::/32", quoted(e.text), key)
		case p != p.Masked():
			fail(e, e.text, "%s in `%s` has bits below its length; did you mean `%s`?", quoted(e.text), key, p.Masked())
		default:
			out = append(out, p)
		}
	}
	return out
}

func (r *hostRule) judge(p *derive.Param) finding {
	t := &p.Target
	if t.Addr.IsValid() {
		if f := r.address(t.Addr, t.Host); f.denied {
			return f
		}
	} else if f := r.localName(t.Host, p.Host()); f.denied {
		return f
	}
	if r.listed {
		for i := range r.hosts {
			if r.hosts[i].Match(t.Host, t.Port) {
				return r.unresolved(t)
			}
		}
		return denied(CodeHTTPHostDeny, "allow_hosts", fmt.Sprintf("host %s is not in allow_hosts", p.Host()))
	}
	if !t.Addr.IsValid() && r.private && !r.allowUnresolved {
		return denied(CodeHTTPHostDeny, "allow_unresolved", fmt.Sprintf("host %s is a name that is not looked up: it may lead to a private address; list it in allow_hosts", p.Host()))
	}
	return r.unresolved(t)
}

// unresolved allows, with a note where the host is a name.
func (r *hostRule) unresolved(t *derive.Target) finding {
	if t.Addr.IsValid() {
		return allowed()
	}
	return finding{code: NoteUnresolved}
}

func (r *hostRule) address(a netip.Addr, name string) finding {
	a = a.WithZone("")
	for _, p := range r.deny {
		if contains(p, a) || slices.ContainsFunc(address.Carried(a), p.Contains) {
			f := denied(CodeHTTPSSRF, "deny_cidrs", fmt.Sprintf("host %s is in deny_cidrs %s", name, p))
			f.entry = p.String()
			return f
		}
	}
	in, private := address.Denied(a)
	switch {
	case in.Metadata && !r.private:
		return denied(CodeHTTPSSRF, "", fmt.Sprintf("host %s is a metadata service, which nothing opens", name))
	case in.Metadata:
		return denied(CodeHTTPSSRF, "", fmt.Sprintf("host %s is in deny_private range %s (%s), and a metadata service, which nothing opens", name, in.Prefix, in.Label))
	case !private || !r.private || r.opens(a):
		return allowed()
	}
	return denied(CodeHTTPSSRF, "deny_private", fmt.Sprintf("host %s is in deny_private range %s (%s)", name, in.Prefix, in.Label))
}

// opens reports whether allow_cidrs has the address in one of its networks.
func (r *hostRule) opens(a netip.Addr) bool {
	for _, p := range r.allow {
		if contains(p, a) {
			return true
		}
	}
	return false
}

func contains(p netip.Prefix, a netip.Addr) bool {
	return p.Contains(a) || p.Contains(a.Unmap())
}

// localName denies the names that lead to this machine or to the metadata
// service of a cloud provider. The first are opened as their addresses are.
func (r *hostRule) localName(name, shown string) finding {
	switch {
	case slices.Contains(metadataNames, name):
		return denied(CodeHTTPSSRF, "", "host "+shown+" is a metadata service, which nothing opens")
	case name == "metadata" && r.private:
		return denied(CodeHTTPSSRF, "deny_private", "host "+shown+" is denied by deny_private: it names a metadata service")
	case (name == "localhost" || strings.HasSuffix(name, ".localhost")) && r.private && !(r.opens(loopback4) && r.opens(loopback6)):
		return denied(CodeHTTPSSRF, "deny_private", "host "+shown+" is denied by deny_private: it names this machine")
	}
	return allowed()
}

// metadataNames are the full names that providers give to their metadata
// services (Google Cloud, Amazon EC2 and OpenStack images, Tencent Cloud). Under
// the short name `metadata` somebody may run a service of their own.
var metadataNames = []string{"metadata.google.internal", "metadata.goog", "instance-data.ec2.internal", "instance-data", "metadata.tencentyun.com"}

var loopback4, loopback6 = netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()
