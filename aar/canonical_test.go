package aar

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// The vector published in the specification, section 11.1.
func TestPublishedCanonicalForm(t *testing.T) {
	got, err := Canonicalize([]byte(`{
  "tool_id": "echo",
  "seq": 7,
  "decision_axes": {
    "role": "ops",
    "capability": "fs.read",
    "fs": { "path_raw": "~/notes.md", "path_canonical": "/home/a/notes.md" }
  },
  "line_type": "outcome",
  "prev_hash": "0000000000000000000000000000000000000000000000000000000000000000"
}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"decision_axes":{"capability":"fs.read","fs":{"path_canonical":"/home/a/notes.md","path_raw":"~/notes.md"},"role":"ops"},"line_type":"outcome","prev_hash":"0000000000000000000000000000000000000000000000000000000000000000","seq":7,"tool_id":"echo"}`
	if string(got) != want {
		t.Errorf("canonical form\n got %s\nwant %s", got, want)
	}
	sum := sha256.Sum256(got)
	if h := hex.EncodeToString(sum[:]); h != "9017de5e13e0a12b261e1960d0d0bc9220c6b7ef501b7dd189141e6327377664" {
		t.Errorf("hash %s", h)
	}
}

func TestCanonicalForm(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"white space", " { \"a\" : [ 1 , true , false ] } \r\n", `{"a":[1,true,false]}`},
		{"array order kept", `[3,1,2]`, `[3,1,2]`},
		{"empty", `{"a":{},"b":[],"c":""}`, `{"a":{},"b":[],"c":""}`},
		{"short escapes", `"\u0008\u0009\u000a\u000c\u000d"`, `"\b\t\n\f\r"`},
		{"long escapes are lowercase", `"\u0001\u001F"`, "\"\\u0001\\u001f\""},
		{"quote and backslash", `"\u0022\u005c"`, `"\"\\"`},
		{"not escaped", `"\/\u007f\u2028\u003c\u00e9"`, "\"/\x7f\u2028<\u00e9\""},
		{"no normalisation", "\"cafe\u0301 caf\u00e9\"", "\"cafe\u0301 caf\u00e9\""},
		{"escaped names are sorted by their meaning", `{"b":1,"\u0061":2}`, `{"a":2,"b":1}`},
		{"largest integer", `9007199254740991`, `9007199254740991`},
		{"nested objects sort at each level", `{"z":{"b":1,"a":{"d":1,"c":2}},"a":1}`, `{"a":1,"z":{"a":{"c":2,"d":1},"b":1}}`},
		{
			"UTF-16 order, not byte order", "{\"\U0001f600\":1,\"\ufb33\":2,\"\u20ac\":3,\"\\r\":4,\"1\":5,\"\u0080\":6,\"\u00f6\":7}",
			"{\"\\r\":4,\"1\":5,\"\u0080\":6,\"\u00f6\":7,\"\u20ac\":3,\"\U0001f600\":1,\"\ufb33\":2}",
		},
	} {
		got, err := Canonicalize([]byte(tc.in))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: got %s, %v; want %s", tc.name, got, err, tc.want)
		}
	}
}

func TestOutsideTheValueSpace(t *testing.T) {
	for _, tc := range []struct {
		in, want string
		what     Violation
	}{
		{`{"wall":1.5}`, "floating-point value at $.wall is outside the JCS value space", Float},
		{`{"wall":1.0}`, "floating-point value at $.wall is outside the JCS value space", Float},
		{`{"a":[0,{"b":1e2}]}`, "floating-point value at $.a[1].b is outside the JCS value space", Float},
		{`[1,-5]`, "negative integer at $[1] is outside the JCS value space", Negative},
		{`{"n":-0}`, "negative integer at $.n is outside the JCS value space", Negative},
		{`{"n":9007199254740992}`, "integer 9007199254740992 at $.n is at or above 2^53 (max 9007199254740991)", TooLarge},
		{`{"n":99999999999999999999999}`, "integer 99999999999999999999999 at $.n is at or above 2^53 (max 9007199254740991)", TooLarge},
		{`{"a":{"b":null}}`, "null at $.a.b; absent fields must be omitted, never null", Null},
		{`null`, "null at $; absent fields must be omitted, never null", Null},
		{`{"a":1,"a":1}`, "duplicate member name at $.a", DuplicateName},
		{`{"x":[{"a":1,"b":2,"\u0061":3}],"y":1}`, "duplicate member name at $.x[0].a", DuplicateName},
	} {
		_, err := Canonicalize([]byte(tc.in))
		violation, ok := errors.AsType[*ValueError](err)
		if !ok || err.Error() != tc.want || violation.What != tc.what {
			t.Errorf("%s: got %v, want %s", tc.in, err, tc.want)
		}
	}
}

func TestNotJSON(t *testing.T) {
	for _, in := range []string{
		``, ` `, `{`, `{"a":}`, `{"a":1,}`, `[1 2]`, `01`, `nul`, `{} {}`, `"` + "\xff" + `"`,
		`"\ud800"`, `"\ude00\ud83d"`, `{"\udc00":1}`, "\"a\nb\"", "\ufeff{}", `{"a":null,"a"`,
		strings.Repeat("[", 129) + strings.Repeat("]", 129),
	} {
		_, err := Canonicalize([]byte(in))
		if _, ok := errors.AsType[*SyntaxError](err); !ok {
			t.Errorf("%q: got %v, want a SyntaxError", in, err)
		}
	}
	if _, err := Canonicalize([]byte(strings.Repeat("[", 128) + strings.Repeat("]", 128))); err != nil {
		t.Errorf("nesting of 128: %v", err)
	}
}

func TestUTF16OrderAgreesWithUTF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if got := compareUTF16(a, b); got != want {
			t.Fatalf("compareUTF16(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

// canonicalValue draws a value inside the value space of a Line.
func canonicalValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.String().AsAny(),
		rapid.Uint64Range(0, MaxInteger).AsAny(),
		rapid.Bool().AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	deeper := rapid.Deferred(func() *rapid.Generator[any] { return canonicalValue(depth - 1) })
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(deeper, 0, 4).AsAny(),
		rapid.MapOfN(rapid.String(), deeper, 0, 5).AsAny(),
	)...)
}

// An independent implementation of RFC 8785 gives the same bytes, and the form
// does not depend on how the text was spelt.
func TestCanonicalFormAgreesWithAnotherImplementation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.MarshalIndent(canonicalValue(3).Draw(t, "value"), " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		got, err := Canonicalize(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want := jsontext.Value(bytes.Clone(text))
		if err := want.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%s:\n got %s\nwant %s", text, got, want)
		}
		if again, err := Canonicalize(got); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("not idempotent: %s, %v", again, err)
		}
	})
}

func FuzzCanonicalize(f *testing.F) {
	f.Add([]byte(`{"b":[1,{"a":"\u00e9"}],"a":null}`))
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Canonicalize(text)
		want := jsontext.Value(bytes.Clone(text))
		wantErr := want.Canonicalize()
		if err == nil {
			if wantErr != nil || !bytes.Equal(got, want) {
				t.Fatalf("got %s, the other implementation %s, %v", got, want, wantErr)
			}
			return
		}
		if _, ok := errors.AsType[*SyntaxError](err); ok && wantErr == nil && bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) <= maxDepth {
			t.Fatalf("refused %q as no JSON: %v", text, err)
		}
	})
}

func BenchmarkCanonicalizeOutcome(b *testing.B) {
	line := readVector(b, "golden/resource_exceeded.json")
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := Canonicalize(line); err != nil {
			b.Fatal(err)
		}
	}
}
