package derive_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/internal/address"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/idna"
)

// The other parsers answer one JSON string a line with a line of three fields,
// scheme, host and port as that parser has them, or one of a dash.
const (
	// The WHATWG URL standard.
	nodeParser = `
require("readline").createInterface({input: process.stdin, crlfDelay: Infinity}).on("line", line => {
	try {
		const u = new URL(JSON.parse(line));
		console.log([u.protocol.slice(0, -1), u.hostname, u.port].join("\t"));
	} catch {
		console.log("-");
	}
});`
	// What Python's HTTP clients begin with.
	pythonParser = `
import json, sys
from urllib.parse import urlsplit
for line in sys.stdin.buffer:
    try:
        u = urlsplit(json.loads(line))
        answer = "\t".join([u.scheme, u.hostname or "", "" if u.port is None else str(u.port)])
        if "\n" in answer or "\r" in answer or answer.count("\t") != 2:
            answer = "-"
    except Exception:
        answer = "-"
    sys.stdout.buffer.write((answer + "\n").encode("utf-8", "replace"))
`
)

// reading is what a parser says of a URL.
type reading struct {
	ok                 bool
	scheme, host, port string
	badEscape          bool // no reading, for a percent sign that begins no escape
}

// askParser runs every URL through one process.
func askParser(t *testing.T, urls []string, program string, args ...string) (answers []reading) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skip("no ", program, ", so no URL parser to compare with: ", err)
	}
	var in bytes.Buffer
	for _, u := range urls {
		text, err := jsontext.AppendQuote(nil, u)
		if err != nil {
			t.Fatalf("%q: %v", u, err)
		}
		// Node's line reader knows more line ends than JSON does.
		for _, r := range []rune{0x7f, 0x85, 0x2028, 0x2029} {
			text = bytes.ReplaceAll(text, []byte(string(r)), fmt.Appendf(nil, `\u%04x`, r))
		}
		in.Write(append(text, '\n'))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 3 {
			answers = append(answers, reading{})
			continue
		}
		answers = append(answers, reading{ok: true, scheme: f[0], host: f[1], port: f[2]})
	}
	if len(answers) != len(urls) {
		t.Fatalf("%s: %d answers to %d URLs", program, len(answers), len(urls))
	}
	return answers
}

// goReading is the reading of net/url, which resolves nothing and maps nothing.
func goReading(raw string) reading {
	u, err := url.Parse(raw)
	if err != nil {
		var escape url.EscapeError
		return reading{badEscape: errors.As(err, &escape)}
	}
	return reading{ok: true, scheme: u.Scheme, host: u.Hostname(), port: u.Port()}
}

var defaultPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}

// sameHost reports whether a parser's host is the one we read: the WHATWG
// parser's is canonical but for brackets and the root dot; the others leave
// that to whoever connects.
func sameHost(theirs string, ours derive.Target, canonical bool) bool {
	theirs = strings.TrimSuffix(strings.TrimPrefix(theirs, "["), "]")
	if a, err := netip.ParseAddr(theirs); err == nil && ours.Addr.IsValid() {
		return a == ours.Addr
	}
	if canonical {
		return strings.TrimSuffix(theirs, ".") == ours.Host
	}
	h, fault := address.ParseHost(theirs)
	return fault == "" && h.Name == ours.Host
}

