package inspect

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"

	"github.com/aegis-aar/aegis/internal/address"
)

// hostByte is 1 for the bytes of a host name in ASCII.
var hostByte = func() (t [256]uint8) {
	for c := range 256 {
		b := byte(c)
		if b == '-' || b == '.' || '0' <= b && b <= '9' || 'a' <= lower(b) && lower(b) <= 'z' {
			t[c] = 1
		}
	}
	return
}()

func wordByte(c byte) bool { return hostByte[c] != 0 && c != '.' || c == '_' }

const maxHost = 253

// url judges the URL whose "p://" or "s://" stands at i, if its scheme is http,
// https, ftp, ws or wss.
func (s *inspection) url(text []byte, i int) {
	if text[i+1] != ':' || text[i+2] != '/' || text[i+3] != '/' {
		return // the needle folds case, of these bytes too
	}
	head := text[:i+1]
	if endsIn(head, "http") || endsIn(head, "https") || endsIn(head, "ftp") || endsIn(head, "ws") || endsIn(head, "wss") {
		s.authority(text, i+len("s://"), true)
	}
}

// endsIn reports whether text ends in suffix, which is in small letters, in any
// case.
func endsIn(text []byte, suffix string) bool {
	at := len(text) - len(suffix)
	if at < 0 {
		return false
	}
	for i := range len(suffix) {
		if lower(text[at+i]) != suffix[i] {
			return false
		}
	}
	return true
}

// authority judges the authority that begins at start. Readers disagree whether
// a backslash ends it; both readings count.
func (s *inspection) authority(text []byte, start int, counted bool) {
	if counted {
		s.urls++
	}
	end := start
	back := -1
	limit := min(len(text), start+2*maxHost)
	for ; end < limit && !endsAuthority(text[end]); end++ {
		if text[end] == '\\' && back < 0 {
			back = end
		}
	}
	listed := false
	if back >= 0 {
		listed = s.host(text, start, back)
		if bytes.IndexByte(text[back:end], '@') < 0 {
			end = back
		}
	}
	if end != back {
		listed = s.host(text, start, end) || listed
	}
	if listed && counted {
		s.urls--
	}
}

// endsAuthority reports whether c ends an authority in every reading or is
// punctuation that prose and mark-up put after a URL.
func endsAuthority(c byte) bool {
	return authorityEnd[c]
}

var authorityEnd = func() (t [256]bool) {
	for c := range 256 {
		t[c] = c <= ' ' || strings.IndexByte("/?#\"'<>(){}|^`,;*!$&=+", byte(c)) >= 0
	}
	return
}()

// host judges the authority text[start:end] and reports whether it is on the
// list of domains.
func (s *inspection) host(text []byte, start, end int) bool {
	if at := bytes.LastIndexByte(text[start:end], '@'); at >= 0 {
		start += at + 1
	}
	host := text[start:end]
	path := end
	if len(host) > 0 && host[0] == '[' {
		n := bytes.IndexByte(host, ']')
		if n < 0 {
			return false
		}
		host = host[1:n]
		if zone := bytes.IndexByte(host, '%'); zone >= 0 {
			host = host[:zone]
		}
		if a, err := netip.ParseAddr(string(host)); err == nil {
			s.addressFound(a, true)
		}
		return false
	}
	plain := true
	for i, c := range host {
		if c == ':' || c == ']' {
			host = host[:i]
			break
		}
		plain = plain && hostByte[c] != 0
	}
	for len(host) > 0 && strings.IndexByte("._-~", host[len(host)-1]) >= 0 {
		host = host[:len(host)-1]
	}
	if len(host) == 0 || len(host) > 4*maxHost {
		return false
	}
	if plain && !numeric(host) {
		return s.listed(host, text[path:])
	}
	name := string(host)
	if !plain {
		name = strings.Map(narrow, name)
	}
	h, fault := address.ParseHost(name)
	if fault != "" && !plain {
		// The host may go on in prose of another script without a space.
		if n := bytes.IndexFunc(host, func(r rune) bool { return r >= 0x80 }); n > 0 {
			return s.listed(bytes.TrimRight(host[:n], "._-"), nil)
		}
	}
	switch {
	case fault != "":
		return false
	case h.Addr.IsValid():
		s.addressFound(h.Addr, true)
		return false
	}
	return s.listed([]byte(h.Name), text[path:])
}

// narrow maps the full-width forms of ASCII to ASCII, as browsers do in hosts
// (UTS 46).
func narrow(r rune) rune {
	switch {
	case r >= 0xff01 && r <= 0xff5e:
		return r - 0xff01 + '!'
	case r == '。' || r == '｡':
		return '.'
	}
	return r
}

// numeric reports whether the last label of host begins with a digit, as a
// number in any of a resolver's spellings does.
func numeric(host []byte) bool {
	last := host[bytes.LastIndexByte(host, '.')+1:]
	return len(last) > 0 && '0' <= last[0] && last[0] <= '9'
}

// listed marks the listed domains that host is or is below, and reports whether
// there are any. rest is the text after the authority.
func (s *inspection) listed(host, rest []byte) bool {
	if len(host) > maxHost {
		host = host[len(host)-maxHost:]
	}
	var buf [maxHost]byte
	low := buf[:len(host)]
	for i, c := range host {
		low[i] = lower(c)
	}
	found := false
	for {
		for _, d := range s.c.byName[string(low)] {
			path := s.c.domains[d].path
			if path == "" || bytes.HasPrefix(afterPort(rest), []byte(path)) {
				s.domains.add(d)
				found = true
			}
		}
		dot := bytes.IndexByte(low, '.')
		if dot < 0 {
			return found
		}
		low = low[dot+1:]
	}
}

