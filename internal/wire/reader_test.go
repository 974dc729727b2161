package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// readAll reads every frame, and the whole stream as the frames hold it.
func readAll(r *Reader) (frames []Frame, stream []byte, err error) {
	for {
		f, err := r.Next()
		if err != nil {
			return frames, stream, err
		}
		frames = append(frames, f)
		stream = append(stream, f.Raw...)
		err = r.Rest(func(chunk []byte) error {
			stream = append(stream, chunk...)
			return nil
		})
		if err != nil {
			return frames, stream, err
		}
	}
}

func bodies(frames []Frame) []string {
	var out []string
	for _, f := range frames {
		out = append(out, string(f.Body))
	}
	return out
}

// deliveries are the ways a source may hand over the same bytes.
var deliveries = map[string]func(io.Reader) io.Reader{
	"whole":          func(r io.Reader) io.Reader { return r },
	"byte by byte":   iotest.OneByteReader,
	"halves":         iotest.HalfReader,
	"EOF with bytes": iotest.DataErrReader,
}

func TestReaderFrames(t *testing.T) {
	tests := []struct {
		name, stream string
		framing      Framing
		want         []string
	}{
		{"nothing", "", FramingUnknown, nil},
		{"one line", "{}\n", Newline, []string{"{}"}},
		{"the CR of CRLF stays in the body", "{}\r\n[]\r\n", Newline, []string{"{}\r", "[]\r"}},
		{"an unterminated last line is a frame", "{}\n[]", Newline, []string{"{}", "[]"}},
		{"blank lines are frames", "\n \t\r\n{}\n\n", Newline, []string{"", " \t\r", "{}", ""}},
		{"blank lines do not fix the framing", "\n\r\n  ", FramingUnknown, []string{"", "\r", "  "}},
		{"a banner fixes newline framing", "Server 1.0\nContent-Length: 2\n", Newline, []string{"Server 1.0", "Content-Length: 2"}},
		{"only a header with its colon is a header", "Content-Length mismatch\n", Newline, []string{"Content-Length mismatch"}},
		{"an indented header is no header", " Content-Length: 2\n", Newline, []string{" Content-Length: 2"}},

		{"Content-Length", "Content-Length: 2\r\n\r\n{}Content-Length: 4\r\n\r\n[\n1]", ContentLength, []string{"{}", "[\n1]"}},
		{"LF ends header lines too", "Content-Length: 2\n\n{}", ContentLength, []string{"{}"}},
		{"header names have no case", "cOnTeNt-lEnGtH:2\r\n\r\n{}", ContentLength, []string{"{}"}},
		{"other headers", "Content-Length: 2\r\nContent-Type: x; charset=utf-8\r\n\r\n{}Content-Type: y\r\nContent-Length: 2\r\n\r\n[]", ContentLength, []string{"{}", "[]"}},
		{"the same length twice", "Content-Length: 2\r\nContent-Length: 02\r\n\r\n{}", ContentLength, []string{"{}"}},
		{"an empty body", "Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1", ContentLength, []string{"", "1"}},
		{"blank lines around messages", "\nContent-Length: 2\r\n\r\n{}\r\n\n ", ContentLength, []string{"", "{}", "\r", "", " "}},
	}
	for _, tt := range tests {
		for how, deliver := range deliveries {
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				r := NewReader(deliver(strings.NewReader(tt.stream)), 100)
				frames, stream, err := readAll(r)
				if err != io.EOF {
					t.Fatalf("error %v, want io.EOF", err)
				}
				if got := bodies(frames); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
					t.Errorf("bodies %q, want %q", got, tt.want)
				}
				if string(stream) != tt.stream {
					t.Errorf("stream %q, want %q", stream, tt.stream)
				}
				if r.Framing() != tt.framing {
					t.Errorf("framing %v, want %v", r.Framing(), tt.framing)
				}
			})
		}
	}
}