// TestURLParsersDisagree: what is accepted has the scheme, host and port that
// the WHATWG parser, net/url and Python read, so that everything on which they
// disagree is a fault.
func TestURLParsersDisagree(t *testing.T) {
	t.Parallel()
	corpus := urlCorpus(rand.New(rand.NewPCG(10, 22)), 40_000)
	node := askParser(t, corpus, "node", "-e", nodeParser)
	python := askParser(t, corpus, "python3", "-I", "-c", pythonParser)
	accepted, disagreed := 0, 0
	for i, raw := range corpus {
		ours := derive.ReadTarget(raw)
		golang := goReading(raw)
		if node[i].ok != golang.ok || node[i].host != golang.host {
			disagreed++
		}
		if ours.Fault != "" {
			continue
		}
		if ours.Scheme == "" {
			continue // not a URL; TestBareHostsAsURLs
		}
		accepted++
		for _, other := range []struct {
			name string
			reading
		}{{"WHATWG", node[i]}, {"net/url", golang}, {"urllib", python[i]}} {
			port := other.port
			if port == "" {
				port = defaultPorts[ours.Scheme]
			}
			if other.badEscape {
				continue // refused for its path
			}
			if !other.ok || other.scheme != ours.Scheme || port != fmt.Sprint(ours.Port) || !sameHost(other.host, ours, other.name == "WHATWG") {
				t.Errorf("%+q is %+v here, %+v to %s", raw, ours, other.reading, other.name)
			}
		}
	}
	if accepted < 4_000 || disagreed < 4_000 {
		t.Errorf("%d accepted, %d on which the parsers disagree, of %d", accepted, disagreed, len(corpus))
	}
}

// TestBareHostsAsURLs: a host, with a port or a path or not, is what stands in
// the URL that a client makes of it.
func TestBareHostsAsURLs(t *testing.T) {
	t.Parallel()
	var corpus []string
	var ours []derive.Target
	for _, raw := range urlCorpus(rand.New(rand.NewPCG(11, 22)), 40_000) {
		_, bare, found := strings.Cut(raw, "//")
		if !found {
			bare = raw
		}
		if got := derive.ReadTarget(bare); got.Fault == "" && got.Scheme == "" && (!got.Addr.Is6() || strings.HasPrefix(bare, "[")) {
			corpus = append(corpus, "https://"+bare)
			ours = append(ours, got)
		}
	}
	if len(corpus) < 4_000 {
		t.Errorf("only %d hosts", len(corpus))
	}
	for i, theirs := range askParser(t, corpus, "node", "-e", nodeParser) {
		port := ""
		if ours[i].HasPort && ours[i].Port != 443 {
			port = fmt.Sprint(ours[i].Port)
		}
		if !theirs.ok || theirs.port != port || !sameHost(theirs.host, ours[i], true) {
			t.Errorf("%+q is %+v here, %+v to WHATWG", corpus[i], ours[i], theirs)
		}
	}
}

// TestIDNAAsWHATWG: a name beyond ASCII is the same to both, character by
// character, or a fault.
func TestIDNAAsWHATWG(t *testing.T) {
	t.Parallel()
	var corpus []string
	r := rand.New(rand.NewPCG(46, 22))
	for c := rune(0x80); c < 0x30000; c++ {
		if utf8.ValidRune(c) && (c < 0x3400 || c%7 == 0) {
			corpus = append(corpus, "http://a"+string(c)+".example/", "http://"+string(c)+"b/")
		}
	}
	for range 10_000 {
		label := []rune("xn--")
		for range 1 + r.IntN(8) {
			label = append(label, rune("abcdefghijklmnopqrstuvwxyz0123456789-"[r.IntN(37)]))
		}
		corpus = append(corpus, "http://"+string(label)+".example/")
	}
	accepted := 0
	for i, theirs := range askParser(t, corpus, "node", "-e", nodeParser) {
		ours := derive.ReadTarget(corpus[i])
		if ours.Fault != "" {
			continue
		}
		accepted++
		if !theirs.ok && strings.ContainsFunc(decoded(ours.Host), unknownToNode) {
			continue
		}
		if !theirs.ok || theirs.host != ours.Host {
			t.Errorf("%+q is %+v here, %+v to WHATWG", corpus[i], ours, theirs)
		}
	}
	if accepted < 5_000 {
		t.Errorf("%d accepted of %d", accepted, len(corpus))
	}
}

// unknownToNode is true for Arabic Extended-B, of Unicode 14: Node 20 refuses
// its letters, whose direction it does not know. Who refuses goes nowhere else.
func unknownToNode(r rune) bool { return 0x870 <= r && r <= 0x89f }

func decoded(host string) string {
	name, err := idna.Punycode.ToUnicode(host)
	if err != nil {
		return host
	}
	return name
}

