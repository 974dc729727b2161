package address_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/internal/address"
	"pgregory.net/rapid"
)

// TestNumericSpellings: numeric IPv4 spellings are read as a resolver reads
// them, and what is no address is a fault, never a name.
func TestNumericSpellings(t *testing.T) {
	t.Parallel()
	for spelling, want := range map[string]string{
		"127.0.0.1": "127.0.0.1", "1.1.1.1": "1.1.1.1", "255.255.255.255": "255.255.255.255",
		"017700000001": "127.0.0.1", "2130706433": "127.0.0.1", "0x7f.1": "127.0.0.1", "127.1": "127.0.0.1", "0177.0.0.01": "127.0.0.1",
		"012.0.0.1": "10.0.0.1", "0": "0.0.0.0", "00": "0.0.0.0", "0x0": "0.0.0.0", "0x7f000001.": "127.0.0.1", "127.0.0.1.": "127.0.0.1", "0X7F.0.0.1": "127.0.0.1",
		"127.0.1": "127.0.0.1", "127.0.513": "127.0.2.1", "10.16777215": "10.255.255.255", "4294967295": "255.255.255.255", "0xffffffff": "255.255.255.255",
		"037777777777": "255.255.255.255", "0x00000000000007f.1": "127.0.0.1", "01.01.01.01": "1.1.1.1", "08.8.8.8": "", "1.1.1.08": "",
		"4294967296": "", "99999999999999999999999999": "", "256.0.0.1": "", "1.2.3.256": "", "1.2.65536": "", "1.16777216": "", "0x100.1": "", "1.2.3.4.5": "", "1.2.3.4.": "1.2.3.4",
		"0x": "", "0x.0x.0x.0x": "", "example.0x": "", "example.1": "", "example.com.123": "", "1.2.3.4..": "", "1..2": "", ".1": "", "1.2.3.0x4g": "1.2.3.0x4g", "0xg": "0xg",
		"1.2.3.4-5": "1.2.3.4-5", "-1": "", "+1": "", "1e3": "1e3", "0b1": "0b1", "0o17": "0o17", "1_000": "1_000", " 1": "", "1.2.3.4 x": "",
		// Octal of a public address: decimal readers go elsewhere.
		"010.8.8.8": "", "0100.1.1.1": "", "8.8.8.010": "", "01.1.1.1": "1.1.1.1", "0377.1.1.1": "255.1.1.1", "0310.1.1.1": "200.1.1.1",
		"0x.example.org": "0x.example.org", "123.example.org": "123.example.org", "1.2.3.4.example.org": "1.2.3.4.example.org", "a1": "a1", "1a": "1a",
		"１２７.0.0.1": "", "127.0.0.①": "", "127。0。0。1": "", "127．0．0．1": "", "127｡0｡0｡1": "", "१२७.0.0.1": "",
	} {
		h, fault := address.ParseHost(spelling)
		_, err := netip.ParseAddr(want)
		if h.Name != want || (fault == "") != (want != "") || h.Addr.IsValid() != (err == nil) || err == nil && h.Addr.String() != want {
			t.Errorf("%q: %+v %q, want %q", spelling, h, fault, want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	label63, label64 := strings.Repeat("a", 63), strings.Repeat("a", 64)
	name253 := strings.Repeat(label63+".", 3) + strings.Repeat("b", 61)
	for host, want := range map[string]string{
		"example.com": "example.com", "EXAMPLE.com": "example.com", "example.com.": "example.com", "localhost.": "localhost", "a": "a",
		"r3---sn-apo3.example.com": "r3---sn-apo3.example.com", "my_bucket.example.com": "my_bucket.example.com", "_dmarc.example.com": "_dmarc.example.com",
		"bücher.example": "xn--bcher-kva.example", "BÜCHER.example.": "xn--bcher-kva.example", "xn--bcher-kva.example": "xn--bcher-kva.example", "XN--Bcher-KVA.example": "xn--bcher-kva.example",
		"bu\u0308cher.example": "", "ＡＰＩ.example.com": "", "bücher.xn--bcher-kva.example": "xn--bcher-kva.xn--bcher-kva.example", "my_service.bücher.example": "my_service.xn--bcher-kva.example",
		"日本語.example": "xn--wgv71a119e.example", "пример.example": "xn--e1afmkfd.example", "אבג.example": "xn--4dbcd.example",
		name253: name253, name253 + ".": name253, name253 + "b": "", label63 + ".example": label63 + ".example", label64 + ".example": "", strings.Repeat("日", 64) + ".example": "", strings.Repeat("日本語.", 70) + "example": "", strings.Repeat("日", 254): "",
		"": "", ".": "", "..": "", ".example.com": "", "a..b": "", "example.com..": "",
		"-a.example": "", "a-.example": "", "a.-": "", "-": "",
		"a b.example": "", "a%20.example": "", "a\\b": "", "a@b": "", "a/b": "", "a?b": "", "a#b": "", "a\tb": "", "a\x00b": "", "a\x7f": "", "a*b": "", "*": "", "a,b": "", "a;b": "", "<a>": "", "a|b": "", "a^b": "", "a`b": "", "a\"b": "", "a'b": "", "a!b": "", "a$b": "", "a&b": "", "a(b)": "", "a+b": "", "a=b": "", "a~b": "", "{a}": "",
		"a\xff.example": "", "\xc0\xae.example": "", "a\u3002example": "", "a\uff0eexample": "", "a\uff61example": "",
		"faß.example": "", "βόλος.example": "", "a\u200db.example": "", "a\u200cb.example": "", "STRAẞE.example": "",
		"a\u202eb.example": "", "\u00a0a.example": "", "a\ufeffb.example": "", "a\u00adb.example": "",
		"xn--.example": "", "xn--a.example": "", "xn--bcher-kv.example": "", "xn--zzzzzzz.example": "xn--zzzzzzz.example", "xn--example-.example": "", "1א.example": "", "xn--bcher-kva-.example": "",
		"℀.example": "", "\u0301a.example": "",
	} {
		h, fault := address.ParseHost(host)
		if h.Name != want || h.Addr.IsValid() || (fault == "") != (want != "") {
			t.Errorf("%q: %+v %q, want %q", host, h, fault, want)
		}
	}
}

func TestIPv6(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"::1": "::1", "[::1]": "::1", "[::]": "::", "[0:0:0:0:0:0:0:1]": "::1", "[2001:DB8::1]": "2001:db8::1", "[::ffff:127.0.0.1]": "::ffff:127.0.0.1", "[::FFFF:7f00:1]": "::ffff:127.0.0.1",
		"[1:2:3:4:5:6:7::]": "1:2:3:4:5:6:7:0", "fe80::1%eth0": "fe80::1%eth0", "[fe80::1%eth0]": "fe80::1%eth0", "[fe80::1%25eth0]": "fe80::1%eth0", "[fe80::1%25]": "fe80::1%25",
		"[": "", "[]": "", "[::1": "", "::1]": "", "[[::1]]": "", "[::1]x": "", "[::1]:80": "", "x[::1]": "", "[1.2.3.4]": "", "[example.com]": "", "[v1.x]": "", "[::1 ]": "", "[::ffff:127.0.0.01]": "", "[::ffff:0x7f.1]": "",
		"[1::2::3]": "", "[:::]": "", ":": "", "::": "::", "1:2": "", "[12345::]": "", "[fe80::1%]": "", "[fe80::1%a/b]": "", "[fe80::1%a%b]": "", "[fe80::1% ]": "", "[fe80::1%" + strings.Repeat("z", 33) + "]": "", "[1:2:3:4:5:6:7:8:9]": "",
	} {
		h, fault := address.ParseHost(host)
		if h.Name != want || (fault == "") != (want != "") || h.Addr.IsValid() != (want != "") {
			t.Errorf("%q: %+v %q, want %q", host, h, fault, want)
		}
	}
}

// TestSpellingsNoResolverSees: case and a root dot change nothing.
func TestSpellingsNoResolverSees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		host := drawHost(t)
		h, fault := address.ParseHost(host)
		for _, other := range []string{strings.ToUpper(host), strings.TrimSuffix(host, ".") + "."} {
			if strings.HasSuffix(host, "]") || strings.Contains(host, ":") {
				other = strings.ToUpper(host)
			}
			if got, gotFault := address.ParseHost(other); got != h || (gotFault == "") != (fault == "") {
				t.Fatalf("%q is %+v %q, %q is %+v %q", host, h, fault, other, got, gotFault)
			}
		}
		// The canonical form reads as itself.
		if fault == "" {
			if again, fault := address.ParseHost(h.Name); again != h || fault != "" {
				t.Fatalf("%q is %+v, which is %+v %q", host, h, again, fault)
			}
		}
	})
}