func TestReaderRefusesBadContentLength(t *testing.T) {
	tests := []struct{ name, stream, reason string }{
		{"conflicting", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", "conflicting lengths 2 and 3"},
		{"negative", "Content-Length: -2\r\n\r\n{}", `length "-2" is not a decimal number`},
		{"signed", "Content-Length: +2\r\n\r\n{}", `length "+2" is not a decimal number`},
		{"hexadecimal", "Content-Length: 0x2\r\n\r\n{}", `length "0x2" is not a decimal number`},
		{"a list", "Content-Length: 2, 2\r\n\r\n{}", `length "2, 2" is not a decimal number`},
		{"empty", "Content-Length: \r\n\r\n{}", "empty length"},
		{"absurd", "Content-Length: 1099511627777\r\n\r\n{}", `length "1099511627777" is over 1099511627776`},
		{"over int64", "Content-Length: 99999999999999999999\r\n\r\n{}", "is over 1099511627776"},
		{"short body", "Content-Length: 20\r\n\r\n{}", "stream ended 18 bytes before the end of a body"},
		{"short over-cap body", "Content-Length: 2000\r\n\r\n" + strings.Repeat(" ", 1990), "stream ended 10 bytes before the end of a body"},
		{"header cut off", "Content-Length: 20\r\n", "stream ended inside a header block"},
		{"no length in a later block", "Content-Length: 2\r\n\r\n{}X: y\r\n\r\n{}", "header block without a Content-Length"},
		{"no header in a later block", "Content-Length: 2\r\n\r\n{}{}\n", "malformed header line"},
		{"CR inside a header", "Content-Length: 2\r\nX: a\rContent-Length: 3\r\n\r\n{}", "control character in a header line"},
		{"space before the colon", "Content-Length: 2\r\nContent-Length : 3\r\n\r\n{}", "malformed header line"},
		{"endless header", "Content-Length: 2\r\nX: " + strings.Repeat("x", 9000), "header block of more than 8192 bytes"},
		{"many headers", "Content-Length: 2\r\n" + strings.Repeat("X: y\r\n", 2000), "header block of more than 8192 bytes"},
	}
	for _, tt := range tests {
		for how, deliver := range deliveries {
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				r := NewReader(deliver(strings.NewReader(tt.stream)), 1000)
				_, stream, err := readAll(r)
				var fe *FramingError
				if !errors.As(err, &fe) || !strings.Contains(err.Error(), tt.reason) {
					t.Fatalf("error %v, want a FramingError: %s", err, tt.reason)
				}
				if !strings.HasPrefix(tt.stream, string(stream)) {
					t.Errorf("stream %q is no prefix of the input", stream)
				}
				if _, again := r.Next(); again != err {
					t.Errorf("the next call returns %v, want the same error", again)
				}
			})
		}
	}
}

func TestReaderNamesTheCauseOfAShortBody(t *testing.T) {
	const stream = "Content-Length: 20\r\n\r\n{}"
	if _, err := NewReader(strings.NewReader(stream), 100).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("at the end: %v", err)
	}
	broken := errors.New("broken")
	src := io.MultiReader(strings.NewReader(stream), iotest.ErrReader(broken))
	if _, err := NewReader(src, 100).Next(); !errors.Is(err, broken) {
		t.Errorf("at a read error: %v", err)
	}
}

func TestReaderSizes(t *testing.T) {
	const limit = 8 << 20
	for _, size := range []int{65535, 65536, 65537, 1 << 20, 5 << 20, limit} {
		for _, framing := range []Framing{Newline, ContentLength} {
			t.Run(fmt.Sprint(framing, " ", size), func(t *testing.T) {
				big := bytes.Repeat([]byte{'x'}, size)
				stream := Append(Append(nil, framing, big), framing, []byte("{}"))
				frames, got, err := readAll(NewReader(iotest.HalfReader(bytes.NewReader(stream)), limit))
				if err != io.EOF || len(frames) != 2 {
					t.Fatalf("%d frames, error %v", len(frames), err)
				}
				if frames[0].OverCap || !bytes.Equal(frames[0].Body, big) || string(frames[1].Body) != "{}" {
					t.Error("bodies differ from what was sent")
				}
				if !bytes.Equal(got, stream) {
					t.Error("stream differs from what was sent")
				}
			})
		}
	}
}

