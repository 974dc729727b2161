package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// textFrame is a tools/call answer with one text block.
func textFrame(text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":%s}]}}`, quoted)
}

// filled repeats s up to n bytes.
func filled(s string, n int) string { return strings.Repeat(s, n/len(s)+1)[:n] }

const prose = "The server read forty files from the archive and found the report that was asked for; it is two pages long.\n" +
	"Its author thanks the reviewers, who found three errors in the tables, and says that the next edition will have an index.\n"

const source = "func (r *Reader) fill(n int) error {\n\tfor len(r.buf)-r.pos < n {\n\t\tif err := r.more(); err != nil {\n\t\t\treturn fmt.Errorf(\"fill: %w\", err)\n\t\t}\n\t}\n\treturn nil\n}\n"

var benchTexts = []struct{ name, text string }{
	{"prose", prose},
	{"source", source},
	{"json", `{"name":"report.txt","size":10423,"modified":"2026-04-13T10:22:31Z","owner":{"login":"ada","kind":"user"}}` + "\n"},
	{"cjk", "服务器读取了四十个文件，并找到了所需的报告；它有两页长。作者感谢审阅者发现了表格中的三处错误。"},
	{"cyrillic", "Сервер прочитал сорок файлов и нашёл нужный отчёт; в нём две страницы. "},
	{"base64", "kJ8fQz1LmT3vXw7RbY5nHc2Dg6Ps9AeU4oZiVtKxWqMy0BhNjCrGlEfSuIpOaQdL+/"},
	{"hex", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 "},
	{"worst/urls", "https://a.b,"},
	{"worst/names", "token:pass=secret_"},
	{"worst/phrases", "ignore previous instruction ignore all previous instruction "},
	{"worst/colons", "a::b:1:"},
	{"worst/numbers", "0.0. 10.0 "},
	{"worst/entropy", "Ab3xK9mQ2pL7vR4tZ8wN5cJ1 "},
	{"worst/begin", "-----BEGIN RSA PRIVATE KE-----"},
	{"worst/escapes", "\"\\\n"},
	{"worst/spaces", "you are\u3000\u00a0"},
	{"worst/zero-width", "a\u200b\u200c"},
	{"worst/needles", "eyJasknpm_toke"},
}

// BenchmarkInspect is the whole catalog on whole frames: each name is what the
// text is full of. The ones under worst are there to find the slowest text; the two
// sizes show that the time is linear.
func BenchmarkInspect(b *testing.B) {
	c := newCatalog(b, Options{})
	for _, t := range benchTexts {
		for _, size := range []int{64, 128} {
			frame := textFrame(strings.ToValidUTF8(filled(t.text, size<<10), ""))
			b.Run(fmt.Sprintf("%s/%dKiB", t.name, size), func(b *testing.B) {
				b.SetBytes(int64(len(frame)))
				b.ReportAllocs()
				for b.Loop() {
					c.Inspect(frame, Declaration{}, Posture{})
				}
			})
		}
	}
}