// drawHost draws hosts of ASCII that are near the edges of the grammar.
func drawHost(t *rapid.T) string {
	return rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9_-]{1,8}(\.[a-zA-Z0-9-]{1,5}){0,3}\.?`),
		rapid.StringMatching(`(0[xX]?)?[0-9a-f]{1,9}(\.(0[xX]?)?[0-9a-f]{1,3}){0,4}\.?`),
		rapid.StringMatching(`\[?[0-9a-f]{0,4}:[0-9a-f]{0,4}:[0-9a-f:.]{0,12}\]?`),
	).Draw(t, "host")
}

func FuzzParseHost(f *testing.F) {
	for _, s := range []string{"example.com", "0x7f.1", "[::1]", "[fe80::1%25eth0]", "bücher.example", "xn--bcher-kva.example", "127。0。0。1", "a..b", "1.2.3.4.", "\xff", "0x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		h, fault := address.ParseHost(host)
		if fault != "" {
			if h != (address.Host{}) {
				t.Fatalf("%q: %+v beside the fault %q", host, h, fault)
			}
			return
		}
		if h.Addr.IsValid() {
			if h.Name != h.Addr.String() {
				t.Fatalf("%q: %+v", host, h)
			}
		} else {
			if len(h.Name) > 253 || strings.Trim(h.Name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || strings.HasSuffix(h.Name, ".") {
				t.Fatalf("%q: no canonical name: %+v", host, h)
			}
			if _, err := netip.ParseAddr(h.Name); err == nil {
				t.Fatalf("%q: the name %q is an address", host, h.Name)
			}
		}
		if again, fault := address.ParseHost(h.Name); again != h || fault != "" {
			t.Fatalf("%q: %+v reads as %+v %q", host, h, again, fault)
		}
	})
}

func BenchmarkParseHost(b *testing.B) {
	for _, c := range []struct{ name, host string }{
		{"name", "api.eu-west-1.example.com"},
		{"upper case", "API.EU-WEST-1.EXAMPLE.COM"},
		{"IPv4", "8.8.8.8"},
		{"hexadecimal", "0x8080808"},
		{"IPv6", "[2606:4700:4700::1111]"},
		{"IDNA", "bücher.example.com"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, fault := address.ParseHost(c.host); fault != "" {
					b.Fatal(fault)
				}
			}
		})
	}
	// The dearest names: as many different characters a label as fit, doubled
	// until the name is too long and beyond.
	for n := 128; n <= 1024; n *= 2 {
		var host strings.Builder
		for i := 0; host.Len() < n; i++ {
			host.WriteRune(rune(0x4e00 + i*7919%5000))
			if i%50 == 49 {
				host.WriteByte('.')
			}
		}
		b.Run(fmt.Sprint("doubling/", n), func(b *testing.B) {
			b.SetBytes(int64(host.Len()))
			for b.Loop() {
				address.ParseHost(host.String())
			}
		})
	}
}
