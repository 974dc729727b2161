package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The promise of Exact: whoever reads the frame sees the same messages. The
// tests here hold it against readers that differ in how they split lines, take
// names and repair text, three of them written down, two of them real.

// view is what matters of a message.
type view struct{ method, tool, id string }

// idView compares numbers as float64, because that is all Node keeps of them.
func idView(text string) string {
	if text == "" || text == "null" {
		return ""
	}
	if text[0] == '"' {
		var s string
		json.Unmarshal([]byte(text), &s)
		return "string " + s
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil && n == 0 {
		return text
	}
	return "number " + strconv.FormatFloat(n+0, 'g', -1, 64) // + 0 turns -0 into 0
}

// exactView is what Classify says the reader will see.
func exactView(m Message) (views []view) {
	for _, e := range m.Elements {
		if len(e.Raw) > 0 && e.Raw[0] == '{' {
			views = append(views, view{e.Method, e.Tool, idView(string(e.ID.Raw))})
		}
	}
	return views
}

func asText(views []view) string { return fmt.Sprintf("%q", views) }

var anyNewline = regexp.MustCompile("\r\n|\r|\n")

// standIns read a frame the way a family of MCP servers does.
var standIns = map[string]func(frame []byte) string{
	// Lines end with LF; one CR before it goes; the last of two members wins.
	"a Node style reader": func(frame []byte) string {
		var lines []string
		for _, line := range strings.Split(string(frame), "\n") {
			lines = append(lines, strings.TrimSuffix(line, "\r"))
		}
		return asText(readLines(lines, exactNames))
	},
	// CR, LF and CRLF all end a line; what is not UTF-8 is replaced.
	"a Python style reader": func(frame []byte) string {
		text := strings.ToValidUTF8(string(frame), "\ufffd")
		return asText(readLines(anyNewline.Split(text, -1), exactNames))
	},
	// Member names have no case.
	"a Go style reader": func(frame []byte) string {
		return asText(readLines(strings.Split(string(frame), "\n"), foldedNames))
	},
}

func readLines(lines []string, message func([]byte) (view, bool)) (views []view) {
	for _, line := range lines {
		texts := []json.RawMessage{json.RawMessage(line)}
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "[") {
			if json.Unmarshal([]byte(line), &texts) != nil {
				continue
			}
		}
		for _, text := range texts {
			if v, ok := message(text); ok {
				views = append(views, v)
			}
		}
	}
	return views
}

func exactNames(text []byte) (view, bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil || m == nil {
		return view{}, false
	}
	v := view{id: idView(string(m["id"]))}
	json.Unmarshal(m["method"], &v.method)
	if v.method == MethodCall {
		var params map[string]json.RawMessage
		json.Unmarshal(m["params"], &params)
		json.Unmarshal(params["name"], &v.tool)
	}
	return v, true
}

func foldedNames(text []byte) (view, bool) {
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte{'{'}) {
		return view{}, false
	}
	var m struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(text, &m) != nil {
		return view{}, false
	}
	v := view{method: m.Method, id: idView(string(m.ID))}
	if v.method == MethodCall {
		var params struct {
			Name string `json:"name"`
		}
		json.Unmarshal(m.Params, &params)
		v.tool = params.Name
	}
	return v, true
}

// A test of the test: each reader disagrees with another one on the frames
// that the classifier holds back for its sake.
func TestStandInReadersDisagreeOnAmbiguousFrames(t *testing.T) {
	for _, tt := range []struct{ a, b, frame string }{
		{"a Node style reader", "a Python style reader", "{\"id\":1,\"x\":\r{\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"d\"}}\r}"},
		{"a Node style reader", "a Go style reader", `{"id":1,"method":"ping","METHOD":"tools/call","params":{"name":"d"}}`},
		{"a Node style reader", "a Go style reader", `{"id":1,"method":"tools/call","params":{"name":"a"},"param` + "\u017f" + `":{"name":"d"}}`},
	} {
		a, b := standIns[tt.a]([]byte(tt.frame)), standIns[tt.b]([]byte(tt.frame))
		if a == b {
			t.Errorf("%q: both see %s", tt.frame, a)
		}
		if m := Classify([]byte(tt.frame)); m.Class != Ambiguous {
			t.Errorf("%q is %v", tt.frame, m.Class)
		}
	}
}