func TestReaderOverCap(t *testing.T) {
	for _, framing := range []Framing{Newline, ContentLength} {
		for _, limit := range []int{0, 1, 100, 65535, 65536, 65537, 200_000} {
			for _, beyond := range []int{1, 2, 70_000} {
				for _, ended := range []bool{true, false} {
					if !ended && framing == ContentLength {
						continue
					}
					t.Run(fmt.Sprint(framing, " ", limit, "+", beyond, " ", ended), func(t *testing.T) {
						body := bytes.Repeat([]byte{'x'}, limit+beyond)
						stream := Append(nil, framing, body)
						if ended {
							stream = Append(stream, framing, nil)
						} else {
							stream = bytes.TrimSuffix(stream, []byte{'\n'})
						}
						r := NewReader(bytes.NewReader(stream), limit)
						f, err := r.Next()
						if err != nil || !f.OverCap || len(f.Body) != limit {
							t.Fatalf("first frame: over cap %v, %d bytes, error %v", f.OverCap, len(f.Body), err)
						}
						if _, err := r.Next(); err != errRestPending {
							t.Fatalf("Next before Rest: %v", err)
						}
						got := bytes.Clone(f.Raw)
						err = r.Rest(func(chunk []byte) error {
							got = append(got, chunk...)
							return nil
						})
						if err != nil || r.Terminated() != ended {
							t.Errorf("rest: error %v, terminated %v, want %v", err, r.Terminated(), ended)
						}
						if want := stream[:len(got)]; !bytes.Equal(got, want) {
							t.Error("frame and rest differ from the stream")
						}
						f, err = r.Next()
						if ended && (err != nil || f.OverCap || len(f.Body) != 0) || !ended && err != io.EOF {
							t.Errorf("behind it: %+v, %v", f, err)
						}
					})
				}
			}
		}
	}
}

func TestReaderAtCapIsNotOverIt(t *testing.T) {
	for _, stream := range []string{"12345\n", "12345", "Content-Length: 5\r\n\r\n12345"} {
		f, err := NewReader(strings.NewReader(stream), 5).Next()
		if err != nil || f.OverCap || string(f.Body) != "12345" {
			t.Errorf("%q: %+v, %v", stream, f, err)
		}
	}
}

func TestReaderRestGoesOnAfterAnErrorOfYield(t *testing.T) {
	line := strings.Repeat("x", 200_000)
	r := NewReader(strings.NewReader(line+"\n{}\n"), 10)
	f, _ := r.Next()
	got := string(f.Raw)
	full := errors.New("disk full")
	for calls := 0; ; calls++ {
		err := r.Rest(func(chunk []byte) error {
			got += string(chunk)
			return full
		})
		if err == nil {
			break
		}
		if err != full || calls > 10 {
			t.Fatal(err)
		}
	}
	if got != line+"\n" {
		t.Errorf("%d bytes, want %d", len(got), len(line)+1)
	}
	if f, err := r.Next(); err != nil || string(f.Body) != "{}" {
		t.Errorf("behind it: %q, %v", f.Body, err)
	}
}

// endless never sends an LF.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestReaderEndlessLineTakesConstantMemory(t *testing.T) {
	const limit = 1 << 20
	r := NewReader(&endless{left: 256 << 20}, limit)
	var seen int
	total := allocated(func() {
		f, err := r.Next()
		if err != nil || !f.OverCap {
			t.Fatal(err)
		}
		if err := r.Rest(func(chunk []byte) error { seen += len(chunk); return nil }); err != nil {
			t.Fatal(err)
		}
	})
	if seen != 256<<20-limit {
		t.Errorf("%d bytes of rest", seen)
	}
	if total > 3*limit {
		t.Errorf("%d bytes were allocated in all for a cap of %d", total, limit)
	}
}

func TestReaderBelievesNoClaimedLength(t *testing.T) {
	total := allocated(func() {
		r := NewReader(strings.NewReader("Content-Length: 1000000000\r\n\r\n{}"), 2_000_000_000)
		if _, err := r.Next(); err == nil {
			t.Fatal("no error for a short body")
		}
	})
	if total > 4*bufferSize {
		t.Errorf("%d bytes were allocated for a claimed gigabyte", total)
	}
}

func TestReaderReturnsAFrameAsSoonAsItIsWhole(t *testing.T) {
	for _, framing := range []Framing{Newline, ContentLength} {
		pr, pw := io.Pipe()
		r := NewReader(pr, 100)
		for range 3 {
			go pw.Write(Append(nil, framing, []byte("{}")))
			if f, err := r.Next(); err != nil || string(f.Body) != "{}" {
				t.Fatalf("%v: %q, %v", framing, f.Body, err)
			}
		}
		pw.Close()
	}
}

func TestReaderFramesOwnTheirMemory(t *testing.T) {
	r := NewReader(strings.NewReader("first\nsecond\n"), 100)
	a, _ := r.Next()
	b, _ := r.Next()
	_ = append(a.Body, "xxxx"...)
	if string(a.Raw) != "first\n" || string(b.Raw) != "second\n" {
		t.Errorf("%q, %q", a.Raw, b.Raw)
	}
}

