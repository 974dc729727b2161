package lock

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/inspect"
)

// classes are the classes and targets of drifts.
func classes(drifts []Drift) string {
	var out []string
	for _, d := range drifts {
		out = append(out, d.Class+" "+d.Target)
	}
	return strings.Join(out, ", ")
}

type step struct{ result, cursor, want string }

func follow(t *testing.T, l *Lock, steps ...step) {
	t.Helper()
	g := NewGate(l)
	for i, s := range steps {
		got, err := g.Page([]byte(s.result), s.cursor)
		if err != nil || classes(got) != s.want {
			t.Errorf("step %d, %s: %s %v, not %s", i, s.result, classes(got), err, s.want)
		}
	}
}

func tools(entries ...string) string { return `{"tools":[` + strings.Join(entries, ",") + `]}` }
func pageTo(next string, entries ...string) string {
	return `{"nextCursor":` + next + `,"tools":[` + strings.Join(entries, ",") + `],"ttlMs":5}`
}

func TestGate(t *testing.T) {
	t.Parallel()
	changed := strings.Replace(toolA, "A", "B", 1)
	for _, level := range []int{Level3, Level4} {
		l := pin(t, surfaceOf(toolA, toolB), level)
		all := tools(toolB, toolA)
		follow(t, l, step{all, "", ""}, step{all, "", ""})
		follow(t, l, step{tools(toolA, changed, toolB), "", "description-modified tools/a"})
		follow(t, l, step{tools(toolA, toolB, `{"name":"c"}`), "", "tool-added tools/c"})
		follow(t, l, step{tools(toolA), "", "tool-removed tools/b"})
		follow(t, l, step{`{"tools":[]}`, "", "tool-removed tools/a, tool-removed tools/b"})
		// Hidden for a while and back as something else: it is changed, not new.
		follow(t, l, step{all, "", ""}, step{tools(toolB), "", "tool-removed tools/a"}, step{tools(changed, toolB), "", "description-modified tools/a"},
			step{tools(changed, toolB), "", "description-modified tools/a"}, step{all, "", ""})
	}
}

// A tool that has changed is known to have, however many others stand before it.
func TestGateReadsAPageToItsEnd(t *testing.T) {
	t.Parallel()
	entries := make([]string, 0, maxDrifts+2)
	for i := range maxDrifts + 1 {
		entries = append(entries, fmt.Sprintf(`{"name":"new-%d"}`, i))
	}
	g := NewGate(pin(t, surfaceOf(toolA, toolB), Level4))
	got, err := g.Page([]byte(tools(append(entries, strings.Replace(toolA, "A", "B", 1))...)), "")
	if err != nil || len(got) != maxDrifts {
		t.Fatalf("%d drifts, %v", len(got), err)
	}
	if d, drifted := g.Drifted("a"); !drifted || d.Class != "description-modified" {
		t.Errorf("%+v %v", d, drifted)
	}
}

// A client may take what is no string for the end of the list, a gate that goes on
// for the middle: what is missing would never be missed.
func TestGateTakesNoOtherCursor(t *testing.T) {
	t.Parallel()
	l := pin(t, surfaceOf(toolA, toolB), Level4)
	for _, next := range []string{"false", "0", "5", "{}", `["x"]`} {
		follow(t, l, step{pageTo(next, toolA), "", "unapproved-change tools, tool-removed tools/a, tool-removed tools/b"})
	}
	follow(t, l, step{pageTo("null", toolA, toolB), "", ""}, step{pageTo(`""`, toolA, toolB), "", ""})
}

// Absences are judged on the last page of a walk that began at page one.
func TestGateWalks(t *testing.T) {
	t.Parallel()
	l := pin(t, surfaceOf(toolA, toolB), Level4)
	first, last, short := pageTo(`"2"`, toolA), tools(toolB), tools()
	follow(t, l, step{first, "", ""}, step{last, `"2"`, ""})
	follow(t, l, step{first, "null", ""}, step{last, `"\u0032"`, ""})
	follow(t, l, step{first, "", ""}, step{short, `"2"`, "tool-removed tools/b"})
	// Two walks at once, each to its own end.
	follow(t, l, step{first, "", ""}, step{pageTo(`"x"`, toolA), "", ""}, step{last, `"x"`, ""}, step{short, `"2"`, "tool-removed tools/b"})
	// A walk that did not begin at page one says nothing of what it did not see.
	follow(t, l, step{last, `"2"`, ""}, step{last, "7", ""})
	// A page that was judged before is still a page of its walk.
	follow(t, l, step{first, "", ""}, step{last, `"2"`, ""}, step{last, "", "tool-removed tools/a"}, step{first, "", ""}, step{last, `"2"`, ""})
	// An empty cursor is none.
	follow(t, l, step{pageTo(`""`, toolA), "", "tool-removed tools/b"}, step{pageTo("null", toolA), `""`, "tool-removed tools/b"})
	// A client that only ever begins is forgotten.
	steps := []step{}
	for i := range 2 * maxWalks {
		steps = append(steps, step{pageTo(fmt.Sprintf(`"%d"`, i), toolA), "", ""})
	}
	follow(t, l, append(steps, step{short, `"0"`, ""}, step{short, fmt.Sprintf(`"%d"`, 2*maxWalks-1), "tool-removed tools/b"})...)
}

