package report

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestSafeText(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"plain text, naïve 工具 🙂": "plain text, naïve 工具 🙂",
		"C:\\x":                  "C:\\x",
		"a\x1b[2K\x1b[1Ab":       `a\u001b[2K\u001b[1Ab`,
		"\x1b]52;c;eA==\a":       `\u001b]52;c;eA==\u0007`,
		"\u009b2J":               `\u009b2J`,
		"a\rb\nc\td":             `a\u000db\u000ac\u0009d`,
		"\u202eevil\u2066":       `\u202eevil\u2066`,
		"a\u2028b":               `a\u2028b`,
		"\U000e0041":             `\U000e0041`,
		"\u200bhidden":           `\u200bhidden`,
		"👩\u200d💻 می\u200cخواهم soft\u00adly": "👩\u200d💻 می\u200cخواهم soft\u00adly",
		"bad \xff\xc3": `bad \xff\xc3`,
		"lost \ufffd":  `lost \ufffd`,
		"\x7f":         `\u007f`,
	} {
		if got := SafeText(in); got != want {
			t.Errorf("SafeText(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"aé", 2, "a…"}, {"工具", 5, "工…"}, {"\x80\x80", 1, "…"}} {
		if got := Clip(c.in, c.limit); got != c.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

// FuzzSafeText: nothing unsafe is left, and JSON keeps its value.
func FuzzSafeText(f *testing.F) {
	f.Add("a\x1b[2K\u202e\U000e0041\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range SafeText(s) {
			if unsafeRune(r) {
				t.Fatalf("%q leaves %U", s, r)
			}
		}
		if !utf8.ValidString(s) {
			return
		}
		text, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		safe := SafeJSON(text)
		if err := json.Unmarshal(safe, &back); err != nil || back[s] != s {
			t.Fatalf("%s became %s: %v", text, safe, err)
		}
		for _, r := range string(safe) {
			if unsafeRune(r) {
				t.Fatalf("%s leaves %U", safe, r)
			}
		}
	})
}
