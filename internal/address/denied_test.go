package address_test

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/internal/address"
	"pgregory.net/rapid"
)

// TestDeniedRanges has the first and the last address of every block, and the
// addresses beside it.
func TestDeniedRanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ addr, prefix, label string }{
		{"0.0.0.0", "0.0.0.0/8", "this network"}, {"0.255.255.255", "0.0.0.0/8", "this network"}, {"1.0.0.0", "", ""},
		{"9.255.255.255", "", ""}, {"10.0.0.0", "10.0.0.0/8", "RFC1918 (10)"}, {"10.255.255.255", "10.0.0.0/8", "RFC1918 (10)"}, {"11.0.0.0", "", ""},
		{"100.63.255.255", "", ""}, {"100.64.0.0", "100.64.0.0/10", "shared address space"}, {"100.127.255.255", "100.64.0.0/10", "shared address space"}, {"100.128.0.0", "", ""},
		{"126.255.255.255", "", ""}, {"127.0.0.0", "127.0.0.0/8", "loopback"}, {"127.255.255.255", "127.0.0.0/8", "loopback"}, {"128.0.0.0", "", ""},
		{"169.253.255.255", "", ""}, {"169.254.0.0", "169.254.0.0/16", "link-local"}, {"169.254.255.255", "169.254.0.0/16", "link-local"}, {"169.255.0.0", "", ""},
		{"172.15.255.255", "", ""}, {"172.16.0.0", "172.16.0.0/12", "RFC1918 (172.16-31)"}, {"172.31.255.255", "172.16.0.0/12", "RFC1918 (172.16-31)"}, {"172.32.0.0", "", ""},
		{"191.255.255.255", "", ""}, {"192.0.0.0", "192.0.0.0/24", "IETF protocol assignments"}, {"192.0.0.255", "192.0.0.0/24", "IETF protocol assignments"}, {"192.0.1.0", "", ""},
		{"192.167.255.255", "", ""}, {"192.168.0.0", "192.168.0.0/16", "RFC1918 (192.168)"}, {"192.168.255.255", "192.168.0.0/16", "RFC1918 (192.168)"}, {"192.169.0.0", "", ""},
		{"198.17.255.255", "", ""}, {"198.18.0.0", "198.18.0.0/15", "benchmarking"}, {"198.19.255.255", "198.18.0.0/15", "benchmarking"}, {"198.20.0.0", "", ""},
		{"223.255.255.255", "", ""}, {"224.0.0.0", "224.0.0.0/4", "multicast"}, {"239.255.255.255", "224.0.0.0/4", "multicast"},
		{"240.0.0.0", "240.0.0.0/4", "reserved, limited broadcast"}, {"255.255.255.255", "240.0.0.0/4", "reserved, limited broadcast"},

		{"::", "::/128", "IPv6 unspecified"}, {"::1", "::1/128", "IPv6 loopback"}, {"::2", "0.0.0.0/8", "this network"},
		{"fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""}, {"fc00::", "fc00::/7", "IPv6 ULA"}, {"fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fc00::/7", "IPv6 ULA"}, {"fe00::", "", ""},
		{"fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""}, {"fe80::", "fe80::/10", "IPv6 link-local"}, {"febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe80::/10", "IPv6 link-local"}, {"fec0::", "", ""},
		{"fe80::1%eth0", "fe80::/10", "IPv6 link-local"}, {"::1%lo", "::1/128", "IPv6 loopback"}, {"::ffff:127.0.0.1%lo", "127.0.0.0/8", "loopback"},
		{"feff::", "", ""}, {"ff00::", "ff00::/8", "IPv6 multicast"}, {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ff00::/8", "IPv6 multicast"},
		{"2606:4700::1111", "", ""}, {"2001:db8::1", "", ""},
	} {
		addr, err := netip.ParseAddr(c.addr)
		if err != nil {
			// The text form of a mapped address has no zone.
			addr = netip.MustParseAddr("::ffff:127.0.0.1").WithZone("lo")
		}
		r, denied := address.Denied(addr)
		if denied != (c.label != "") || r.Label != c.label || denied && r.Prefix.String() != c.prefix {
			t.Errorf("%s: %v %v %v, want %s %s", c.addr, r.Prefix, r.Label, denied, c.prefix, c.label)
		}
	}
	if r, denied := address.Denied(netip.Addr{}); denied {
		t.Errorf("no address: %v", r)
	}
}

func put(prefix string, at ...int) func(v4 [4]byte) netip.Addr {
	return func(v4 [4]byte) netip.Addr {
		b := netip.MustParseAddr(prefix).As16()
		for i, j := range at {
			b[j] = v4[i]
		}
		return netip.AddrFrom16(b)
	}
}

// carriers place an IPv4 address in an IPv6 one, everywhere it can stand.
var carriers = []struct {
	name string
	put  func(v4 [4]byte) netip.Addr
}{
	{"mapped", put("::ffff:0:0", 12, 13, 14, 15)},
	{"translated", put("::ffff:0:0:0", 12, 13, 14, 15)},
	{"compatible", put("::", 12, 13, 14, 15)},
	{"NAT64", put("64:ff9b::", 12, 13, 14, 15)},
	{"local NAT64 /48", put("64:ff9b:1::", 6, 7, 9, 10)},
	{"local NAT64 /56", put("64:ff9b:1::", 7, 9, 10, 11)},
	{"local NAT64 /64", put("64:ff9b:1::", 9, 10, 11, 12)},
	{"local NAT64 /96", put("64:ff9b:1::", 12, 13, 14, 15)},
	{"6to4", put("2002::1", 2, 3, 4, 5)},
	{"Teredo server", put("2001:0:808:808:0:ffff:f7f7:f7f7", 4, 5, 6, 7)},
	{"Teredo client", func(v4 [4]byte) netip.Addr {
		return put("2001:0:808:808:0:ffff::", 12, 13, 14, 15)([4]byte{^v4[0], ^v4[1], ^v4[2], ^v4[3]})
	}},
	{"ISATAP", put("2606:4700::5efe:0:0", 12, 13, 14, 15)},
	{"ISATAP, universal", put("2606:4700::200:5efe:0:0", 12, 13, 14, 15)},
}

// TestDeniedInEveryCarrier: an IPv6 form of a denied IPv4 address is denied with
// the same range, whatever the form.
func TestDeniedInEveryCarrier(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var v4 [4]byte
		binary.BigEndian.PutUint32(v4[:], rapid.Uint32().Draw(t, "v4"))
		v4[0] = rapid.SampledFrom([]byte{10, 100, 127, 169, 172, 192, 198, 224, 255, v4[0]}).Draw(t, "first")
		if v4[0] == 169 {
			v4[1] = 254
		}
		want, denied := address.Denied(netip.AddrFrom4(v4))
		for _, c := range carriers {
			a := c.put(v4)
			got, ok := address.Denied(a)
			switch {
			case v4[0] == 0 && strings.HasPrefix(c.name, "local NAT64"):
				// Zeros are padding unless every prefix length reads zeros.
			case denied && !ok:
				t.Fatalf("%s: %v carries %v and is not denied", c.name, a, netip.AddrFrom4(v4))
			case ok && got.Metadata != want.Metadata:
				t.Fatalf("%s: %v: metadata %v", c.name, a, got.Metadata)
			}
		}
	})
}