// What two readers may take differently is not let pass.
func TestGateReadsStrictly(t *testing.T) {
	t.Parallel()
	for _, level := range []int{Level3, Level4} {
		l := pin(t, surfaceOf(toolA, toolB), level)
		for _, result := range []string{
			``, `null`, `[]`, `{}`, `{"tools":{}}`, `{"tools":[1]}`, `{"tools":[{}]}`, `{"tools":[{"name":1}]}`,
			`{"tools":[],"Tools":[]}`, `{"tools":[],"tool\u0073":[]}`, `{"tools":[` + toolA + `,` + toolB,
			tools(toolA, strings.Replace(toolB, `{`, `{"name":"b",`, 1)), // a name twice
			tools(toolA, `{"name":"b","inputSchema":{},"Description":"x"}`),
			tools(toolA, "{\"name\":\"b\",\"inputSchema\":{\"\xff\":1}}"),
			tools(toolA, `{"name":"b","inputSchema":{"x":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}}`),
		} {
			if got, err := NewGate(l).Page([]byte(result), ""); err != nil || len(got) == 0 {
				t.Errorf("schema %d: %s passes: %v", level, result, err)
			}
		}
	}
}

// Of a page of a million strangers no more is told or kept than of two hundred.
func TestGateIsBounded(t *testing.T) {
	t.Parallel()
	g := NewGate(pin(t, surfaceOf(toolA, toolB), Level4))
	got, err := g.Page([]byte(tools(strings.Repeat("1,", 100_000)+"1")), "")
	if err != nil || len(got) != maxDrifts {
		t.Errorf("%d drifts, %v", len(got), err)
	}
	for i := range 3 * maxJudged {
		if _, err := g.Page(fmt.Appendf(nil, `{"tools":[%s,%s],"x":%d}`, toolA, toolB, i), ""); err != nil {
			t.Fatal(err)
		}
	}
	if len(g.judged) > maxJudged || len(g.order) != len(g.judged) {
		t.Errorf("%d pages are remembered", len(g.judged))
	}
}

func TestGateKnowsTheLock(t *testing.T) {
	t.Parallel()
	l := wholeLock(t, Level4)
	g := NewGate(l)
	if !g.HasTool("a") || g.HasTool("A") || g.HasTool("") {
		t.Error("HasTool")
	}
	if c, ok := g.Capabilities("write_file"); !ok || strings.Join(c, " ") != "fs-write" {
		t.Error(c)
	}
	if _, ok := g.Capabilities("b"); ok {
		t.Error("capabilities of a stranger")
	}
	if d := g.Declaration("a"); d != (inspect.Declaration{Charset: inspect.Extended, MayReturnURLs: true, SecretEchoExempt: true}) {
		t.Errorf("%+v", d)
	}
	if d := g.Declaration("b"); d != (inspect.Declaration{}) {
		t.Errorf("%+v", d)
	}
	if "sha256:"+g.SurfaceDigest().String() != l.OverallDigest {
		t.Error(g.SurfaceDigest())
	}
}

// A tool that was last listed as something else is known as that until it is
// listed as it was.
func TestGateDrifted(t *testing.T) {
	t.Parallel()
	g := NewGate(pin(t, surfaceOf(toolA, toolB), Level4))
	changed := strings.Replace(toolA, "A", "B", 1)
	for _, s := range []struct {
		result string
		a      bool
	}{{tools(toolA, toolB), false}, {tools(changed, toolB), true}, {tools(toolB), true}, {tools(changed, toolB), true}, {tools(toolA, toolB), false}} {
		if _, err := g.Page([]byte(s.result), ""); err != nil {
			t.Fatal(err)
		}
		if d, ok := g.Drifted("a"); ok != s.a || ok && d.Class != "description-modified" {
			t.Errorf("%s: %v %v", s.result, d, ok)
		}
		if _, ok := g.Drifted("b"); ok {
			t.Error("b")
		}
	}
}

