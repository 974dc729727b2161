package derive_test

import (
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/derive"
	"pgregory.net/rapid"
)

func TestHostPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern       string
		takes, leaves []string
	}{
		{"api.example.com", []string{"https://api.example.com", "http://API.example.com.:99/", "api.example.com", "api.example.com:1"},
			[]string{"https://example.com", "https://a.api.example.com", "https://xapi.example.com", "https://api.example.com.evil.test", "https://api-example.com", "https://user@api.example.com"}},
		{"API.Example.COM.", []string{"https://api.example.com"}, []string{"https://example.com"}},
		{"*.int.example.com", []string{"https://a.int.example.com", "https://a.b.int.example.com", "https://A.INT.example.com."}, []string{"https://int.example.com", "https://evilint.example.com", "https://a.int.example.com.evil.test", "https://.int.example.com"}},
		{"*.EXAMPLE.com.", []string{"https://a.example.com"}, []string{"https://example.com"}},
		{"x.example.com:8443", []string{"https://x.example.com:8443", "x.example.com:8443"}, []string{"https://x.example.com", "https://x.example.com:9999", "x.example.com", "https://a.x.example.com:8443"}},
		{"*.example.com:443", []string{"https://a.example.com", "wss://a.example.com", "http://a.example.com:443"}, []string{"http://a.example.com", "a.example.com", "https://example.com"}},
		{"x.example.com.:80", []string{"http://x.example.com"}, []string{"https://x.example.com"}},
		{"bücher.example", []string{"https://xn--bcher-kva.example", "https://BÜCHER.example"}, []string{"https://bucher.example"}},
		{"*.xn--bcher-kva.example", []string{"https://a.bücher.example"}, []string{"https://bücher.example"}},
		{"8.8.8.8", []string{"https://8.8.8.8", "https://134744072/", "https://0x8.8.8.8."}, []string{"https://8.8.4.4", "https://8.8.8.8.example", "https://[::ffff:8.8.8.8]"}},
		{"[2001:DB8::1]", []string{"https://[2001:db8:0::1]", "http://[2001:db8::1]:1", "2001:db8::1"}, []string{"https://[2001:db8::2]"}},
		{"[2001:db8::1]:443", []string{"https://[2001:db8::1]"}, []string{"http://[2001:db8::1]", "[2001:db8::1]"}},
		{"localhost", []string{"http://localhost:3000"}, []string{"http://a.localhost"}},
		{"*.localhost", []string{"http://a.localhost:3000"}, []string{"http://localhost"}},
	} {
		p, err := derive.ParseHostPattern(c.pattern)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, raw := range c.takes {
			if got := derive.ReadTarget(raw); got.Fault != "" || !p.Match(got.Host, got.Port) {
				t.Errorf("%s does not take %s, which is %+v", c.pattern, raw, got)
			}
		}
		for _, raw := range c.leaves {
			if got := derive.ReadTarget(raw); p.Match(got.Host, got.Port) {
				t.Errorf("%s takes %s, which is %+v", c.pattern, raw, got)
			}
		}
	}
	if (derive.HostPattern{}).Match("", 0) {
		t.Error("the zero pattern takes the host of a fault")
	}
	below, err := derive.ParseHostPattern("*.example.com")
	if err != nil || below.Match(".example.com", 0) || below.Match("", 0) {
		t.Errorf("%v: *.example.com takes an empty label", err)
	}
}

// TestHostPatternErrors: what is no pattern is said with what to write instead,
// or with what is wrong.
func TestHostPatternErrors(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"":                        "the host is empty",
		"*":                       "no pattern for every host",
		"*:443":                   "no pattern for every host",
		"*.":                      "the host is empty",
		"**.example.com":          "only at the front",
		"*.*.example.com":         "only at the front",
		"a.*.com":                 "only at the front",
		"api-*.example.com":       "only at the front",
		"*example.com":            "only at the front",
		"https://api.example.com": "not a URL",
		"api.example.com/v1":      "not a URL",
		"user@example.com":        "not a URL",
		"api.example.com:":        "port",
		"api.example.com:0":       "port",
		"api.example.com:*":       "port",
		"api.example.com:080":     "port",
		"::1":                     "brackets",
		"2001:db8::1:443":         "brackets",
		"[::1":                    "no IPv6 address",
		"[::1]x":                  "port",
		"[fe80::1%eth0]":          "zone",
		"*.1.2.3.4":               "below an address",
		"*.[::1]":                 "below an address",
		"0x7f.1":                  "write the address as 127.0.0.1",
		"8.8.8.8.":                "write the address as 8.8.8.8",
		"010.8.8.8":               "leading zeros",
		"10.0.0.0/8":              "not a URL",
		"a..b":                    "label of the host is empty",
		"exa mple.com":            "space",
		"example。com":             "dot",
		".example.com":            "label of the host is empty",
		"example.123":             "ends in a number",
	} {
		p, err := derive.ParseHostPattern(pattern)
		if err == nil || !strings.Contains(err.Error(), want) || p != (derive.HostPattern{}) {
			t.Errorf("%q: %+v, %v, want %q", pattern, p, err, want)
		}
	}
}