// TestPublicInCarriers: what carries a public address is not denied for it.
func TestPublicInCarriers(t *testing.T) {
	t.Parallel()
	for _, c := range carriers {
		a := c.put([4]byte{8, 8, 4, 4})
		if r, denied := address.Denied(a); denied {
			t.Errorf("%s: %v is denied: %v", c.name, a, r)
		}
	}
}

// TestSuffixHidesNothing: a translator ignores the bits behind the carried
// address, so that they must not turn the reading into another prefix length's.
func TestSuffixHidesNothing(t *testing.T) {
	t.Parallel()
	a := netip.MustParseAddr("64:ff9b:1:7f00:0:100:808:808") // 127.0.0.1 behind /48, 8.8.8.8 behind /96
	if r, denied := address.Denied(a); !denied || r.Label != "loopback" {
		t.Errorf("%v: %v %v", a, r, denied)
	}
	zeros := netip.MustParseAddr("64:ff9b:1::")
	if r, denied := address.Denied(zeros); !denied || r.Label != "this network" {
		t.Errorf("%v: %v %v", zeros, r, denied)
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192", "169.254.0.23", "169.254.42.42",
		"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:c1::a9fe:a9fe", "fd00:42::42", "fd00:a9fe:a9fe::1", "fd00:100::100:200", "169.254.10.10", "fe80::a9fe:a9fe", "fe80::a9fe:a9fe%eth0",
		"::ffff:169.254.169.254", "64:ff9b::169.254.169.254", "2002:a9fe:a9fe::1", "64:ff9b::168.63.129.16",
	} {
		a := netip.MustParseAddr(text)
		if r, denied := address.Denied(a); !address.Metadata(a) || !denied || !r.Metadata || r.Label == "" || !r.Prefix.IsValid() {
			t.Errorf("%s: %v %+v %v", text, address.Metadata(a), r, denied)
		}
	}
	for _, text := range []string{"169.254.1.1", "10.0.0.1", "8.8.8.8", "fd00::1", "2606:4700::1111", "168.63.129.17"} {
		a := netip.MustParseAddr(text)
		if r, _ := address.Denied(a); address.Metadata(a) || r.Metadata {
			t.Errorf("%s: %v %+v", text, address.Metadata(a), r)
		}
	}
	// The reason keeps the contract's words where the address is in its ranges.
	if r, _ := address.Denied(netip.MustParseAddr("169.254.169.254")); r.Label != "link-local" || r.Prefix.String() != "169.254.0.0/16" {
		t.Errorf("%+v", r)
	}
	if address.Metadata(netip.Addr{}) {
		t.Error("no address is a metadata service")
	}
}

func BenchmarkDenied(b *testing.B) {
	for name, text := range map[string]string{"public v4": "8.8.8.8", "public v6": "2606:4700::1111", "local NAT64": "64:ff9b:1::8.8.8.8"} {
		a := netip.MustParseAddr(text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, denied := address.Denied(a); denied {
					b.Fatal("denied")
				}
			}
		})
	}
}
