package trace

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxSize bounds a trace in bytes.
const MaxSize = 4 << 30

// ErrFull is returned, wrapped, for the first frame that would make the trace
// longer than [MaxSize]; the frames behind it are not recorded.
var ErrFull = errors.New("the recording has reached its bound")

// Writer records frames, a line each in one write. Its methods may be called
// from any goroutine; lines stand in the order of the calls.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	line []byte
	size int64
	max  int64
	dead bool
}

// NewWriter records to w, which is a file of mode 0600: it holds every argument
// and every result in clear.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, max: MaxSize} }

// Frame records a frame's body. After an error, which is returned once, nothing
// is recorded any more.
func (w *Writer) Frame(d Direction, at time.Time, body []byte) error {
	if len(body) > MaxLine {
		return w.Omitted(d, at, int64(len(body)))
	}
	verbatim := comesBack(body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(d, at)
	if verbatim {
		w.line = append(w.line, `"frame":`...)
		w.line = append(w.line, body...)
	} else {
		w.line = append(w.line, `"raw":"`...)
		w.line = append(base64.StdEncoding.AppendEncode(w.line, body), '"')
	}
	if len(w.line)+1 > MaxLine {
		w.begin(d, at)
		w.omitted(int64(len(body)))
	}
	return w.end()
}

// Omitted records that a frame of n bytes passed that was not kept, such as one
// over the cap.
func (w *Writer) Omitted(d Direction, at time.Time, n int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(d, at)
	w.omitted(n)
	return w.end()
}

func (w *Writer) begin(d Direction, at time.Time) {
	w.line = append(append(w.line[:0], `{"direction":"`...), d...)
	w.line = append(w.line, `","ts":"`...)
	w.line = append(at.UTC().AppendFormat(w.line, time.RFC3339Nano), `",`...)
}

func (w *Writer) omitted(n int64) {
	w.line = append(w.line, `"omitted_bytes":`...)
	w.line = strconv.AppendInt(w.line, n, 10)
}

// keptLine is the longest line whose memory is kept for the next.
const keptLine = 1 << 20

func (w *Writer) end() error {
	if w.dead {
		return nil
	}
	w.line = append(w.line, '}', '\n')
	if w.size += int64(len(w.line)); w.size > w.max {
		w.dead = true
		return fmt.Errorf("%w of %d bytes", ErrFull, w.max)
	}
	_, err := w.w.Write(w.line)
	w.dead = err != nil
	if cap(w.line) > keptLine {
		w.line = nil
	}
	return err
}

// comesBack reports whether a reader finds body again in a line: one JSON value,
// nothing around it, no line break in it. Member names may be there twice, that
// is what a recording is for; text that is not UTF-8 would make the file no text.
func comesBack(body []byte) bool {
	if bytes.IndexByte(body, '\n') >= 0 || bytes.IndexByte(body, '\r') >= 0 || !utf8.Valid(body) {
		return false
	}
	value, err := readValue(body)
	return err == nil && len(value) == len(body)
}

// readValue is the one value in text, with the white space around it cut off.
// What readers of JSON in the field accept is accepted.
func readValue(text []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	value, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(d.InputOffset())
	if rest := bytes.TrimLeft(text[end:], " \t\r\n"); len(rest) > 0 {
		return nil, errors.New("bytes after the value")
	}
	return text[end-len(value) : end : end], nil
}
