package derive_test

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/internal/address"
	"github.com/go-json-experiment/json"
)

// reads is what a raw argument means: a host with or without a port, or "" for
// a fault.
type reads struct {
	raw, host string
	port      uint16
}

func (c reads) check(t *testing.T) {
	t.Helper()
	got := derive.ReadTarget(c.raw)
	switch {
	case (got.Fault == "") != (c.host != ""), got.Host != c.host, got.Port != c.port, got.HasPort != (c.port != 0):
		t.Errorf("%q: %+v, want host %q, port %d", c.raw, got, c.host, c.port)
	case got.Fault != "" && got != (derive.Target{Fault: got.Fault}):
		t.Errorf("%q: %+v: something beside the fault", c.raw, got)
	}
}

// TestNumericIPv4SpellingsAndPrivateAddresses: numeric IPv4 spellings pass a
// private-address check in other policies. Here they are the address they mean.
func TestNumericIPv4SpellingsAndPrivateAddresses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"http://017700000001/": "127.0.0.1",
		"http://2130706433/":   "127.0.0.1",
		"http://0x7f.1/":       "127.0.0.1",
		"http://127.1/":        "127.0.0.1",
		"http://0177.0.0.01/":  "127.0.0.1",
		"http://012.0.0.1/":    "10.0.0.1",
		"http://0/":            "0.0.0.0",
		"http://0x7f000001./":  "127.0.0.1",
		"http://127.0.0.1:80/": "127.0.0.1",
		// The kind beyond its reported spellings.
		"http://[::ffff:127.0.0.1]/":           "::ffff:127.0.0.1",
		"http://[::ffff:7f00:1]/":              "::ffff:127.0.0.1",
		"http://[64:ff9b::7f00:1]/":            "64:ff9b::7f00:1",
		"http://[2002:7f00:1::]/":              "2002:7f00:1::",
		"https://0251.0376.0251.0376/":         "169.254.169.254",
		"https://0xa9fea9fe:443":               "169.254.169.254",
		"wss://192.168.257":                    "192.168.1.1",
		"127.1":                                "127.0.0.1",
		"0x7f.1:8080":                          "127.0.0.1",
		"http://[0:0:0:0:0:0:0:1]":             "::1",
		"ftp://000000000000000000177.1/a":      "127.0.0.1",
		"http://0X7F.0x00000000000000000001/?": "127.0.0.1",
	} {
		got := derive.ReadTarget(raw)
		_, denied := address.Denied(got.Addr)
		if got.Fault != "" || got.Host != want || got.Addr.String() != want || !denied {
			t.Errorf("%q: %+v, denied %v, want %s", raw, got, denied, want)
		}
	}
	for raw, want := range map[string]string{
		"http://1.1.1.1/":         "1.1.1.1",
		"http://0x.example.org/":  "0x.example.org",
		"http://123.example.org/": "123.example.org",
	} {
		got := derive.ReadTarget(raw)
		if _, denied := address.Denied(got.Addr); got.Fault != "" || got.Host != want || denied {
			t.Errorf("%q: %+v, denied %v, want %s", raw, got, denied, want)
		}
	}
	// All digits or hexadecimal, and no address: never a name.
	for _, raw := range []string{"http://999999999999/", "http://1.2.3.4.5/", "http://0x100000000/", "http://256.1/", "http://09.1/", "http://0x/", "http://1.2.3.4..", "http://010.8.8.8/"} {
		reads{raw: raw}.check(t)
	}
}

