package derive

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/internal/shape"
)

// FuzzCall: whatever the arguments are, the walk ends with parameters that are
// within bounds and that a record brings back; JSON with two readings is never
// taken for JSON with one, and a second walk finds the same.
func FuzzCall(f *testing.F) {
	for _, arguments := range []string{
		`{}`, `null`, `[]`, `{"path":"/srv/a"}`, `{"paths":["/a",["~"],5,null]}`, `{"command":"ls; id","cmd":["git"]}`, `{"url":"http://0x7f.1/","host":"a.example."}`,
		`{"sql":"SELECT 1; DROP TABLE t"}`, `{"a":1,"b":{"a":2},"a":3}`, `{"a/b~ path":{"file":"x"}}`, `{"path":"\ud800"}`, `{"p\u0061th":"\u0000"}`, `{} {}`, `{"source":"/a","destination":"file:///b"}`,
	} {
		for _, tool := range []string{"read_file", "copy", "exec", "x"} {
			f.Add(tool, []byte(arguments), uint8(0))
			f.Add(tool, []byte(arguments), uint8(255))
		}
	}
	f.Fuzz(func(t *testing.T, tool string, arguments []byte, choice uint8) {
		plan := &Plan{Shapes: shape.Set(choice & 31)}
		if choice&32 != 0 {
			plan.Binding = &Binding{Bound: []Bound{{"/path", shape.HTTPRequest}, {"/a/b", shape.FilesystemRead}}, Other: []string{"/url"}}
		}
		if choice&64 != 0 {
			plan.Named[shape.ShellExec] = "/x"
		}
		plan.Known = choice&128 != 0
		params, found := Call(tool, arguments, plan)
		if len(params) > maxParams+shapes {
			t.Fatalf("%d parameters", len(params))
		}
		if dec := jsontext.NewDecoder(bytes.NewReader(arguments)); len(bytes.TrimSpace(arguments)) > 0 {
			err := dec.SkipValue()
			if err == nil {
				if _, end := dec.ReadToken(); end != io.EOF {
					err = io.ErrUnexpectedEOF
				}
			}
			whole := len(params) == 1 && params[0].Fault == Ambiguous && params[0].Arg == ""
			if err != nil && !whole {
				t.Fatalf("%v, and %+v", err, params)
			}
		}
		again, same := Call(tool, arguments, plan)
		if len(again) != len(params) || same != found {
			t.Fatalf("%d parameters, then %d", len(params), len(again))
		}
		recorded := params.Recorded()
		for i := range params {
			if p, q := &params[i], &again[i]; p.Shape != q.Shape || p.Arg != q.Arg || p.Fault != q.Fault {
				t.Fatalf("%+v, then %+v", p, q)
			}
			if params[i].Fault != None && params[i].Why == "" {
				t.Fatalf("no reason: %+v", params[i])
			}
			if i >= maxRecorded {
				break
			}
			p, unable := Recall(&recorded[i])
			if unable != Decidable {
				continue
			}
			if (p.Fault == None) != (params[i].Fault == None) || p.Shape != params[i].Shape || p.Path.Clean != params[i].Path.Clean && p.Fault == None ||
				strings.Join(p.Command.Words, "\x00") != strings.Join(params[i].Command.Words, "\x00") && p.Fault == None || p.Target.Addr != params[i].Target.Addr {
				t.Fatalf("recorded %+v\ncame back as %+v\nof %+v", recorded[i], p, params[i])
			}
		}
		if _, err := json.Marshal(recorded); err != nil {
			t.Fatal(err)
		}
	})
}
