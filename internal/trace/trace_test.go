package trace

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 5_000_000, time.UTC)

func record(t testing.TB, bodies ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, b := range bodies {
		if err := w.Frame(Server, noon, []byte(b)); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func readAll(text string) (entries []Entry, err error) {
	r := NewReader(strings.NewReader(text))
	for {
		e, err := r.Next()
		if err == io.EOF {
			return entries, nil
		}
		if err != nil {
			return entries, err
		}
		entries = append(entries, e)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`: `{"direction":"s2c","ts":"2026-03-01T12:00:00.005Z","frame":{"jsonrpc":"2.0","id":1,"result":{}}}`,
		`{"a":1,"a":1e400,"\u0061":"\/"}`:      `{"direction":"s2c","ts":"2026-03-01T12:00:00.005Z","frame":{"a":1,"a":1e400,"\u0061":"\/"}}`,
		"{} ":                                  `{"direction":"s2c","ts":"2026-03-01T12:00:00.005Z","raw":"e30g"}`,
		"{\"a\":\r1}":                          `{"direction":"s2c","ts":"2026-03-01T12:00:00.005Z","raw":"eyJhIjoNMX0="}`,
		"\xff":                                 `{"direction":"s2c","ts":"2026-03-01T12:00:00.005Z","raw":"/w=="}`,
		"":                                     `{"direction":"s2c","ts":"2026-03-01T12:00:00.005Z","raw":""}`,
		"Listening on 3000":                    `{"direction":"s2c","ts":"2026-03-01T12:00:00.005Z","raw":"TGlzdGVuaW5nIG9uIDMwMDA="}`,
	} {
		if got := record(t, body); got != want+"\n" {
			t.Errorf("%q is recorded as %s", body, got)
		}
	}
}

// Guard and inspect agree on the same bytes only if the bytes come back.
func TestEveryFrameComesBack(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(
		rapid.SampledFrom([]string{
			`{"jsonrpc":"2.0","id":1.0,"result":{"content":[]}}`, `{"a":1,"a":2}`, `[1,2,{}]`, `"\ud800"`, "\"\xff\"", `1E-999999999`, ` {}`, "{}\r", "{}\n{}",
			`{"direction":"c2s","frame":{}}`, `{"jsonrpc":"2.0","direction":"c2s","frame":{}}`, "", "{", "\x00", "\u2028", `{"x":"` + "\u202e" + `"}`,
			strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), strings.Repeat("[", 20_000), `{"__proto__":{}}`,
		}),
		rapid.String(),
		rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		type frame struct {
			d    Direction
			body string
		}
		frames := rapid.SliceOf(rapid.Custom(func(t *rapid.T) frame {
			return frame{rapid.SampledFrom([]Direction{Client, Server}).Draw(t, "direction"), text.Draw(t, "body")}
		})).Draw(t, "frames")
		var out bytes.Buffer
		w := NewWriter(&out)
		for _, f := range frames {
			if err := w.Frame(f.d, noon, []byte(f.body)); err != nil {
				t.Fatal(err)
			}
		}
		entries, err := readAll(out.String())
		if err != nil || len(entries) != len(frames) {
			t.Fatalf("%d of %d frames: %v", len(entries), len(frames), err)
		}
		for i, e := range entries {
			if e.Direction != frames[i].d || string(e.Frame) != frames[i].body || e.Line != i+1 || !e.Time.Equal(noon) || e.Omitted != 0 {
				t.Fatalf("%+v was %+v", e, frames[i])
			}
		}
	})
}

func TestOmittedFrame(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := NewWriter(&out)
	if err := w.Omitted(Server, noon, 9_000_000); err != nil {
		t.Fatal(err)
	}
	// A line that no reader would take is not written either.
	if err := w.Frame(Client, noon, bytes.Repeat([]byte{'x'}, MaxLine*3/4)); err != nil {
		t.Fatal(err)
	}
	entries, err := readAll(out.String())
	if err != nil || len(entries) != 2 || entries[0].Omitted != 9_000_000 || entries[0].Frame != nil || entries[1].Omitted != MaxLine*3/4 {
		t.Errorf("%+v, %v, %s", entries, err, out.String())
	}
}

func TestBareAndForeignLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Entry{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                              {Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
		"  {\"id\":1}\t\r":                                                      {Frame: []byte(`{"id":1}`)},
		`{"frame":{"id":1},"direction":"c2s"}`:                                  {Direction: Client, Frame: []byte(`{"id":1}`)},
		`{"note":"x","direction":"s2c","ts":1700000000,"frame": [ 1 ] }`:        {Direction: Server, Frame: []byte(`[ 1 ]`)},
		`{"d\u0069rection":"s2c","ts":"yesterday","frame":null}`:                {Direction: Server, Frame: []byte(`null`)},
		`{"jsonrpc":"2.0","direction":"c2s","frame":{},"result":{}}`:            {Frame: []byte(`{"jsonrpc":"2.0","direction":"c2s","frame":{},"result":{}}`)},
		`{"direction":"north"}`:                                                 {Frame: []byte(`{"direction":"north"}`)},
		`{"id":1,"id":2,"result":"` + "\xff" + `"}`:                             {Frame: []byte(`{"id":1,"id":2,"result":"` + "\xff" + `"}`)},
		`{"direction":"s2c","ts":"2026-03-01T13:00:00.005+01:00","raw":"/w=="}`: {Direction: Server, Frame: []byte("\xff"), Time: noon},
		`Content-Length: 5`:                                                     {},
	} {
		got, err := readAll(line + "\n")
		if want.Frame == nil {
			if err == nil {
				t.Errorf("%s is taken for a frame", line)
			}
			continue
		}
		if err != nil || len(got) != 1 || got[0].Direction != want.Direction || !bytes.Equal(got[0].Frame, want.Frame) || !got[0].Time.Equal(want.Time) {
			t.Errorf("%s is %+v, %v", line, got, err)
		}
	}
}

func TestFaultsNameTheirLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{}\n\n  \nhello\n":             "line 4: no JSON value",
		"{}\n{} {}\n":                   "line 2: no JSON value",
		"{}\n{\"a\":":                   "line 2: cut off: no JSON value",
		`{"direction":"up","frame":{}}`: `line 1: cut off: direction is neither "c2s" nor "s2c"`,
		`{"direction":"c2s","frame":{},"raw":""}` + "\n":   "line 1: more than one frame or direction",
		`{"direction":"c2s","frame":{},"frame":{}}` + "\n": "line 1: more than one frame or direction",
		`{"direction":"c2s","raw":"%"}` + "\n":             "line 1: raw is not base64",
		`{"direction":"c2s","raw":7}` + "\n":               "line 1: raw is not base64",
		`{"direction":"c2s","omitted_bytes":-1}` + "\n":    "line 1: omitted_bytes is no number of bytes",
		"{}\n\"" + strings.Repeat("x", MaxLine) + "\"\n":   "line 2: longer than 64 MiB",
	} {
		_, err := readAll(text)
		if _, ok := errors.AsType[*LineError](err); !ok || err.Error() != want {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

func TestErrorsOfTheSourceAreTold(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken disk")
	r := NewReader(io.MultiReader(strings.NewReader("{}\n"), errorReader{broken}))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// A recording that cannot go on says so once; the session has no part in it.
func TestWriterTellsItsEndOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := NewWriter(&out)
	w.max = 200
	var told []error
	for range 10 {
		if err := w.Frame(Client, noon, []byte(`{"id":1}`)); err != nil {
			told = append(told, err)
		}
	}
	if len(told) != 1 || !errors.Is(told[0], ErrFull) {
		t.Errorf("told %v", told)
	}
	if entries, err := readAll(out.String()); err != nil || len(entries) != 2 || out.Len() > 200 {
		t.Errorf("%d entries in %d bytes: %v", len(entries), out.Len(), err)
	}
	broken := NewWriter(errorWriter{})
	if broken.Frame(Client, noon, []byte(`{}`)) == nil || broken.Frame(Client, noon, []byte(`{}`)) != nil {
		t.Error("a failed write is not told once")
	}
}

type errorWriter struct{}

func (errorWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

// FuzzReader: the reader takes or refuses anything, with the number of a line
// there is, and what it takes is recorded and read again as the same bytes.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"", "{}\n", `{"direction":"c2s","ts":"2026-03-01T12:00:00Z","frame":{"id":1}}`, `{"direction":"s2c","raw":"/w=="}`, `{"direction":"s2c","omitted_bytes":9}`,
		"\n\n[1]\r\nx", `{"jsonrpc":"2.0","direction":"c2s","frame":1}`, "Content-Length: 2\r\n\r\n{}", "{\"a\":\"\xff\",\"a\":1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := readAll(string(text))
		if fault, ok := errors.AsType[*LineError](err); err != nil && (!ok || fault.Line < 1 || fault.Line > 1+bytes.Count(text, []byte{'\n'})) {
			t.Fatalf("%v", err)
		}
		for _, e := range entries {
			if e.Frame == nil {
				continue
			}
			again, err := readAll(record(t, string(e.Frame)))
			if err != nil || len(again) != 1 || !bytes.Equal(again[0].Frame, e.Frame) {
				t.Fatalf("%q became %+v, %v", e.Frame, again, err)
			}
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("some text ", 400) + `"}]}}`)
	w := NewWriter(io.Discard)
	w.max = 1 << 62
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		w.Frame(Server, noon, body)
	}
}

func BenchmarkReader(b *testing.B) {
	body := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("some text ", 400) + `"}]}}`
	text := record(b, body)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	r := NewReader(&endless{text: text})
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// endless is text over and over.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}