// TestHostReadWrongly: userinfo, backslash, trailing dot, IDNA dots, unanchored
// pattern.
func TestHostReadWrongly(t *testing.T) {
	t.Parallel()
	allowed, err := derive.ParseHostPattern("api.example.com")
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{
		"https://api.example.com@evil.test/",
		"https://api.example.com:pw@evil.test/",
		"https://api.example.com%20@evil.test/",
		`https://evil.test\@api.example.com/`,
		"https://ev\til.test/",
		"https://api.example.com.evil.test/",
		"https://evil-api.example.com/",
		"https://apizexample.com/",
		// The rule that any user name is a fault, whoever's the host is.
		"https://user:pw@api.example.com/",
		"https://@api.example.com/",
		"https://evil.test#@api.example.com/",
		"https://evil.test?@api.example.com/",
		"https://evil.test/@api.example.com/",
		`https://evil.test/\@api.example.com/`,
		"https://evil.test;api.example.com/",
		"https://api.example.com,evil.test/",
		"https://api.example.com evil.test/",
		"https://api.example.com\r\nHost: evil.test/",
		"//api.example.com/",
		`\\api.example.com\`,
		"https:api.example.com",
		"https:/api.example.com",
		"https:///api.example.com",
	} {
		if got := derive.ReadTarget(raw); allowed.Match(got.Host, got.Port) {
			t.Errorf("%q: %+v is taken for api.example.com", raw, got)
		}
	}
	for _, raw := range []string{"https://API.EXAMPLE.COM/", "https://api.example.com./", "HTTPS://Api.Example.Com.:443/a@b?c#d@e", "api.example.com", "api.example.com:8443"} {
		if got := derive.ReadTarget(raw); got.Fault != "" || !allowed.Match(got.Host, got.Port) {
			t.Errorf("%q: %+v is not taken for api.example.com", raw, got)
		}
	}
	for _, c := range []reads{
		{"http://localhost./", "localhost", 80},
		{"http://LOCALHOST/", "localhost", 80},
		{"http://metadata.google.internal./", "metadata.google.internal", 80},
		{"http://127\u30020\u30020\u30021/", "", 0},
		{"http://%31%32%37.0.0.1/", "", 0},
	} {
		c.check(t)
	}
}

// TestReadTarget is the grammar, one row a decision.
func TestReadTarget(t *testing.T) {
	t.Parallel()
	for _, c := range []reads{
		// Default ports and written ones.
		{"http://example.com", "example.com", 80}, {"https://example.com", "example.com", 443}, {"ftp://example.com", "example.com", 21},
		{"ws://example.com", "example.com", 80}, {"wss://example.com", "example.com", 443}, {"hTTpS://example.com/", "example.com", 443},
		{"http://example.com:8080/", "example.com", 8080}, {"https://example.com:443", "example.com", 443}, {"http://example.com:65535", "example.com", 65535}, {"http://example.com:1", "example.com", 1},
		{"http://example.com:/", "", 0}, {"http://example.com:0/", "", 0}, {"http://example.com:080/", "", 0}, {"http://example.com:65536/", "", 0}, {"http://example.com:99999999999/", "", 0},
		{"http://example.com:8o/", "", 0}, {"http://example.com:+80/", "", 0}, {"http://example.com:80:80/", "", 0}, {"http://example.com: 80/", "", 0}, {"http://example.com:８０/", "", 0},
		// What may stand behind a host.
		{"https://example.com/a@b:c\\d e%00?f=g@h#i@j", "example.com", 443}, {"https://example.com?q", "example.com", 443}, {"https://example.com#f", "example.com", 443},
		{"https://example.com?next=https://a@b/", "example.com", 443}, {"https://example.com?mail=a@b", "", 0}, {"https://example.com/?mail=a@b", "example.com", 443},
		{"https://example.com#@b", "", 0}, {"https://example.com?\\@b", "", 0}, {"https://example.com\\", "", 0}, {"https://example.com\\/", "", 0}, {"https://example.com/\\", "example.com", 443},
		{"https://example.com/a\nb", "", 0}, {"https://example.com/\x00", "", 0}, {"https://example.com/\x7f", "", 0}, {"https://example.com/\u00e9", "example.com", 443}, {"https://example.com/\xff", "example.com", 443},
		// Slashes and schemes.
		{"//example.com", "", 0}, {"/example.com", "", 0}, {"?example.com", "", 0}, {"#example.com", "", 0}, {`\example.com`, "", 0}, {"http:example.com", "", 0}, {"http:/example.com", "", 0}, {"http:///example.com", "", 0},
		{`http:\\example.com`, "", 0}, {`http:/\example.com`, "", 0}, {"http://", "", 0}, {"http:///", "", 0}, {"http:", "", 0}, {"http://?", "", 0}, {"http://:80", "", 0}, {"://example.com", "", 0}, {":80", "", 0},
		{"http:80", "", 0}, {"HTTPS:443", "", 0}, {"file:80", "", 0}, {"file:///etc/passwd", "", 0}, {"file://host/x", "", 0}, {"gopher://127.0.0.1:70/_x", "", 0}, {"dict://example.com:11211/", "", 0}, {"ldap://example.com", "", 0},
		{"data:text/html,x", "", 0}, {"data:1,x", "", 0}, {"javascript:alert(1)", "", 0}, {"javascript://example.com/%0aalert(1)", "", 0}, {"mailto:a@example.com", "", 0}, {"blob:https://example.com/x", "", 0}, {"view-source:https://example.com", "", 0},
		{"url:http://example.com", "", 0}, {"jar:http://example.com!/", "", 0}, {"1http://example.com", "", 0}, {" http://example.com", "", 0}, {"\ufeffhttp://example.com", "", 0}, {"\u00a0http://example.com", "", 0}, {"http ://example.com", "", 0}, {"http://http://example.com", "", 0},
		{"http://example.com ", "", 0}, {"http:// example.com", "", 0}, {"", "", 0}, {" ", "", 0},
		// A host alone, with a port, with a path.
		{"example.com", "example.com", 0}, {"EXAMPLE.com.", "example.com", 0}, {"example.com:8080", "example.com", 8080}, {"localhost:3000/a:b", "localhost", 3000}, {"example.com/a@b", "example.com", 0}, {"example.com?q", "example.com", 0},
		{"evil.test/https://example.com", "evil.test", 0}, {"evil.test#@example.com", "", 0}, {"user@example.com", "", 0}, {"user:1@example.com", "", 0}, {"example.com:", "", 0}, {"example.com:x", "", 0}, {"example.com:80x", "", 0},
		{"1.2.3.4:80", "1.2.3.4", 80}, {"bücher.example:80", "xn--bcher-kva.example", 80}, {"https://bücher.example", "xn--bcher-kva.example", 443},
		// IPv6.
		{"http://[::1]", "::1", 80}, {"http://[2001:DB8::0001]:8080/", "2001:db8::1", 8080}, {"[::1]", "::1", 0}, {"[::1]:80", "::1", 80}, {"::1", "::1", 0}, {"2001:db8::ffff", "2001:db8::ffff", 0}, {"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8", 0},
		{"2001:db8::1:80", "", 0}, {"::1:80", "", 0}, {"http://::1/", "", 0}, {"http://2001:db8::1:80/", "", 0}, {"http://[::1", "", 0}, {"http://[::1]x/", "", 0}, {"http://[::1]80/", "", 0}, {"http://[::1]:/", "", 0}, {"http://[::1]:x]/", "", 0},
		{"http://[fe80::1%25eth0]/", "", 0}, {"http://[fe80::1%eth0]/", "", 0}, {"http://[::1]@evil.test/", "", 0}, {"http://[1.2.3.4]/", "", 0}, {"http://[v1.a]/", "", 0}, {"http://a[::1]/", "", 0}, {"http://[]/", "", 0},
		// Bounds.
		{"http://example.com/" + strings.Repeat("a", 64<<10-len("http://example.com/")), "example.com", 80}, {"http://example.com/" + strings.Repeat("a", 64<<10), "", 0},
		{"http://" + strings.Repeat("a.", 128) + "example/", "", 0},
	} {
		c.check(t)
	}
}

// TestTargetFaults: a refusal says what stood in the way, in words that hold
// nothing of the argument.
func TestTargetFaults(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                                     "empty",
		"http://" + strings.Repeat("a", 1<<16): "longer than 64 KiB",
		"https://ev\til.test/":                 "control character",
		`https://evil.test\@example.com/`:      "backslash",
		`\\evil.test`:                          "backslash",
		"https://user:pw@example.com/":         "user name",
		"https://example.com%2eevil.test/":     "percent sign",
		"https://example.com#@evil.test/":      "behind a ? or #",
		"//evil.test/":                         "relative",
		"gopher://example.com/":                "scheme is not one of",
		"javascript:alert(1)":                  "scheme is not one of",
		"https:evil.test":                      "not followed by //",
		"https:///evil.test":                   "not followed by //",
		"https://example.com:0/":               "port",
		"https://2001:db8::1/":                 "brackets",
		"https://evil test/":                   "space",
		"https://1.2.3.4.5/":                   "ends in a number",
		"https://0x/":                          "0x without digits",
		"https://010.8.8.8/":                   "leading zeros",
		"https://127\u30020.0.1/":              "dot that is not the ASCII one",
		"https://fa\u00df.example/":            "IDNA 2003",
		"https://\uff41.example/":              "stands for another",
		"https://xn--a.example/":               "internationalised",
		"https://\xff/":                        "UTF-8",
		"https://a..b/":                        "label of the host is empty",
		"https://-a/":                          "hyphen",
		"https://[::g]/":                       "no IPv6 address",
	} {
		if got := derive.ReadTarget(raw).Fault; !strings.Contains(got, want) {
			t.Errorf("%q: %q does not say %q", raw, got, want)
		}
	}
}

