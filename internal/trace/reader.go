package trace

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/internal/wire"
)

// Entry is one recorded frame.
type Entry struct {
	Line      int // from 1
	Direction Direction
	Time      time.Time // zero if it was not recorded

	// Frame is the frame's body as it was on the wire.
	Frame []byte

	// Omitted is how many bytes a frame had that was not kept; Frame is nil.
	Omitted int64
}

// LineError says which line of a trace is none.
type LineError struct {
	Line int
	Msg  string // fixed text, with no byte of the line
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// Reader reads a trace. It holds one line at a time.
type Reader struct {
	lines *wire.Reader
	line  int
}

// NewReader reads the trace r.
func NewReader(r io.Reader) *Reader {
	// The framing of a trace is lines, even if the first one looks like a header.
	lines := wire.NewReader(io.MultiReader(strings.NewReader("{}\n"), r), MaxLine)
	_, _ = lines.Next()
	return &Reader{lines: lines}
}

// Next returns the next entry. At the end of the trace it returns io.EOF, at a
// line that is none a [*LineError], and else the error of the source. Blank
// lines are skipped.
func (r *Reader) Next() (Entry, error) {
	for {
		f, err := r.lines.Next()
		if err != nil {
			return Entry{}, err
		}
		r.line++
		if f.OverCap {
			return Entry{}, &LineError{r.line, fmt.Sprintf("longer than %d MiB", MaxLine>>20)}
		}
		if f.Blank() {
			continue
		}
		e, msg := readLine(f.Body)
		if msg != "" && !r.lines.Terminated() {
			msg = "cut off: " + msg
		}
		if msg != "" {
			return Entry{}, &LineError{r.line, msg}
		}
		e.Line = r.line
		return e, nil
	}
}

// readLine reads a line; msg says what is wrong with it.
func readLine(line []byte) (e Entry, msg string) {
	value, err := readValue(line)
	if err != nil {
		return Entry{}, "no JSON value"
	}
	if value[0] == '{' {
		if e, enriched, msg := readEnriched(value); enriched {
			return e, msg
		}
	}
	return Entry{Frame: value}, ""
}

// readEnriched reads an object that wraps a frame: one with a direction and
// without jsonrpc, which every frame of the protocol has. The value is JSON.
func readEnriched(value []byte) (e Entry, enriched bool, msg string) {
	d := jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return Entry{}, false, ""
	}
	var direction, frame, raw, omitted []byte
	twice := false
	for d.PeekKind() == '"' {
		quoted, err := d.ReadValue()
		if err != nil {
			return Entry{}, false, ""
		}
		name, _ := jsontext.AppendUnquote(nil, quoted)
		text, err := d.ReadValue()
		if err != nil {
			return Entry{}, false, ""
		}
		end := int(d.InputOffset())
		text = value[end-len(text) : end : end]
		var member *[]byte
		switch string(name) {
		case "jsonrpc":
			return Entry{}, false, ""
		case "direction":
			member = &direction
		case "frame":
			member = &frame
		case "raw":
			member = &raw
		case "omitted_bytes":
			member = &omitted
		case "ts":
			// A time that cannot be read takes nothing from the frame.
			if unquoted, err := jsontext.AppendUnquote(nil, text); err == nil {
				e.Time, _ = time.Parse(time.RFC3339, string(unquoted))
			}
			continue
		default:
			continue
		}
		twice = twice || *member != nil
		*member = text
	}
	switch {
	case direction == nil || frame == nil && raw == nil && omitted == nil:
		return Entry{}, false, ""
	case twice || count(frame, raw, omitted) > 1:
		return e, true, "more than one frame or direction"
	}
	return e.fill(direction, frame, raw, omitted)
}

func (e Entry) fill(direction, frame, raw, omitted []byte) (Entry, bool, string) {
	switch string(direction) {
	case `"c2s"`:
		e.Direction = Client
	case `"s2c"`:
		e.Direction = Server
	default:
		return e, true, `direction is neither "c2s" nor "s2c"`
	}
	var err error
	switch {
	case frame != nil:
		e.Frame = frame
	case raw != nil:
		var text []byte
		if text, err = jsontext.AppendUnquote(nil, raw); err == nil {
			e.Frame, err = base64.StdEncoding.Strict().AppendDecode([]byte{}, text)
		}
		if err != nil {
			return e, true, "raw is not base64"
		}
	default:
		if e.Omitted, err = strconv.ParseInt(string(omitted), 10, 64); err != nil || e.Omitted < 0 {
			return e, true, "omitted_bytes is no number of bytes"
		}
	}
	return e, true, ""
}

func count(members ...[]byte) (n int) {
	for _, m := range members {
		if m != nil {
			n++
		}
	}
	return n
}