// frameFrom makes a frame that looks like JSON-RPC, with a trap now and then.
func frameFrom(pick func(n int) int) string {
	of := func(choices ...string) string { return choices[pick(len(choices))] }
	rarely := func(s, trap string) string {
		if pick(25) == 0 {
			return trap
		}
		return s
	}
	space := func() string { return of("", "", "", " ", "\t", rarely("", of("\r", "\n", "\v", "\ufeff", "\x00"))) }
	str := func() string {
		return `"` + of("a", "tools/call", `tools\/call`, `\u0041\n`, `\"`, `\\`, "é\u2028\u0085", `\ud83d\ude00`, "{}[]:,", "Content-Length: 2",
			rarely("x", of(`\ud800`, "\xff", "\x1f", `\x`, "\r"))) + `"`
	}
	scalar := func() string {
		return of("0", "-0", "7", "7.0", "1e2", "-12", "9007199254740993", "true", "null", str(), str(), rarely("1", of("01", "NaN", "+1", "1.")))
	}
	object := func(members ...string) string {
		for i := range members {
			j := i + pick(len(members)-i)
			members[i], members[j] = members[j], members[i]
		}
		return "{" + space() + strings.Join(members, space()+","+space()) + "}" + space()
	}
	message := func() string {
		arguments := object(str()+":"+scalar(), rarely(`"p":1`, `"p":1,"\u0070":2`))
		params := object(
			`"`+rarely(of("name", `n\u0061me`), of("Name", "NAME", "nom"))+`":`+rarely(str(), scalar()),
			`"arguments":`+arguments, rarely(`"x":1`, `"name":"t"`))
		members := []string{
			`"jsonrpc":"2.0"`,
			`"` + rarely(of("id", `\u0069d`), of("ID", "ıd", "key")) + `":` + rarely(scalar(), of("{}", "[]")),
		}
		switch pick(4) {
		case 0:
			members = append(members, `"result":`+of("{}", "null", scalar()))
		case 1:
			members = append(members, `"method":`+str(), `"params":`+of("[]", "null", "{}", params))
		default:
			members = append(members, `"method":"tools/call"`, `"`+rarely("params", "param\u017f")+`":`+params)
		}
		return object(append(members, rarely(`"x":{"y":[]}`, of(`"error":1`, `"id":3`, `"METHOD":"x"`, `"x":{"method":"tools/call"}`)))...)
	}
	switch pick(8) {
	case 0:
		return space() + "[" + message() + "," + message() + rarely("", ","+of("7", "[]", message())) + "]" + space()
	case 1:
		return of("[]", "{}", "7", "null", str(), "")
	}
	return space() + message() + rarely("", of("x", "{}", "\r")) + of("", "", "\r")
}

func TestExactFramesReadTheSameForStandInReaders(t *testing.T) {
	exact := 0
	rapid.Check(t, func(t *rapid.T) {
		frame := frameFrom(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") })
		m := Classify([]byte(frame))
		if m.Class != Exact {
			return
		}
		exact++
		want := asText(exactView(m))
		for name, read := range standIns {
			if got := read([]byte(frame + "\n")); got != want {
				t.Fatalf("%q\n%s sees %s\nClassify %s", frame, name, got, want)
			}
		}
	})
	if exact == 0 {
		t.Error("no frame was exact")
	}
}

// realReaders print method, tool and id of every message on their input, one
// JSON array a line; the id as JSON text.
var realReaders = []struct {
	program string
	args    []string
}{
	// The buffer of the TypeScript SDK: split on LF, drop one CR, JSON.parse.
	{"node", []string{"-e", `
let buffer = Buffer.alloc(0);
function message(m) {
  if (m === null || typeof m !== "object" || Array.isArray(m)) return;
  const text = v => typeof v === "string" ? v : "";
  const tool = m.method === "tools/call" ? text((m.params ?? {}).name) : "";
  console.log(JSON.stringify([text(m.method), tool, JSON.stringify(m.id ?? null)]));
}
process.stdin.on("data", chunk => {
  buffer = Buffer.concat([buffer, chunk]);
  for (let i; (i = buffer.indexOf("\n")) >= 0; ) {
    const line = buffer.toString("utf8", 0, i).replace(/\r$/, "");
    buffer = buffer.subarray(i + 1);
    let value;
    try { value = JSON.parse(line); } catch { continue; }
    Array.isArray(value) ? value.forEach(message) : message(value);
  }
});`}},
	// The loop of the Python SDK: a text stream with universal newlines.
	{"python3", []string{"-c", `
import io, json, sys
def message(m):
    if not isinstance(m, dict): return
    text = lambda v: v if isinstance(v, str) else ""
    p = m.get("params")
    tool = text(p.get("name")) if m.get("method") == "tools/call" and isinstance(p, dict) else ""
    print(json.dumps([text(m.get("method")), tool, json.dumps(m.get("id"))]))
for line in io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace"):
    try: value = json.loads(line)
    except ValueError: continue
    for m in value if isinstance(value, list) else [value]: message(m)`}},
}

func TestExactFramesReadTheSameForRealReaders(t *testing.T) {
	var stream []byte
	var want []view
	random := rand.New(rand.NewPCG(1, 2))
	for len(want) < 3000 {
		frame := []byte(frameFrom(random.IntN))
		if m := Classify(frame); m.Class == Exact {
			stream = Append(stream, Newline, frame)
			want = append(want, exactView(m)...)
		}
	}
	for _, reader := range realReaders {
		t.Run(reader.program, func(t *testing.T) {
			path, err := exec.LookPath(reader.program)
			if err != nil {
				t.Skipf("%s is not on PATH: the real reader is not compared, its stand-in is", reader.program)
			}
			cmd := exec.Command(path, reader.args...)
			cmd.Stdin = bytes.NewReader(stream)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v", reader.program, err)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if len(lines) != len(want) {
				t.Errorf("%s sees %d messages, Classify %d", reader.program, len(lines), len(want))
			}
			for i := range min(len(lines), len(want)) {
				var got [3]string
				if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
					t.Fatal(err)
				}
				if v := (view{got[0], got[1], idView(got[2])}); v != want[i] {
					t.Fatalf("message %d: %s sees %q, Classify %q", i, reader.program, v, want[i])
				}
			}
		})
	}
}