func TestReadTargetScheme(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{"HTTPS://example.com": "https", "Ws://example.com": "ws", "example.com:80": "", "[::1]": ""} {
		if got := derive.ReadTarget(raw); got.Scheme != want || got.Fault != "" {
			t.Errorf("%q: %+v, want scheme %q", raw, got, want)
		}
	}
}

// TestPeerURLs is how each URL of the peer's http rows reads, and what of the
// peer's verdict hangs on the reading.
func TestPeerURLs(t *testing.T) {
	t.Parallel()
	table := map[string][]reads{
		"p068": {{"https://API.example.com/x", "api.example.com", 443}}, // the peer does not fold case
		"p070": {{"https://api.example.com.evil.com/", "api.example.com.evil.com", 443}},
		"p072": {{"https://a.b.int.example.com/", "a.b.int.example.com", 443}},
		"p074": {{"https://evilint.example.com/", "evilint.example.com", 443}},
		"p076": {{"https://evil.com#@api.example.com/", "", 0}},          // the peer takes the wrong host
		"p078": {{`https://evil.com\@api.example.com/`, "", 0}},          // the peer takes the wrong host
		"p080": {{"https://api.example.com./", "api.example.com", 443}},  // the peer keeps the root dot
		"p082": {{"//evil.com/https://api.example.com", "", 0}},          // the peer takes the wrong host
		"p084": {{"https://x.example.com:9999/", "x.example.com", 9999}}, // the peer ignores the port
		"p086": {{"file:///etc/passwd", "", 0}},
		"p088": {{" https://api.example.com/", "", 0}}, // parsers disagree on the space
		"p090": {{"http://10.0.0.5/", "10.0.0.5", 80}},
		"p092": {{"http://127.0.0.1/", "127.0.0.1", 80}},
		"p094": {{"http://[::1]:80/", "::1", 80}},
		"p096": {{"http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1", 80}}, // the peer does not look inside
		"p098": {{"http://2130706433/", "127.0.0.1", 80}},                // a name to the peer
		"p100": {{"http://0177.0.0.1/", "127.0.0.1", 80}},                // a name to the peer
		"p102": {{"http://0.0.0.0/", "0.0.0.0", 80}},
		"p104": {{"http://100.64.0.1/", "100.64.0.1", 80}},
		"p106": {{"http://127.0.0.1./", "127.0.0.1", 80}}, // a name to the peer
		"p108": {{"http://127.0.0.1#x", "127.0.0.1", 80}}, // a name to the peer
		"p110": {{"http://8.8.8.8/", "8.8.8.8", 80}},
		"p112": {{"::1", "::1", 0}},
		"p114": {{"http://203.0.113.9/", "203.0.113.9", 80}},
		"p116": {{"http://10.0.0.5/", "10.0.0.5", 80}},
		"p118": {{"http://127.0.0.1/", "127.0.0.1", 80}},
		"p120": {{"http://127.0.0.1/", "127.0.0.1", 80}, {"https://ok.example/", "ok.example", 443}},
		"p122": {{"http://127.0.0.1/", "127.0.0.1", 80}},
		"p124": {{"http://evil/", "evil", 80}},
		"p158": {{"http://example.com/", "example.com", 80}},
	}
	data, err := os.ReadFile(filepath.FromSlash("testdata/url/policy.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); rows++ {
		var row struct {
			ID   string `json:"id"`
			Call struct {
				Arguments map[string]any `json:"arguments"`
			} `json:"call"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		var raws []string
		for name, value := range row.Call.Arguments {
			if list, ok := value.([]any); ok {
				value = list[0]
			}
			if strings.Contains(name, "url") || name == "endpoint" {
				raws = append(raws, value.(string))
			}
		}
		slices.Sort(raws)
		want := table[row.ID]
		for i, c := range want {
			if i >= len(raws) || raws[i] != c.raw {
				t.Errorf("%s: the data has %q, the table %q", row.ID, raws, c.raw)
				break
			}
			c.check(t)
		}
		if len(want) != len(raws) {
			t.Errorf("%s: %d URLs in the data, %d in the table", row.ID, len(raws), len(want))
		}
	}
	if rows != len(table) {
		t.Errorf("%d rows in the data, %d in the table", rows, len(table))
	}
}