// A gate serves both directions of a session at once.
func TestGateFromManyGoroutines(t *testing.T) {
	t.Parallel()
	g := NewGate(pin(t, surfaceOf(toolA, toolB), Level4))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 100 {
				if d, err := g.Page(fmt.Appendf(nil, `{"n":%d,"tools":[%s,%s]}`, (i+k)%5, toolA, toolB), ""); len(d) > 0 || err != nil {
					t.Errorf("%v %v", d, err)
				}
				if _, ok := g.Drifted("a"); ok || !g.HasTool("b") {
					t.Error("a has drifted")
				}
			}
		})
	}
	all.Wait()
}

// The gate and check agree on the same tools.
func TestGateAgreesWithCompare(t *testing.T) {
	t.Parallel()
	peerLines(t, "drift.jsonl", func(t *testing.T, line struct {
		ID       string
		From, To peerSurface
	}) {
		for _, level := range []int{Level3, Level4} {
			from, to := line.From.surface(), line.To.surface()
			from.Prompts, to.Prompts = nil, nil
			l := pin(t, from, level)
			var entries []string
			for _, v := range to.Tools {
				entries = append(entries, string(v))
			}
			got, err := NewGate(l).Page([]byte(tools(entries...)), "")
			if want := Compare(l, pin(t, to, level)); err != nil || (len(got) > 0) != (len(want) > 0) {
				t.Errorf("%s, schema %d: %v, not %v", line.ID, level, got, want)
			}
		}
	})
}

// thousand is a page of tools of about a kilobyte each.
func thousand() []jsontext.Value {
	out := make([]jsontext.Value, 1000)
	for i := range out {
		out[i] = fmt.Appendf(nil, `{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"path":{"type":"string","description":%q},"limit":{"type":"integer","minimum":1,"maximum":100}},"required":["path"]},"annotations":{"readOnlyHint":true}}`,
			i, strings.Repeat("Does something useful. ", 20), strings.Repeat("Where. ", 40))
	}
	return out
}

func thousandPage(b *testing.B) (*Gate, []byte) {
	s := surfaceOf()
	s.Tools = thousand()
	l := pin(b, s, Level4)
	var entries []string
	for _, v := range s.Tools {
		entries = append(entries, string(v))
	}
	return NewGate(l), []byte(tools(entries...))
}

func BenchmarkPin1000(b *testing.B) {
	s := surfaceOf()
	s.Tools = thousand()
	for b.Loop() {
		pin(b, s, Level4)
	}
}

// From the start of the server to a lock: what it takes beside the server's own
// time to start and answer.
func BenchmarkCaptureAndPin1000(b *testing.B) {
	f := &fake{Thousand: true}
	for b.Loop() {
		s, err := captured(b, f, CaptureOptions{})
		if err != nil || len(s.Tools) != 1000 {
			b.Fatal(err)
		}
		pin(b, s, Level4)
	}
}

func BenchmarkGateNewPage(b *testing.B) {
	_, result := thousandPage(b)
	g, _ := thousandPage(b)
	b.SetBytes(int64(len(result)))
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		again := fmt.Appendf(nil, `{"n":%d,%s`, i, result[1:])
		b.StartTimer()
		if d, err := g.Page(again, ""); len(d) > 0 || err != nil {
			b.Fatal(d, err)
		}
	}
}

func BenchmarkGateKnownPage(b *testing.B) {
	g, result := thousandPage(b)
	b.SetBytes(int64(len(result)))
	for b.Loop() {
		if d, err := g.Page(result, ""); len(d) > 0 || err != nil {
			b.Fatal(d, err)
		}
	}
}

// The worst page: every tool has changed.
func BenchmarkGateChangedPage(b *testing.B) {
	g, result := thousandPage(b)
	changed := strings.ReplaceAll(string(result), "useful", "harmful")
	for i := 0; b.Loop(); i++ {
		if d, err := g.Page(fmt.Appendf(nil, `{"n":%d,%s`, i, changed[1:]), ""); len(d) == 0 || err != nil {
			b.Fatal(d, err)
		}
	}
}