var (
	drawName = rapid.StringMatching(`[a-z]{1,3}(\.[a-z]{1,3}){1,3}`)
	drawPort = rapid.SampledFrom([]uint16{0, 80, 443, 8443})
)

// TestNarrowedHostPatternAdmitsNoMore: a pattern made narrower, by a port, by a
// longer suffix or by one host in place of many, takes nothing its wider form
// does not.
func TestNarrowedHostPatternAdmitsNoMore(t *testing.T) {
	t.Parallel()
	parse := func(t *rapid.T, text string) derive.HostPattern {
		p, err := derive.ParseHostPattern(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		parent := drawName.Draw(t, "parent")
		child := drawName.Draw(t, "child") + "." + parent
		for _, pair := range [][2]string{
			{"*." + parent, "*." + child},
			{"*." + parent, child},
			{parent, parent + ":443"},
			{"*." + parent, "*." + parent + ":443"},
			{"*." + parent + ":443", child + ":443"},
		} {
			wide, narrow := parse(t, pair[0]), parse(t, pair[1])
			for _, host := range []string{parent, child, drawName.Draw(t, "other"), drawName.Draw(t, "below") + "." + child, "x" + parent} {
				port := drawPort.Draw(t, "port")
				if narrow.Match(host, port) {
					taken++
					if !wide.Match(host, port) {
						t.Fatalf("%s takes %s port %d, %s does not", pair[1], host, port, pair[0])
					}
				}
			}
		}
	})
	if taken == 0 {
		t.Error("no narrow pattern took anything")
	}
}

// TestSpellingsNoResolverSeesMoveNoTarget: case, a root dot and a written
// default port change neither host nor port.
func TestSpellingsNoResolverSeesMoveNoTarget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(drawName, rapid.SampledFrom([]string{"8.8.8.8", "127.1", "0x7f.1", "0", "1.2.3.4.5"})).Draw(t, "host")
		scheme := rapid.SampledFrom([]string{"http", "https", "ws", "wss", "ftp"}).Draw(t, "scheme")
		path := rapid.SampledFrom([]string{"", "/", "/a@b", "?q", "#f"}).Draw(t, "path")
		plain := derive.ReadTarget(scheme + "://" + name + path)
		ports := map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
		for _, raw := range []string{
			strings.ToUpper(scheme) + "://" + strings.ToUpper(name) + path,
			scheme + "://" + name + "." + path,
			scheme + "://" + name + ":" + ports[scheme] + path,
			strings.ToUpper(scheme) + "://" + name + ".:" + ports[scheme] + path,
		} {
			if got := derive.ReadTarget(raw); got != plain {
				t.Fatalf("%q is %+v, %q is %+v", scheme+"://"+name+path, plain, raw, got)
			}
		}
	})
}

func FuzzHostPattern(f *testing.F) {
	for _, s := range []string{"example.com", "*.example.com:443", "[::1]:80", "*", "8.8.8.8", "bücher.example", "*.*", "a:b:c", "]"} {
		f.Add(s, "https://a.example.com")
	}
	f.Fuzz(func(t *testing.T, pattern, raw string) {
		p, err := derive.ParseHostPattern(pattern)
		target := derive.ReadTarget(raw)
		taken := p.Match(target.Host, target.Port)
		if taken && (err != nil || target.Fault != "") {
			t.Fatalf("%q, which is %v, takes %q, which is %+v", pattern, err, raw, target)
		}
		// A pattern without a star, read as a target, is what it takes.
		if err == nil && !strings.HasPrefix(pattern, "*") {
			if self := derive.ReadTarget(pattern); self.Fault == "" && !p.Match(self.Host, self.Port) {
				t.Fatalf("%q does not take itself, %+v", pattern, self)
			}
		}
	})
}