// urlCorpus is URLs put together from pieces that parsers are known to read
// differently, and mutated.
func urlCorpus(r *rand.Rand, n int) []string {
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	schemes := []string{"http", "https", "HTTPS", "ws", "wss", "ftp", "http", "https", "http", "https", "file", "gopher", "javascript", "", "htt p", "1http"}
	slashes := []string{"://", "://", "://", "://", "://", "://", "://", "://", ":", ":/", ":///", `:\\`, `:/\`, "//", ""}
	users := []string{"", "", "", "", "", "", "", "", "u@", "u:p@", "@", "a.test:80@", "a.test%40", `a.test\@`, "a.test#@", "a.test?@", "a.test/@", "a.test @"}
	hosts := []string{"example.com", "API.Example.COM", "example.com.", "a.b.c.d.test", "localhost", "127.0.0.1", "0x7f.1", "2130706433", "017700000001", "127.1", "0177.0.0.01", "1.2.3.4.", "1.2.3.4.5", "256.1", "0x", "08.1", "1.1.1.1", "123.example.org",
		"[::1]", "[2001:DB8::1]", "[::ffff:1.2.3.4]", "[::1", "::1", "[fe80::1%25eth0]", "[1.2.3.4]", "[v1.x]", "[1:2:3:4:5:6:7::]",
		"bücher.example", "BÜCHER.example", "xn--bcher-kva.example", "xn--a.example", "faß.example", "127。0。0。1", "ｅxample.com", "日本語.example", "%65xample.com", "a_b.example", "-a.example", "a..b", ".a", "a.", ".", "", "a b", "a,b", "a;b.example", "a*b", "a!b", "a\u00adb.test", "ex\tample.com", "exa\nmple.com", "1.2.3.0x4", "0.0.0.0"}
	ports := []string{"", "", "", "", "", "", ":80", ":443", ":8080", ":21", ":65535", ":", ":0", ":00080", ":65536", ":8o", ":80:80", ":+80", ": 80", ":８０", ":4294967376"}
	tails := []string{"", "/", "/", "/a/b", "/a@b", `/a\b`, "?q", "?q=@b", "#f", "#f@g", `\`, `\@b.test/`, "/#@b", "/?x=http://b.test/", ";x", "/ x", "/\t", " ", "/%00", "/é"}
	noise := []string{"@", "\\", "/", ":", "?", "#", "%", " ", "\t", "\n", "\r", ".", "[", "]", "0", "x", "%2e", "\u3002", "\uff0e", "\u00a0", "\u200d", "\ufeff", "\u2028", "ß", "&", "|", "^", "{", "<", "\"", "`", "'", "$", "~", "_", "-", "*", "\x00", "\x7f", "\u0085", "é", "℀", "\uff0f", "\uff1a", "\uff20", "\uff03", "\u2100", "-", "0x", "a"}
	corpus := make([]string, n)
	for i := range corpus {
		// Two thirds have one odd piece in a plain URL, the others are odd all over.
		pieces := [][]string{schemes, slashes, users, hosts, ports, tails}
		plain, odd := []string{"https", "://", "", "example.com", "", "/"}, r.IntN(len(pieces))
		u := ""
		for p, from := range pieces {
			switch {
			case i%3 == 0, p == odd, r.IntN(8) == 0:
				u += pick(from)
			case plain[p] == "example.com":
				u += randomHost(r)
			default:
				u += plain[p]
			}
		}
		for range []int{0, 0, 0, 0, 0, 1, 2, 3}[r.IntN(8)] {
			at := []rune(u)
			cut := r.IntN(len(at) + 1)
			u = string(at[:cut]) + pick(noise) + string(at[min(len(at), cut+r.IntN(2)):])
		}
		corpus[i] = u
	}
	slices.Sort(corpus)
	return slices.Compact(corpus)
}

// randomHost is a name or a numeric address.
func randomHost(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return fmt.Sprintf([]string{"%d", "0x%x", "0%o"}[r.IntN(3)], r.Uint32())
	}
	var b strings.Builder
	for range 2 + r.IntN(8) {
		b.WriteByte("abcxyzABCXYZ0189...-_"[r.IntN(21)])
	}
	return b.String()
}