func TestReaderPassesTheErrorOfTheSource(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("{}\n[]"), iotest.ErrReader(broken)), 100)
	frames, _, err := readAll(r)
	if err != broken || len(frames) != 2 {
		t.Errorf("%d frames, error %v", len(frames), err)
	}
	if _, err := NewReader(idle{}, 100).Next(); err != io.ErrNoProgress {
		t.Errorf("a source that returns nothing: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestFrameBlank(t *testing.T) {
	for body, want := range map[string]bool{"": true, " \t\r\v\f": true, "x": false, "\u00a0": false, "\x00": false} {
		if got := (Frame{Body: []byte(body)}).Blank(); got != want {
			t.Errorf("%q: %v", body, got)
		}
	}
}

func TestAppendIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		framing := rapid.SampledFrom([]Framing{Newline, ContentLength}).Draw(t, "framing")
		gen := rapid.StringMatching(`[ -~]{0,40}`)
		if framing == Newline { // a first line that looks like a header is one
			gen = rapid.StringMatching(`\{[ -~]{0,40}`)
		}
		sent := rapid.SliceOfN(gen, 1, 10).Draw(t, "bodies")
		var stream []byte
		for _, body := range sent {
			stream = Append(stream, framing, []byte(body))
		}
		frames, _, err := readAll(NewReader(bytes.NewReader(stream), 1000))
		if err != io.EOF || fmt.Sprintf("%q", bodies(frames)) != fmt.Sprintf("%q", sent) {
			t.Fatalf("%q, %v", bodies(frames), err)
		}
	})
}

// No byte is lost, added or moved, whatever the stream, the cap and the way
// it arrives.
func FuzzReader(f *testing.F) {
	f.Add([]byte("{}\n\n[]\r\n"), uint16(10), byte(0))
	f.Add([]byte("Content-Length: 2\r\n\r\n{}Content-Length: 30\r\n\r\n"), uint16(10), byte(1))
	f.Add([]byte("\nContent-Length: 12\n\n{}xxxxxxxxxx\n"), uint16(5), byte(3))
	f.Add([]byte("Content-Length:0\n\r\n\r"), uint16(0), byte(9))
	f.Fuzz(func(t *testing.T, stream []byte, limit uint16, step byte) {
		var src io.Reader = bytes.NewReader(stream)
		if step > 0 {
			src = &stepper{src, int(step)}
		}
		r := NewReader(src, int(limit))
		frames, got, err := readAll(r)
		var fe *FramingError
		switch {
		case err == io.EOF && !bytes.Equal(got, stream):
			t.Fatalf("read %q", got)
		case errors.As(err, &fe) && (r.Framing() != ContentLength || !bytes.HasPrefix(stream, got)):
			t.Fatalf("framing error %v behind %q", err, got)
		case err != io.EOF && fe == nil:
			t.Fatalf("error %v", err)
		}
		for _, f := range frames {
			if r.Framing() == ContentLength && f.Blank() && len(f.Body) <= maxHeaderBlock {
				continue // a blank line between messages, which no cap is for
			}
			if len(f.Body) > int(limit) || f.OverCap && len(f.Body) != int(limit) {
				t.Fatalf("a body of %d bytes under a cap of %d", len(f.Body), limit)
			}
			if r.Framing() == Newline && bytes.IndexByte(f.Body, '\n') >= 0 {
				t.Fatalf("LF in the body %q", f.Body)
			}
		}
	})
}

type stepper struct {
	r io.Reader
	n int
}

func (s *stepper) Read(p []byte) (int, error) { return s.r.Read(p[:min(s.n, len(p))]) }

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{200, 64 << 10, 1 << 20} {
		for _, framing := range []Framing{Newline, ContentLength} {
			b.Run(fmt.Sprintf("%v/%d", framing, size), func(b *testing.B) {
				stream := Append(nil, framing, bytes.Repeat([]byte{'x'}, size))
				r := NewReader(&loop{data: stream}, 2<<20)
				b.SetBytes(int64(len(stream)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := r.Next(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// loop repeats its data for ever.
type loop struct {
	data []byte
	at   int
}

func (l *loop) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], l.data[l.at:])
		n += c
		l.at = (l.at + c) % len(l.data)
	}
	return n, nil
}
