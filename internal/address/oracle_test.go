package address_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/internal/address"
	"github.com/go-json-experiment/json/jsontext"
)

// resolver answers one JSON string a line with a line of three fields: what
// getaddrinfo makes of a numeric host, what inet_aton does, and the A-labels of
// Python's own codec, which is IDNA 2003. A dash stands for nothing.
const resolver = `
import json, socket, sys
for line in sys.stdin.buffer:
    host = json.loads(line)
    try:
        numeric = socket.getaddrinfo(host.encode("ascii"), None, flags=socket.AI_NUMERICHOST)[0][4][0]
    except Exception:
        numeric = "-"
    try:
        aton = socket.inet_ntoa(socket.inet_aton(host))
    except Exception:
        aton = "-"
    try:
        labels = host.encode("idna").decode("ascii").lower() or "-"
    except Exception:
        labels = "-"
    print(numeric, aton, labels, sep="\t")
`

// askPython runs every host through one Python process.
func askPython(t *testing.T, hosts []string) (answers [][]string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3, so no getaddrinfo to compare with: ", err)
	}
	var in bytes.Buffer
	for _, h := range hosts {
		text, err := jsontext.AppendQuote(nil, h)
		if err != nil {
			t.Fatalf("%q: %v", h, err)
		}
		in.Write(append(text, '\n'))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-I", "-c", resolver)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("python3: %v", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		answers = append(answers, strings.Split(lines.Text(), "\t"))
	}
	if len(answers) != len(hosts) {
		t.Fatalf("%d answers to %d hosts", len(answers), len(hosts))
	}
	return answers
}

// numericCorpus is n spellings of hosts that look like numbers, most of them of
// one address, some broken.
func numericCorpus(r *rand.Rand, n int) []string {
	number := func(v uint64) string {
		switch r.IntN(7) {
		case 0:
			return fmt.Sprintf("0%o", v)
		case 1:
			return fmt.Sprintf("0x%x", v)
		case 2:
			return fmt.Sprintf("0X%X", v)
		case 3:
			return strings.Repeat("0", r.IntN(12)) + fmt.Sprintf("%o", v)
		case 4:
			return "0x" + strings.Repeat("0", r.IntN(12)) + fmt.Sprintf("%x", v)
		default:
			return fmt.Sprint(v)
		}
	}
	noise := strings.Split("0 x X . .. 8 9 a f g - + _ e 0x 00 08 256 65536 4294967296 18446744073709551616", " ")
	corpus := make([]string, n)
	for i := range corpus {
		v := uint64(r.Uint32())
		if r.IntN(4) == 0 {
			v = []uint64{0x7f000001, 0x0a000001, 0xa9fea9fe, 0, 0xffffffff, 0x100000000}[r.IntN(6)]
		}
		parts := 1 + r.IntN(4)
		var text []string
		for p := range parts - 1 {
			text = append(text, number(v>>(24-8*p)&0xff))
		}
		last := v & (1<<(8*(5-parts)) - 1)
		if parts == 1 {
			last = v
		}
		host := strings.Join(append(text, number(last)), ".")
		for range []int{0, 0, 0, 1, 2}[r.IntN(5)] {
			at := r.IntN(len(host) + 1)
			host = host[:at] + noise[r.IntN(len(noise))] + host[min(len(host), at+r.IntN(2)):]
		}
		if r.IntN(10) == 0 {
			host += "."
		}
		corpus[i] = host
	}
	return corpus
}

// TestNumericHostsAsGetaddrinfo: whatever getaddrinfo or inet_aton take for an
// address is that address, or a fault; and a host that is accepted as a name is
// no number to them.
func TestNumericHostsAsGetaddrinfo(t *testing.T) {
	t.Parallel()
	corpus := numericCorpus(rand.New(rand.NewPCG(4, 18)), 20_000)
	corpus = append(corpus, "::1", "::", "2001:DB8::1", "::ffff:1.2.3.4", "::1.2.3", "1:2:3:4:5:6:7::", "1::2::3", "::ffff:01.2.3.4", "::12345", "0:0:0:0:0:0:0:1", "1:2:3:4:5:6:7:8:9", ":::", "::g")
	addresses, faults, names := 0, 0, 0
	for i, answer := range askPython(t, corpus) {
		host, numeric, aton := corpus[i], answer[0], answer[1]
		h, fault := address.ParseHost(host)
		switch {
		case fault != "":
			faults++
		case !h.Addr.IsValid():
			names++
			if numeric != "-" || aton != "-" {
				t.Errorf("%q is the name %q here, %s to getaddrinfo, %s to inet_aton", host, h.Name, numeric, aton)
			}
		default:
			addresses++
			for by, theirs := range map[string]string{"getaddrinfo": numeric, "inet_aton": aton} {
				other, err := netip.ParseAddr(theirs)
				switch {
				case err == nil && other != h.Addr:
					t.Errorf("%q is %v here, %v to %s", host, h.Addr, other, by)
				case err != nil && !strings.HasSuffix(host, ".") && !(by == "inet_aton" && h.Addr.Is6()):
					t.Errorf("%q is %v here, nothing to %s", host, h.Addr, by)
				}
			}
		}
	}
	// The comparison has to have compared something.
	if addresses < 5_000 || faults < 2_000 || names < 200 {
		t.Errorf("%d addresses, %d faults, %d names", addresses, faults, names)
	}
}

// TestNamesAsIDNA2003: a name that is accepted is the same name to a reader of
// IDNA 2003, or none. Python's own resolver calls are such a reader.
func TestNamesAsIDNA2003(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(20, 3))
	corpus := unicodeCorpus(r, 20_000)
	accepted, compared := 0, 0
	for i, answer := range askPython(t, corpus) {
		h, fault := address.ParseHost(corpus[i])
		if fault != "" {
			continue
		}
		accepted++
		if theirs := answer[2]; theirs != "-" {
			compared++
			if strings.TrimSuffix(theirs, ".") != h.Name && !h.Addr.IsValid() {
				t.Errorf("%+q is %q here, %q to IDNA 2003", corpus[i], h.Name, theirs)
			}
		}
	}
	if accepted < 1_000 || compared < 500 {
		t.Errorf("%d accepted, %d of them compared", accepted, compared)
	}
}

// unicodeCorpus is n names of two labels with characters of every kind.
func unicodeCorpus(r *rand.Rand, n int) []string {
	special := []rune("\u00df\u03c2\u200c\u200d\u00ad\ufeff\u3002\u1e9e\u0130\u0131\u017f\u212a\u2126\u2460\uff41\uff10\u0301\u0660\u06f0\u05d0\u0627\u2116\u2100\u2260\u2f868\u0345\u1806\u180b\u2060\ufe0f\u06dd\u13a0\uab70\u10d0\u1c90")
	corpus := make([]string, n)
	for i := range corpus {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			switch r.IntN(6) {
			case 0:
				b.WriteRune(special[r.IntN(len(special))])
			case 1:
				b.WriteRune(rune(0xa0 + r.IntN(0x600)))
			case 2:
				if c := rune(r.IntN(0x20000)); c >= 0x80 && (c < 0xd800 || c > 0xdfff) {
					b.WriteRune(c)
				}
			default:
				b.WriteByte("abcxyzABC019-_"[r.IntN(14)])
			}
		}
		corpus[i] = b.String() + ".example"
	}
	// Every character of the first planes at least once, by itself.
	for c := rune(0x80); c < 0x3400; c++ {
		corpus = append(corpus, "a"+string(c)+".example")
	}
	slices.Sort(corpus)
	return slices.Compact(corpus)
}
