package wire

import (
	"bytes"
	"math/big"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func idOf(text string) ID { return ID{Raw: []byte(text)} }

func TestIDKeyIsOneForOneValue(t *testing.T) {
	for _, same := range [][]string{
		{"7", "7.0", "70e-1", "0.7e1", "7e0", "7E+0", "7.00e-0", "0.0000007e7"},
		{"0", "-0", "0.0", "0e5", "-0.0e-99999999999999999999"},
		{"-7", "-7.0", "-70e-1"},
		{"1e3", "1000", "1000.0", "0.001e6"},
		{"1e99999999999999999999", "10e99999999999999999998", "0.1e100000000000000000000", "1e+099999999999999999999"},
		{"1e-99999999999999999999", "0.1e-99999999999999999998"},
		{"9007199254740993", "9007199254740993.0"},
		{`"7"`, `"\u0037"`},
		{`"a/b"`, `"a\/b"`, `"\u0061/b"`},
		{`"😀"`, `"\ud83d\ude00"`},
		{"", "null"},
	} {
		for _, text := range same {
			if got, want := idOf(text).Key(), idOf(same[0]).Key(); got != want {
				t.Errorf("key of %s is %q, of %s %q", text, got, same[0], want)
			}
		}
	}
}

func TestIDKeyTellsValuesApart(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		"null", "7", `"7"`, `"n7e0"`, `"s7"`, "-7", "70", "0.7", "0", `"0"`, `""`, `"null"`, `"a"`, `"A"`, `"\u0000"`,
		"9007199254740992", "9007199254740993", "12345678901234567890", "12345678901234567891", "3.14", "314", "1.0000000000000000000001",
		"1e99999999999999999999", "1e99999999999999999998", "-1e99999999999999999999", "1e-99999999999999999999",
		"{}", "true", "\"\\ud800\"",
	} {
		key := idOf(text).Key()
		if other, dup := seen[key]; dup {
			t.Errorf("%s and %s share the key %q", text, other, key)
		}
		seen[key] = text
	}
}

func TestIDPresent(t *testing.T) {
	for text, want := range map[string]bool{"": false, "null": false, "0": true, `""`: true, `"null"`: true} {
		if got := idOf(text).Present(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestIDKeyDoesNotExpandExponents(t *testing.T) {
	for _, text := range []string{"1e999999999", "1e-999999999", "1e" + strings.Repeat("9", 60_000)} {
		if n := len(idOf(text).Key()); n > len(text)+10 {
			t.Errorf("%.20s: a key of %d bytes", text, n)
		}
	}
}

func TestIDClone(t *testing.T) {
	frame := []byte(`"abc"`)
	id := ID{Raw: frame}.Clone()
	frame[1] = 'x'
	if string(id.Raw) != `"abc"` {
		t.Errorf("%s", id.Raw)
	}
}

func TestIDKeyOfNumbers(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,12})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		checkKeys(t, a, b)
		// The same value written with the point elsewhere.
		if !strings.ContainsAny(a, ".eE") {
			checkKeys(t, a, a+"000e-3")
			checkKeys(t, a, a+".0")
		}
	})
}

func checkKeys(t interface{ Fatalf(string, ...any) }, a, b string) {
	ra, _ := new(big.Rat).SetString(a)
	rb, _ := new(big.Rat).SetString(b)
	if same := idOf(a).Key() == idOf(b).Key(); same != (ra.Cmp(rb) == 0) {
		t.Fatalf("%s and %s: keys equal %v, values equal %v", a, b, same, !same)
	}
}

func TestIDKeyOfStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.String().Draw(t, "a")
		b := rapid.OneOf(rapid.Just(a), rapid.String()).Draw(t, "b")
		qa, err1 := jsontext.AppendQuote(nil, a)
		qb, err2 := jsontext.AppendQuote(nil, b)
		if err1 != nil || err2 != nil {
			t.Skip("not UTF-8")
		}
		if (ID{Raw: qa}.Key() == ID{Raw: qb}.Key()) != (a == b) {
			t.Fatalf("keys of %q and %q", a, b)
		}
	})
}

func FuzzID(f *testing.F) {
	f.Add([]byte("7"), []byte("7.0"))
	f.Add([]byte(`"a"`), []byte(`"\u0061"`))
	f.Add([]byte("1e99999999999999999999"), []byte("-0"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		a, b = bytes.TrimSpace(a), bytes.TrimSpace(b) // an ID is a bare token
		// Whatever is taken for an id has a key of bounded size.
		for _, text := range [][]byte{a, b} {
			if !readableID(text) {
				continue
			}
			id := ID{Raw: text}
			if id.Key() == "" || !id.Present() {
				t.Fatalf("%q has no key", text)
			}
			if len(id.Key()) > len(text)+24 {
				t.Fatalf("%q has the key %q", text, id.Key())
			}
		}
		if !readableID(a) || !readableID(b) || bytes.Equal(a, b) {
			return
		}
		same := ID{Raw: a}.Key() == ID{Raw: b}.Key()
		if (a[0] == '"') != (b[0] == '"') {
			if same {
				t.Fatalf("%q and %q share a key", a, b)
			}
			return
		}
		if a[0] == '"' {
			sa, _ := jsontext.AppendUnquote(nil, a)
			sb, _ := jsontext.AppendUnquote(nil, b)
			if same != bytes.Equal(sa, sb) {
				t.Fatalf("%q and %q: keys equal %v", a, b, same)
			}
			return
		}
		if smallExponent(a) && smallExponent(b) {
			checkKeys(t, string(a), string(b))
		}
	})
}

// smallExponent spares the exact arithmetic of the test.
func smallExponent(num []byte) bool {
	i := bytes.IndexAny(num, "eE")
	return i < 0 || len(num)-i < 5
}