// afterPort skips a port at the head of what follows a host.
func afterPort(rest []byte) []byte {
	if len(rest) > 0 && rest[0] == ':' {
		i := 1
		for i < len(rest) && '0' <= rest[i] && rest[i] <= '9' {
			i++
		}
		return rest[i:]
	}
	return rest
}

// bareDomain judges the domain d whose needle stands at i, outside of a URL's
// authority. A host after a single slash is a part of a path.
func (s *inspection) bareDomain(text []byte, i, d int) {
	host := s.c.domains[d].host
	if i -= s.c.domains[d].at; i < 0 {
		return
	}
	if len(text)-i < len(host) || !endsIn(text[:i+len(host)], host) {
		return
	}
	if after := text[i+len(host):]; len(after) > 0 {
		if wordByte(after[0]) || after[0] == '.' && len(after) > 1 && wordByte(after[1]) {
			return
		}
	}
	start := i
	if start > 0 && text[start-1] == '.' {
		for start > 0 && i-start < maxHost && hostByte[text[start-1]] != 0 {
			start--
		}
	} else if start > 0 && wordByte(text[start-1]) {
		return
	}
	if start > 0 && text[start-1] == '/' {
		// `//host` without a scheme is a URL too; with one, url judges it.
		if start < 2 || text[start-2] != '/' || start > 2 && text[start-3] == ':' {
			return
		}
	}
	s.domains.add(d)
}

// ipv4Needles stand at the head of every IPv4 address of a denied block: its
// first octet and what can follow.
func ipv4Needles() []string {
	out := []string{"127.", "169.", "172.", "192.", "100.", "198."}
	for d := '0'; d <= '9'; d++ {
		out = append(out, "10."+string(d), "0."+string(d)+".")
		for e := '0'; e <= '9'; e++ {
			out = append(out, "0."+string(d)+string(e))
		}
	}
	for octet := 224; octet <= 255; octet++ {
		out = append(out, fmt.Sprintf("%d.", octet))
	}
	return out
}

// bareIPv4 judges the dotted quad that begins at i: four decimal octets without
// leading zeros, which every reader takes alike.
func (s *inspection) bareIPv4(text []byte, i int) {
	if i > 0 && (wordByte(text[i-1]) && text[i-1] != '-' || text[i-1] == '.') {
		return
	}
	if i > 2 && text[i-1] == '/' && text[i-2] == '/' {
		return // a URL's
	}
	var octets [4]byte
	for k := range octets {
		start, v := i, 0
		for i < len(text) && i-start < 4 && '0' <= text[i] && text[i] <= '9' {
			v = v*10 + int(text[i]-'0')
			i++
		}
		if i == start || v > 255 || i-start > 1 && text[start] == '0' {
			return
		}
		octets[k] = byte(v)
		if k < 3 {
			if i == len(text) || text[i] != '.' {
				return
			}
			i++
		}
	}
	if i < len(text) && (wordByte(text[i]) && text[i] != '-' || text[i] == '.' && i+1 < len(text) && wordByte(text[i+1])) {
		return
	}
	s.addressFound(netip.AddrFrom4(octets), false)
}

// bareIPv6 looks for IPv6 addresses outside of URLs. It steps from colon to
// colon; a run of hexadecimal digits, colons and dots is looked at once.
func (s *inspection) bareIPv6(text []byte) {
	const longest = 45 // RFC 4291: eight groups with a dotted tail
	for i := 0; ; {
		n := bytes.IndexByte(text[i:], ':')
		if n < 0 {
			return
		}
		i += n
		if i+1 == len(text) || text[i+1] != ':' && (i == 0 || hexByte[text[i-1]]&hexByte[text[i+1]] == 0) {
			i++
			continue
		}
		start, end := i, i
		for start > 0 && i-start < longest && v6Byte(text[start-1]) {
			start--
		}
		colons, double := 0, false
		for end < len(text) && end-i < longest && v6Byte(text[end]) {
			if text[end] == ':' {
				colons++
				double = double || end+1 < len(text) && text[end+1] == ':'
			}
			end++
		}
		i = end
		if start > 1 && text[start-1] == '[' && (text[start-2] == '/' || text[start-2] == '@') {
			continue // a URL's
		}
		if !double && colons != 7 {
			continue
		}
		if start > 0 && wordByte(text[start-1]) || end < len(text) && wordByte(text[end]) && text[end] != '-' {
			continue
		}
		run := bytes.TrimRight(text[start:end], ".")
		if len(run) > 2 && run[len(run)-1] == ':' && run[len(run)-2] != ':' {
			run = run[:len(run)-1]
		}
		if len(run) < 3 || bytes.IndexByte([]byte("."), run[0]) >= 0 || run[0] == ':' && run[1] != ':' {
			continue
		}
		if a, err := netip.ParseAddr(string(run)); err == nil && a.Is6() {
			s.addressFound(a, false)
		}
	}
}

var hexByte = func() (t [256]uint8) {
	for c := range 256 {
		if b := byte(c); '0' <= b && b <= '9' || 'a' <= lower(b) && lower(b) <= 'f' {
			t[c] = 1
		}
	}
	return
}()

func v6Byte(c byte) bool { return hexByte[c] != 0 || c == ':' || c == '.' }

// addressFound notes an address; those in no denied block are nobody's concern.
func (s *inspection) addressFound(a netip.Addr, inURL bool) {
	r, denied := address.Denied(a)
	if !denied {
		return
	}
	label := r.Label
	if r.Metadata {
		label = "cloud metadata"
	}
	if inURL && (r.Metadata || strings.Contains(r.Label, "link-local")) {
		s.certain.addLabel(label)
	} else {
		s.private.addLabel(label)
	}
}
