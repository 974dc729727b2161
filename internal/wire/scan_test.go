package wire

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func scanned(chunks ...string) Message {
	var s Scanner
	for _, c := range chunks {
		s.Write([]byte(c))
	}
	return s.OverCap()
}

func TestScannerFindsTheID(t *testing.T) {
	big := strings.Repeat(`{"id":8,"x":"}],\\"},`, 10_000)
	tests := []struct{ name, text, want string }{
		{"first", `{"id":7,"x":[` + big + `0]}`, "7"},
		{"last, as the TypeScript SDK writes it", `{"method":"tools/call","params":{"x":[` + big + `0]},"jsonrpc":"2.0","id":7}`, "7"},
		{"with white space", ` { "x" : [ ] , "id" : "a\"}b" , "y" : 1 } `, `"a\"}b"`},
		{"escaped name", `{"\u0069\u0064":-1.5e3}`, "-1.5e3"},
		{"a nested id is not it", `{"x":{"id":7}}`, ""},
		{"null", `{"id":null}`, ""},
		{"an object", `{"id":{"id":7}}`, ""},
		{"an array behind it", `{"id":[7],"x":1}`, ""},
		{"a literal", `{"id":true}`, ""},
		{"twice", `{"id":7,"x":1,"id":7}`, ""},
		{"in two spellings", `{"id":7,"\u0049D":8}`, ""},
		{"in two values", `{"id":7}{"id":8}`, ""},
		{"not a number", `{"id":7x}`, ""},
		{"two tokens", `{"id":7 8}`, ""},
		{"colon twice", `{"id"::7}`, ""},
		{"not a string", "{\"id\":\"a\nb\"}", ""},
		{"not UTF-8", "{\"id\":\"\xff\"}", ""},
		{"cut off", `{"x":1,"id":7`, ""},
		{"cut off behind a second one", `{"id":7,"id":8`, ""},
		{"as long as allowed", `{"id":"` + strings.Repeat("x", maxID-2) + `"}`, `"` + strings.Repeat("x", maxID-2) + `"`},
		{"too long", `{"id":"` + strings.Repeat("x", maxID-1) + `"}`, ""},
		{"a batch has none", `[{"id":7}]`, ""},
		{"a long name", `{"` + strings.Repeat("x", 200) + `":1,"id":7}`, "7"},
		{"a key that only starts like it", `{"idx":1}`, ""},
		{"text before it", `log: {"id":7}`, "7"},
	}
	for _, tt := range tests {
		whole := scanned(tt.text)
		if got := string(whole.ID.Raw); got != tt.want {
			t.Errorf("%s: id %.80q, want %.80q", tt.name, got, tt.want)
		}
		if single := scanned(strings.Split(tt.text, "")...); string(single.ID.Raw) != tt.want {
			t.Errorf("%s: in single bytes id %.80q", tt.name, single.ID.Raw)
		}
		if whole.Class != OverCap || whole.Reason != "longer than the frame cap" {
			t.Errorf("%s: %v, %q", tt.name, whole.Class, whole.Reason)
		}
	}
}

func TestScannerKind(t *testing.T) {
	for text, want := range map[string]Kind{
		`{"id":1,"method":"x"}`:             Request,
		`{"method":"x"}`:                    Notification,
		`{"id":1,"result":{"method":"x"}}`:  Response,
		`{"id":1,"error":{}}`:               Response,
		`{"id":1,"method":"x","result":{}}`: Other,
		`{"id":1}`:                          Other,
		`[{"id":1,"method":"x"}]`:           Other,
	} {
		if got := scanned(text).Kind; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestScannerFindsCalls(t *testing.T) {
	for text, want := range map[string]bool{
		`tools/call`:           true,
		`tools\/call`:          true,
		`\u0074ools\u002Fcall`: true,
		`\u0074\u006f\u006F\u006c\u0073\u002f\u0063\u0061\u006c\u006c`: true,
		"to\xff\xfeols/\xc3call":                             true,
		"t\x00o\x00o\x00l\x00s\x00/\x00c\x00a\x00l\x00l\x00": true,
		"\\\xffu0074ools/call":                               true,
		"\\u00\xff74ools/call":                               true,
		`tools\ud800/call`:                                   true,
		`ttools/call`:                                        true,
		`tootools/call`:                                      true,
		`tools/tools/call`:                                   true,
		`\u00tools/call`:                                     true,
		`\u00\u0074ools/call`:                                true,
		`tools/cal`:                                          false,
		`tools/list call`:                                    false,
		`\\u0074ools/call`:                                   false,
		`tools\n/call`:                                       false,
		`tools\u00e9/call`:                                   false,
		`Tools/Call`:                                         false,
	} {
		if got := scanned(text).MayCall; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if got := scanned(strings.Split(text, "")...).MayCall; got != want {
			t.Errorf("%q in single characters: %v, want %v", text, got, want)
		}
	}
}

func TestScannerHoldsLittle(t *testing.T) {
	var s Scanner
	chunk := []byte(strings.Repeat(`"id":"`+strings.Repeat("x", 1000)+`",`, 60))
	s.Write([]byte("{"))
	total := allocated(func() {
		for range 2000 { // 120 MB of rubbish
			s.Write(chunk[:100])
			s.Write([]byte(`\"`))
		}
	})
	if held := cap(s.value.text) + cap(s.name.text); held > 3*maxID || total > 8*maxID {
		t.Errorf("%d bytes held, %d allocated", held, total)
	}
}

func TestScannerDoesNotCareAboutChunks(t *testing.T) {
	token := rapid.SampledFrom([]string{
		`{`, `}`, `[`, `]`, `,`, `:`, `"`, `\`, `"id"`, `"ID"`, `"\u0069d"`, `"method"`, `"tools/call"`, `tools\u002f`, `call`,
		`7`, `-1e5`, `null`, ` `, "\r", "\xff", `"a\"b"`, `x`,
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(token, 0, 60).Draw(t, "tokens"), "")
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		a, b := scanned(text), scanned(text[:cut], text[cut:])
		if a.MayCall != b.MayCall || string(a.ID.Raw) != string(b.ID.Raw) || a.Kind != b.Kind {
			t.Fatalf("%q cut at %d: %+v, whole %+v", text, cut, b, a)
		}
	})
}
