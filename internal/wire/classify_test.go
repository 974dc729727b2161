package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

const smallCall = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"/srv/notes/2026/a.txt","limit":100,"offset":0},"_meta":{"progressToken":"p-17"}}}`

// summary is an Exact message in one line, for comparison.
func summary(m Message) string {
	var b strings.Builder
	if m.Batch {
		b.WriteString("batch ")
	}
	for i, e := range m.Elements {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(e.Kind.String())
		if e.Method != "" {
			fmt.Fprintf(&b, " %s", e.Method)
		}
		if e.ID.Raw != nil {
			fmt.Fprintf(&b, " id=%s", e.ID.Raw)
		}
		if e.IsCall {
			fmt.Fprintf(&b, " tool=%s arguments=%s", e.Tool, e.Arguments)
		}
		if e.CancelID.Raw != nil {
			fmt.Fprintf(&b, " cancels=%s", e.CancelID.Raw)
		}
		if e.HasResult {
			b.WriteString(" result")
		}
		if e.HasError {
			b.WriteString(" error")
		}
	}
	return b.String()
}

func TestClassifyExact(t *testing.T) {
	tests := []struct{ body, want string }{
		{smallCall, `request tools/call id=17 tool=read_note arguments={"path":"/srv/notes/2026/a.txt","limit":100,"offset":0}`},
		{`{"method":"tools/call","params":{"name":"t"}}`, `notification tools/call tool=t arguments=`},
		{`{"id":null,"method":"tools/call","params":{"name":"t"}}`, `notification tools/call id=null tool=t arguments=`},
		{`{"params":{"arguments":[1],"name":"t"},"method":"tools/call","id":"x"}`, `request tools/call id="x" tool=t arguments=[1]`},
		{`{"m\u0065thod":"tools\/c\u0061ll","p\u0061rams":{"n\u0061me":"\u0074"},"\u0069d":1}`, `request tools/call id=1 tool=t arguments=`},
		{`{"method":"tools/call","params":{"name":""}}`, `notification tools/call tool= arguments=`},
		{`{"id":1.50,"method":"ping"}`, `request ping id=1.50`},
		{`{"id":1,"method":"x","params":[1,2]}`, `request x id=1`},
		{`{"id":1,"method":"x","params":"text"}`, `request x id=1`},
		{`{"id":1,"method":"prompts/get","params":{"name":7}}`, `request prompts/get id=1`},
		{`{"method":"notifications/cancelled","params":{"requestId":7.0,"reason":"x"}}`, `notification notifications/cancelled cancels=7.0`},
		{`{"method":"notifications/cancelled","params":{"requestId":{}}}`, `notification notifications/cancelled`},
		{`{"id":1,"result":{}}`, `response id=1 result`},
		{`{"id":1,"error":null,"result":null}`, `response id=1 result error`},
		{`{"id":1,"result":{"METHOD":1,"Name":2,"__proto__":3},"params":{"Name":1,"__proto__":2}}`, `response id=1 result`},
		{`{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"Name":1,"METHOD":2,"ID":3}}}`, `request tools/call id=1 tool=t arguments={"Name":1,"METHOD":2,"ID":3}`},
		{`{"id":1,"method":"x","params":{"requestid":7,"argument":{"name":"x"}}}`, `request x id=1`},
		{`{"status":200}`, `other`},
		{`{"id":5}`, `other id=5`},
		{`{}`, `other`},
		{`"tools/call"`, `other`},
		{`42`, `other`},
		{`[]`, `batch `},
		{` [ {"id":1,"method":"ping"} , 7,"x",{"id":2,"result":1}] `, `batch request ping id=1; other; other; response id=2 result`},
		{"{}\r", `other`},
		{"\t{}\r\n", `other`},
		{"{}\n", `other`},
		{`{"x":"\ud83d\ude00 ` + "\u2028\u0085" + `é"}`, `other`},
		{strings.Repeat("[", 1) + `{"x":` + strings.Repeat("[", 126) + strings.Repeat("]", 126) + `}]`, `batch other`},
		{`{"x":"` + strings.Repeat("[", 200) + `\"{"}`, `other`},
		{`{"x":[` + strings.Repeat("[],", 200) + `{}]}`, `other`},
	}
	for _, tt := range tests {
		m := Classify([]byte(tt.body))
		if m.Class != Exact {
			t.Errorf("%.200s\n is %v: %s", tt.body, m.Class, m.Reason)
			continue
		}
		if got := summary(m); got != tt.want {
			t.Errorf("%s\n got  %s\n want %s", tt.body, got, tt.want)
		}
	}
}

func TestClassifyRaw(t *testing.T) {
	m := Classify([]byte(` [ {"id" : 1} , [ ] ]`))
	if m.Reason != "nested batch" {
		t.Fatal(m.Reason)
	}
	m = Classify([]byte(" [ {\"id\" : 1} ,\t\"x\" ]\r"))
	if got := fmt.Sprintf("%s|%s", m.Elements[0].Raw, m.Elements[1].Raw); got != `{"id" : 1}|"x"` {
		t.Error(got)
	}
}

func TestClassifyAmbiguous(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"x"}}`
	tests := []struct {
		reason, body string
		mayCall      bool
		id           string
	}{
		{"duplicate member name", `{"id":9,"method":"tools/call","params":{"name":"read_note","name":"delete_note"}}`, true, "9"},
		{"duplicate member name", `{"id":9,"method":"tools/call","params":{"name":"t","arguments":{"path":"/a","path":"/b"}}}`, true, "9"},
		{"duplicate member name", `{"id":9,"method":"tools/call","params":{"name":"t","arguments":{"path":"/a","p\u0061th":"/b"}}}`, true, "9"},
		{"duplicate member name", `{"id":9,"method":"ping","id":10}`, false, ""},
		{"duplicate member name", `{"id":9,"result":{"a":[{"b":{"c":1,"c":2}}]}}`, false, "9"},
		{"duplicate member name", `[{"id":9,"id":9}]`, false, ""},

		{"member name differs only by case or folding", `{"jsonrpc":"2.0","id":5,"method":"ping","METHOD":"tools/call","params":{"name":"d"}}`, true, "5"},
		{"member name differs only by case or folding", `{"id":5,"method":"tools/call","params":{"name":"l","Name":"d"}}`, true, "5"},
		{"member name differs only by case or folding", `{"id":5,"method":"tools/call","params":{"name":"l","arguments":{},"Arguments":{}}}`, true, "5"},
		{"member name differs only by case or folding", `{"id":5,"method":"tools/call","param` + "\u017f" + `":{"name":"d"}}`, true, "5"},
		{"member name differs only by case or folding", `{"id":5,"method":"tools/call","params":{"name":"l"},"param\u017f":{"name":"d"}}`, true, "5"},
		{"member name differs only by case or folding", `{"id":5,"method":"x","params":{"_META":1}}`, false, "5"},
		{"member name differs only by case or folding", `{"Id":5,"method":"x"}`, false, ""},
		{"member name differs only by case or folding", `{"id":5,"ID":6,"method":"x"}`, false, ""},
		{"member name differs only by case or folding", `{"\u0130d":5,"method":"x"}`, false, ""},
		{"member name differs only by case or folding", `{"` + "\u0131" + `d":5,"method":"x"}`, false, ""},
		{"member name differs only by case or folding", `{"Result":5}`, false, ""},
		{"member name differs only by case or folding", `{"JsonRpc":"2.0"}`, false, ""},
		{"member name differs only by case or folding", `{"method":"notifications/cancelled","params":{"requestId":1,"requestID":2}}`, false, ""},
		{"member name differs only by case or folding", `{"params":{"reque` + "\u017f" + `tId":2},"method":"notifications/cancelled"}`, false, ""},
		{"member name differs only by case or folding", `[{"id":1,"method":"ping"},{"Method":"tools/call"}]`, true, ""},

		{"member named __proto__", `{"id":5,"__proto__":{"method":"tools/call"}}`, true, "5"},
		{"NUL in a name", `{"id":5,"method\u0000":"tools/call","method":"ping","params":{"name":"x"}}`, true, "5"},
		{"NUL in a name", `{"id":5,"method":"tools/call","params":{"name\u0000":"y","name":"x"}}`, true, "5"},
		{"NUL in a name", `{"id":5,"method":"tools/call\u0000"}`, true, "5"},
		{"NUL in a name", `{"id":5,"method":"tools/call","params":{"name":"x\u0000y"}}`, true, "5"},
		{"member named __proto__", `{"id":5,"method":"tools/call","params":{"name":"x","_\u005fproto__":{}}}`, true, "5"},

		{"invalid UTF-8", "{\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{\"path\":\"/a/\xff\"}}}", true, "3"},
		{"invalid UTF-8", "{\"id\":\"\xff\",\"method\":\"x\"}", false, ""},
		{"invalid UTF-8", "{\"id\":1,\"x\":\"\xed\xa0\x80\"}", false, "1"},
		{"invalid UTF-8", "{\"id\":1,\"x\":\"\xc0\xaf\"}", false, "1"},
		{"invalid UTF-8", "\xff\xfe", false, ""},
		{"invalid UTF-8", "{\"id\":1,\"method\":\"tools\xff/c\xfeall\",\"params\":{\"name\":\"t\"}}", true, "1"},

		{"lone surrogate", `{"id":3,"x":"\ud800"}`, false, "3"},
		{"lone surrogate", `{"id":3,"x":["\uDC00 tools/call"]}`, true, "3"},
		{"lone surrogate", `{"id":3,"x":{"y":"\ud800\ud800 and more"}}`, false, "3"},
		{"lone surrogate", `{"id":"\udfff"}`, false, ""},
		{"lone surrogate", `{"\udbff":1}`, false, ""},

		{"bytes after the value", `{"id":1,"method":"ping"}{"id":2,"method":"tools/call"}`, true, ""},
		{"bytes after the value", `{"id":1,"method":"ping"} x`, false, "1"},
		{"bytes after the value", `{"id":1,"method":"ping"}` + "\x00", false, "1"},
		{"bytes after the value", `2026-01-01 started`, false, ""},

		{"nesting over 128", `{"id":4,"method":"tools/call","x":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + `}`, true, "4"},
		{"nesting over 128", strings.Repeat(`{"a":`, 100_000), false, ""},

		{"raw CR", `{"id":1,"method":"ping","x":` + "\r" + call + "\r}", true, "1"},
		{"raw CR", "\r{}", false, ""},
		{"raw CR", "{}\r\r", false, ""},
		{"raw CR", "{}\r ", false, ""},
		{"raw CR", "50%\r60%", false, ""},
		{"raw LF", "{\"id\":1,\n\"method\":\"ping\"}", false, "1"},
		{"raw LF", "{}\n\n", false, ""},

		{"method together with result or error", `{"id":1,"method":"tools/call","params":{"name":"x"},"result":{}}`, true, "1"},
		{"method together with result or error", `{"error":null,"id":1,"method":"ping"}`, false, "1"},
		{"method together with result or error", `[{"id":1,"method":"ping","result":1}]`, false, ""},

		{"method that is not a string", `{"id":1,"method":["tools/call"],"params":{"name":"x"}}`, true, "1"},
		{"method that is not a string", `{"id":1,"method":null}`, false, "1"},
		{"id that is not a string, a number or null", `{"id":true,"method":"ping"}`, false, ""},
		{"id that is not a string, a number or null", `{"id":{"id":7},"method":"ping"}`, false, ""},
		{"id that is not a string, a number or null", `{"id":[7],"result":{}}`, false, ""},
		{"id over 64 KiB", `{"id":"` + strings.Repeat("x", 64<<10) + `","method":"ping"}`, false, ""},

		{"tools/call without a string params.name", `{"id":1,"method":"tools/call"}`, true, "1"},
		{"tools/call without a string params.name", `{"id":1,"method":"tools/call","params":{}}`, true, "1"},
		{"tools/call without a string params.name", `{"id":1,"method":"tools/call","params":{"name":null}}`, true, "1"},
		{"tools/call without a string params.name", `{"id":1,"method":"tools/call","params":{"name":["x"]}}`, true, "1"},
		{"tools/call without a string params.name", `{"id":1,"method":"tools/call","params":["x",{}]}`, true, "1"},
		{"tools/call without a string params.name", `{"id":1,"method":"tools/call","params":"x"}`, true, "1"},
		{"tools/call without a string params.name", `[{"id":1,"method":"ping"},{"method":"tools\/call"}]`, true, ""},

		{"nested batch", `[[` + call + `]]`, true, ""},
		{"nested batch", `[` + call + `,[]]`, true, ""},
		{"batch of more than 4096 elements", `[0` + strings.Repeat(",0", 4096) + `]`, false, ""},
	}
	for _, tt := range tests {
		m := Classify([]byte(tt.body))
		if m.Class != Ambiguous || m.Reason != tt.reason {
			t.Errorf("%.120q\n is %v: %q, want ambiguous: %q", tt.body, m.Class, m.Reason, tt.reason)
		}
		if m.MayCall != tt.mayCall || string(m.ID.Raw) != tt.id {
			t.Errorf("%.120q\n may call %v, id %q; want %v, %q", tt.body, m.MayCall, m.ID.Raw, tt.mayCall, tt.id)
		}
		if m.Elements != nil || m.Batch {
			t.Errorf("%.120q: elements of a frame that is not exact", tt.body)
		}
	}
}

func TestClassifyNotJSON(t *testing.T) {
	tests := []struct {
		body    string
		mayCall bool
		id      string
	}{
		{"", false, ""},
		{"Example Server 1.2.0", false, ""},
		{"┌── log ──┐", false, ""},
		{"\ufeff" + smallCall, true, "17"},
		{strings.TrimSuffix(smallCall, "}"), true, "17"},
		{`{"id":1,"method":"tools/call","params":{"name":"x","arguments":{"n":NaN}}}`, true, "1"},
		{`{"id":1,"method":"tools/call",}`, true, "1"},
		{`{'id':1,'method':'tools/call'}`, true, ""},
		{`// tools/call`, true, ""},
		{`{"id":01}`, false, ""},
		{`{"id":1`, false, ""},
		{`{"id":"a` + "\t" + `b"}`, false, ""},
		{`{"x":"\x"}`, false, ""},
		{`{"x":"\ud8"}`, false, ""},
		{`{"id":1,"x"`, false, "1"},
	}
	for _, tt := range tests {
		m := Classify([]byte(tt.body))
		if m.Class != NotJSON || m.Reason != "not JSON" || m.MayCall != tt.mayCall || string(m.ID.Raw) != tt.id {
			t.Errorf("%q\n is %v (%s), may call %v, id %q; want not JSON, %v, %q", tt.body, m.Class, m.Reason, m.MayCall, m.ID.Raw, tt.mayCall, tt.id)
		}
	}
}

// Every two-byte UTF-16 text looks like rubbish here and like a call to a
// reader that guesses the encoding.
func TestClassifyFindsCallsInUTF16(t *testing.T) {
	for _, order := range []string{"%c\x00", "\x00%c"} {
		var b bytes.Buffer
		for _, c := range smallCall {
			fmt.Fprintf(&b, order, c)
		}
		if m := Classify(b.Bytes()); m.Class == Exact || !m.MayCall {
			t.Errorf("%v, may call %v", m.Class, m.MayCall)
		}
	}
}

// A quadratic step would take minutes on these.
func TestClassifyIsLinear(t *testing.T) {
	manyKeys := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"id":1,"method":"x","params":{`)
		for i := range n {
			fmt.Fprintf(&b, `"key%d":%d,`, i, i)
		}
		return b.String() + `"last":0}}`
	}
	tests := map[string]string{
		"10,000 keys":              manyKeys(10_000),
		"200,000 keys":             manyKeys(200_000),
		"a 64 MiB string":          `{"id":1,"x":"` + strings.Repeat("x", 64<<20) + `"}`,
		"an 8 MiB ambiguous text":  `{"id":1,"x":"` + strings.Repeat("x", 8<<20) + `"}}`,
		"a million open brackets":  strings.Repeat("[", 1<<20),
		"a million escaped quotes": `{"x":"` + strings.Repeat(`\"`, 1<<20) + `"}`,
		"a million siblings":       `{"x":[` + strings.Repeat("{},", 1<<20) + `{}]}`,
		"a million batch elements": `[` + strings.Repeat("0,", 1<<20) + `0]`,
		"a million ids":            `{` + strings.Repeat(`"id":1,`, 1<<20) + `}`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			Classify([]byte(body))
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%d bytes took %v", len(body), took)
			}
		})
	}
}

func FuzzClassify(f *testing.F) {
	f.Add([]byte(smallCall))
	f.Add([]byte(`[{"id":1,"method":"tools/call","params":{"name":"x"}},{"id":"2","result":{}}]`))
	f.Add([]byte(`{"id":1,"METHOD":"x","params":{"n\u0061me":"\ud800"}}`))
	f.Add([]byte("{\"id\":1,\r\"x\":\"\xff\"}{}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		m := Classify(body)
		if !bytes.Equal(before, body) {
			t.Fatal("the body was changed")
		}
		if (m.Class == Exact) != (m.Reason == "") {
			t.Fatalf("%v with reason %q", m.Class, m.Reason)
		}
		var s Scanner
		for i := range body { // in single bytes: chunks must not matter
			s.Write(body[i : i+1])
		}
		loose := s.OverCap()
		if m.Class != Exact {
			if m.Elements != nil || m.MayCall != loose.MayCall || !bytes.Equal(m.ID.Raw, loose.ID.Raw) || m.Kind != loose.Kind {
				t.Fatalf("%+v, read in single bytes %+v", m, loose)
			}
			return
		}
		for _, e := range m.Elements {
			if !bytes.Contains(body, e.Raw) {
				t.Fatalf("element %q", e.Raw)
			}
			if e.IsCall && !loose.MayCall {
				t.Fatal("the loose reading misses a call")
			}
		}
		if !m.Batch && m.Elements[0].Kind != Other {
			e := m.Elements[0]
			if e.Kind != loose.Kind || e.ID.Present() && !bytes.Equal(e.ID.Raw, loose.ID.Raw) {
				t.Fatalf("exact %v %q, loose %v %q", e.Kind, e.ID.Raw, loose.Kind, loose.ID.Raw)
			}
		}
		if want := asText(exactView(m)); len(body) < 1<<16 {
			for name, read := range standIns {
				if got := read(body); got != want {
					t.Fatalf("%s sees %q, want %q", name, got, want)
				}
			}
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	text := strings.Repeat(`line of text with \"quotes\" and\n`, 2000)[:64<<10-1]
	frames := []struct {
		name string
		body string
	}{
		{"small call", smallCall},
		{"64 KiB string", `{"id":1,"method":"tools/call","params":{"name":"x","arguments":{"t":"` + strings.TrimRight(text, `\`) + `"}}}`},
		{"64 KiB objects", `{"id":1,"method":"tools/call","params":{"name":"x","arguments":[` + strings.Repeat(`{"path":"/a/b","n":12},`, 2800) + `0]}}`},
		{"batch of 16", `[` + strings.Repeat(smallCall+",", 15) + smallCall + `]`},
		{"ambiguous", strings.TrimSuffix(smallCall, "}") + `,"id":17}`},
	}
	for _, fr := range frames {
		b.Run(fr.name, func(b *testing.B) {
			body := []byte(fr.body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				Classify(body)
			}
		})
	}
}
