package lock

import (
	"encoding/binary"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		// RFC 8785, section 3.2.3, and the numbers of its section 3.2.2.3.
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`: "{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}",
		`[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]`:       `[333333333.3333333,1e+30,4.5,0.002,1e-27]`,
		`[-0, -0.0, 0e5, 1.0, 1e2, 100e-2]`:                                           `[0,0,0,1,100,1]`,
		`"\u007f\u2028\/<\u0001\"\\"`:                                                 "\"\u007f\u2028/<\\u0001\\\"\\\\\"",
		// Numbers that a binary64 does not tell apart stay apart.
		`9007199254740992`:    `9007199254740992`,
		`9007199254740993`:    `9007199254740993e0`,
		`9007199254740993.`:   "",
		`1e400`:               `1e400`,
		`10e399`:              `1e400`,
		`0.10000000000000001`: `0.1`,
		// What is not strict has no form.
		`{"a":1,"\u0061":2}`:             "",
		`"\ud800"`:                       "",
		`"\ude00\ud83d"`:                 "",
		"\"\xff\"":                       "",
		`{"\udc00":1}`:                   "",
		`1 2`:                            "",
		``:                               "",
		strings.Repeat("1", maxNumber+1): "",
	} {
		got, err := Canonical([]byte(in))
		if string(got) != want && !(want == "" && err != nil) {
			t.Errorf("%s: %s, %v, not %s", in, got, err, want)
		}
		if want == "" && err == nil {
			t.Errorf("%s: %s", in, got)
		}
	}
}

// Every binary64 in its shortest spelling has the form jsontext gives it.
func TestCanonicalNumbersAreRFC8785(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		f := math.Float64frombits(binary.LittleEndian.Uint64(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(r, "bits")))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return
		}
		text := jsontext.Float(f).String()
		want := jsontext.Value(text)
		if err := want.Canonicalize(); err != nil {
			r.Fatal(err)
		}
		if got, err := Canonical([]byte(text)); err != nil || string(got) != string(want) {
			r.Fatalf("%s: %s %v", text, got, err)
		}
	})
}

// Node sorts members by UTF-16 and writes numbers and strings as RFC 8785 does.
func TestCanonicalAsNodeDoes(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node")
	}
	texts := []string{rich, toolA}
	for i := range 500 {
		texts = append(texts, rapid.Map(rapid.SliceOf(rapid.String()), func(s []string) string {
			var o object
			seen := map[string]bool{}
			for _, name := range s {
				if name = strings.ToValidUTF8(name, ""); !seen[name] {
					seen[name] = true
					o.text(name, name)
				}
			}
			return string(o.end())
		}).Example(i))
	}
	const script = `const s=v=>v===null||typeof v!="object"?JSON.stringify(v):Array.isArray(v)?"["+v.map(s)+"]":"{"+Object.keys(v).sort().map(k=>JSON.stringify(k)+":"+s(v[k]))+"}";
for (const l of require("fs").readFileSync(0,"utf8").split("\0")) process.stdout.write(s(JSON.parse(l))+"\0")`
	cmd := exec.Command(node, "-e", script)
	// This one number is no binary64, and that is where we differ from RFC 8785.
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(strings.Join(texts, "\x00"), "9007199254740993", "9007199254740992"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		got, err := Canonical([]byte(strings.ReplaceAll(texts[i], "9007199254740993", "9007199254740992")))
		if err != nil || string(got) != want {
			t.Fatalf("%s: %s %v, node has %s", texts[i], got, err, want)
		}
	}
}
