package derive_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/derive"
)

func BenchmarkReadTarget(b *testing.B) {
	for _, c := range []struct{ name, raw string }{
		{"short", "https://api.example.com/v1/items?page=2"},
		{"1 KiB", "https://api.example.com/v1/" + strings.Repeat("segment/", 125)},
		{"IPv4", "http://8.8.8.8:8080/"},
		{"IPv6", "http://[2606:4700:4700::1111]:8080/"},
		{"IDNA", "https://bücher.example.com/"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.raw)))
			for b.Loop() {
				if got := derive.ReadTarget(c.raw); got.Fault != "" {
					b.Fatal(got.Fault)
				}
			}
		})
	}
}

// BenchmarkReadTargetDoubling has the time a byte stay flat as the URL doubles,
// for what gets far before it is refused.
func BenchmarkReadTargetDoubling(b *testing.B) {
	for name, piece := range map[string]string{
		"path":     "http://example.com/%a",
		"labels":   "http://%a.",
		"colons":   "%:",
		"unicode":  "http://%\u00e9",
		"alabels":  "http://%xn--a.",
		"fragment": "http://example.com#%#",
		"brackets": "http://[%[",
		"digits":   "http://%0",
	} {
		head, repeat, _ := strings.Cut(piece, "%")
		for n := 1 << 13; n <= 1<<16; n *= 2 {
			raw := head + strings.Repeat(repeat, (n-len(head))/len(repeat))
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				b.SetBytes(int64(len(raw)))
				for b.Loop() {
					derive.ReadTarget(raw)
				}
			})
		}
	}
}

func BenchmarkHostPatternMatch(b *testing.B) {
	p, err := derive.ParseHostPattern("*.example.com:443")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !p.Match("api.example.com", 443) {
			b.Fatal("not taken")
		}
	}
}

func FuzzReadTarget(f *testing.F) {
	for _, s := range []string{"https://api.example.com/x", "http://0x7f.1:80", "[::1]:80", "::1", `https://evil.test\@api.example.com/`, "https://evil.com#@api.example.com/", "http:80", "//a", "a:b", "bücher.example", "\xff", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got := derive.ReadTarget(raw)
		if got.Fault != "" {
			if got != (derive.Target{Fault: got.Fault}) {
				t.Fatalf("%q: %+v: something beside the fault", raw, got)
			}
			return
		}
		if got.Host == "" || got.HasPort != (got.Port != 0) || got.Scheme != "" && !got.HasPort {
			t.Fatalf("%q: %+v", raw, got)
		}
		// What is accepted reads the same when it is written out canonically.
		host := got.Host
		if got.Addr.Is6() {
			host = "[" + host + "]"
		}
		canonical := host
		if got.HasPort {
			canonical = fmt.Sprint(host, ":", got.Port)
		}
		if got.Scheme != "" {
			canonical = got.Scheme + "://" + canonical + "/"
		}
		again := derive.ReadTarget(canonical)
		if got.Scheme == "" && !got.Addr.IsValid() && again.Fault != "" {
			return // "http:443" is the host http behind a root dot that the canonical form has not
		}
		if again != got {
			t.Fatalf("%q: %+v, and %q: %+v", raw, got, canonical, again)
		}
		// net/url, in the same process, never reads another host.
		if theirs := goReading(raw); got.Scheme != "" && !theirs.badEscape && (!theirs.ok || !sameHost(theirs.host, got, false)) {
			t.Fatalf("%q: %+v here, %+v to net/url", raw, got, theirs)
		}
	})
}
