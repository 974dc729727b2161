package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxHeaderBlock is the longest accepted header block in bytes, its blank
	// line included. Real ones have some 20 to 100; it must fit the buffer.
	maxHeaderBlock = 8 << 10

	// maxContentLength is the largest length in bytes that is believed at all.
	// More is a bug or an attack, and no stream could be resynchronised by
	// waiting for it.
	maxContentLength = 1 << 40

	headerPrefix = "content-length:"
)

// FramingError says that a stream broke Content-Length framing. The stream
// cannot be read on: nobody knows where the next message starts.
type FramingError struct {
	Reason string // for people; quotes at most 32 bytes, of a length
	Err    error  // what ended the source, if that was the reason
}

func (e *FramingError) Error() string { return "Content-Length framing: " + e.Reason }

func (e *FramingError) Unwrap() error { return e.Err }

func framingErrorf(format string, args ...any) error {
	return &FramingError{Reason: fmt.Sprintf(format, args...)}
}

func shortBody(missing int64, cause error) error {
	return &FramingError{
		Reason: fmt.Sprintf("stream ended %d bytes before the end of a body", missing),
		Err:    endCause(cause),
	}
}

// endCause names an end of the source in the middle of something.
func endCause(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// atHeader reports whether the stream goes on with a Content-Length header.
// It reads only as far as it must to know.
func (r *Reader) atHeader() bool {
	for {
		window := r.buf[r.r:r.w]
		if len(window) >= len(headerPrefix) {
			return bytes.EqualFold(window[:len(headerPrefix)], []byte(headerPrefix))
		}
		if r.err != nil || bytes.IndexByte(window, '\n') >= 0 {
			return false
		}
		r.fill()
	}
}

// message reads one Content-Length frame. Blank lines between messages are
// frames of their own, so that they can pass as they came; the bound of the
// header block is theirs, not the cap.
func (r *Reader) message() (Frame, error) {
	r.terminated = false
	head, length, err := r.headerBlock()
	if err != nil {
		return Frame{}, err
	}
	if length == blankLine {
		raw := r.take(nil, head)
		body := bytes.TrimSuffix(raw, []byte{'\n'})
		r.terminated = len(body) < len(raw)
		return Frame{Raw: raw, Body: body}, nil
	}

	size := int(min(length, int64(r.max)))
	// Room for a body that fits the buffer, which is there anyway; a longer
	// one has to arrive before it is given more.
	raw := make([]byte, 0, head+min(size, bufferSize))
	raw = r.take(raw, head)
	for len(raw) < head+size {
		if r.r == r.w {
			if r.err != nil {
				return Frame{}, shortBody(length-int64(len(raw)-head), r.err)
			}
			r.fill()
			continue
		}
		n := min(r.w-r.r, head+size-len(raw))
		raw = appendGrowing(raw, r.buf[r.r:r.r+n], head+size)
		r.r += n
	}
	r.rest = length - int64(size)
	r.terminated = r.rest == 0
	return Frame{Raw: raw, Body: raw[head:len(raw):len(raw)], OverCap: r.rest > 0}, nil
}

// blankLine is the length headerBlock returns for a blank line where a header
// block could start.
const blankLine = -1

// headerBlock finds the end of the header block at the start of the buffer and
// returns its size, blank line included, and the length it announces. Nothing
// is taken out of the buffer, which is large enough for the longest block.
func (r *Reader) headerBlock() (size int, length int64, err error) {
	const unset = -1
	length = unset
	for {
		window := r.buf[r.r:r.w]
		i := bytes.IndexByte(window[size:], '\n')
		if i < 0 && len(window) <= maxHeaderBlock {
			if r.err == nil {
				r.fill()
				continue
			}
			switch {
			case len(window) == 0:
				return 0, 0, r.err
			case blank(window):
				return len(window), blankLine, nil
			}
			return 0, 0, &FramingError{Reason: "stream ended inside a header block", Err: endCause(r.err)}
		}
		if i < 0 || size+i+1 > maxHeaderBlock {
			return 0, 0, framingErrorf("header block of more than %d bytes", maxHeaderBlock)
		}

		line := bytes.TrimSuffix(window[size:size+i], []byte{'\r'})
		first := size == 0
		size += i + 1
		if first && blank(line) {
			return size, blankLine, nil
		}
		if len(line) == 0 {
			if length == unset {
				return 0, 0, framingErrorf("header block without a Content-Length")
			}
			return size, length, nil
		}
		name, value, err := header(line)
		if err != nil {
			return 0, 0, err
		}
		if !bytes.EqualFold(name, []byte("Content-Length")) {
			continue
		}
		n, err := contentLength(value)
		if err != nil {
			return 0, 0, err
		}
		if length != unset && length != n {
			return 0, 0, framingErrorf("conflicting lengths %d and %d", length, n)
		}
		length = n
	}
}

// header splits a header line. It is as strict as HTTP is about names, and
// takes no control characters: a CR inside a line ends it for some readers.
func header(line []byte) (name, value []byte, err error) {
	for _, c := range line {
		if c < ' ' && c != '\t' || c == 0x7f {
			return nil, nil, framingErrorf("control character in a header line")
		}
	}
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok || len(name) == 0 || bytes.ContainsFunc(name, notOfToken) {
		return nil, nil, framingErrorf("malformed header line")
	}
	return name, bytes.Trim(value, " \t"), nil
}

// notOfToken reports what may not stand in the name of a header (RFC 9110,
// section 5.6.2). A reader of lines takes `{"method":…}` in its place for a
// message, one that nobody has judged.
func notOfToken(r rune) bool {
	switch {
	case '0' <= r && r <= '9', 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z':
		return false
	}
	return !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

func contentLength(value []byte) (int64, error) {
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, framingErrorf("length %s is not a decimal number", quoted(value))
		}
	}
	if len(value) == 0 {
		return 0, framingErrorf("empty length")
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n > maxContentLength {
		return 0, framingErrorf("length %s is over %d", quoted(value), int64(maxContentLength))
	}
	return n, nil
}

// quoted is a header value for an error message, at most 32 bytes of it.
func quoted(value []byte) string {
	if len(value) > 32 {
		return strconv.QuoteToASCII(string(value[:32])) + "…"
	}
	return strconv.QuoteToASCII(string(value))
}
