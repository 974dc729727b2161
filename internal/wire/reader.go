package wire

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
)

const (
	// bufferSize is the size of a Reader's buffer in bytes. It is the default
	// capacity of a Linux pipe: one read empties a full pipe.
	bufferSize = 64 << 10

	// maxEmptyReads is how often in a row a source may return nothing at all
	// before it is taken for broken, as in package bufio.
	maxEmptyReads = 100
)

var errRestPending = errors.New("wire: Next called before Rest took the remainder of an over-cap frame")

// Reader cuts a stream into frames.
//
// The framing is fixed by the first line that is not blank and never changes
// after that. Lines may be as long as the cap; there is no other limit.
// Besides its 64 KiB buffer a Reader holds only the frame it is building,
// which grows by doubling as bytes arrive, never on the strength of a length
// that was only claimed, and never past the cap: at the moment of the last
// doubling old and new copy together are at most twice the cap.
//
// A Reader is used by one goroutine, except for Framing.
type Reader struct {
	src     io.Reader
	max     int
	framing atomic.Uint32

	buf  []byte
	r, w int   // buf[r:w] is read but not yet handed out
	err  error // what ended the source; reported when buf is used up
	bad  error // the framing error that ended the stream

	rest       int64 // bytes an over-cap frame still has; restToLF: up to its LF
	terminated bool
}

// restToLF marks a remainder whose length nobody has announced.
const restToLF = -1

// NewReader returns a Reader of r that returns frames with bodies of up to
// maxFrame bytes and marks longer ones [Frame.OverCap].
func NewReader(r io.Reader, maxFrame int) *Reader {
	return &Reader{src: r, max: max(maxFrame, 0), buf: make([]byte, bufferSize)}
}

// Framing returns the framing seen so far. It may be called from any goroutine.
func (r *Reader) Framing() Framing { return Framing(r.framing.Load()) }

// Buffered returns how many bytes have been read and not yet handed out.
func (r *Reader) Buffered() int { return r.w - r.r }

// Terminated reports whether the last frame, with its rest if it was over the
// cap, was whole: a line that had its LF, a body that had its full length.
func (r *Reader) Terminated() bool { return r.terminated }

// Next returns the next frame as soon as its last byte has been read.
//
// A last line without LF is a frame; after it comes the error that ended the
// source, io.EOF at a clean end. A stream that breaks Content-Length framing
// ends with a [*FramingError], which every later call returns again.
func (r *Reader) Next() (Frame, error) {
	if r.rest != 0 {
		return Frame{}, errRestPending
	}
	if r.bad != nil {
		return Frame{}, r.bad
	}
	if r.Framing() == FramingUnknown && r.atHeader() {
		r.framing.Store(uint32(ContentLength))
	}
	if r.Framing() == ContentLength {
		f, err := r.message()
		if fe := (*FramingError)(nil); errors.As(err, &fe) {
			r.bad = err
		}
		return f, err
	}
	f, err := r.line()
	if err == nil && !f.Blank() {
		r.framing.Store(uint32(Newline))
	}
	return f, err
}

// Rest streams the remainder of an over-cap frame to yield, in chunks that are
// valid only during the call, with constant memory. On a newline-framed stream
// the LF belongs to the last chunk, and stands nowhere else.
//
// Rest stops at the first error of yield and returns it; calling Rest again
// goes on behind that chunk. It does nothing when there is no remainder.
func (r *Reader) Rest(yield func(chunk []byte) error) error {
	for r.rest != 0 {
		if r.r == r.w {
			if r.err != nil {
				return r.cutShort()
			}
			r.fill()
			continue
		}
		chunk := r.buf[r.r:r.w]
		switch {
		case r.rest != restToLF:
			chunk = chunk[:min(int64(len(chunk)), r.rest)]
			r.rest -= int64(len(chunk))
			r.terminated = r.rest == 0
		default:
			if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
				chunk = chunk[:i+1]
				r.rest, r.terminated = 0, true
			}
		}
		r.r += len(chunk)
		if err := yield(chunk); err != nil {
			return err
		}
	}
	return nil
}

// cutShort ends a remainder at the end of the source.
func (r *Reader) cutShort() error {
	left := r.rest
	r.rest = 0
	if left == restToLF {
		return nil
	}
	r.bad = shortBody(left, r.err)
	return r.bad
}

// line reads one newline-framed frame.
func (r *Reader) line() (Frame, error) {
	r.terminated = false
	var long []byte // the part of a long line that has left the buffer
	scanned := 0    // bytes of the window known to hold no LF
	for {
		window := r.buf[r.r:r.w]
		room := r.max - len(long)
		if i := bytes.IndexByte(window[scanned:], '\n'); i >= 0 && scanned+i <= room {
			raw := r.take(long, scanned+i+1)
			r.terminated = true
			return Frame{Raw: raw, Body: raw[: len(raw)-1 : len(raw)-1]}, nil
		} else if i >= 0 || len(window) > room {
			raw := r.take(long, room)
			r.rest = restToLF
			return Frame{Raw: raw, Body: raw, OverCap: true}, nil
		}
		if r.err != nil {
			if len(long)+len(window) == 0 {
				return Frame{}, r.err
			}
			raw := r.take(long, len(window))
			return Frame{Raw: raw, Body: raw}, nil
		}
		scanned = len(window)
		if len(window) == len(r.buf) {
			if long == nil { // a line longer than the buffer: start with room for as much again
				long = make([]byte, 0, min(2*bufferSize, r.max+1))
			}
			long = r.take(long, len(window))
			scanned = 0
		}
		r.fill()
	}
}

// take moves n bytes from the buffer behind dst.
func (r *Reader) take(dst []byte, n int) []byte {
	dst = appendGrowing(dst, r.buf[r.r:r.r+n], r.max+1)
	r.r += n
	return dst
}

// appendGrowing is append with doubling that does not reserve more than limit
// bytes unless more are there. A nil dst gets no spare room: most frames come
// in one piece.
func appendGrowing(dst, p []byte, limit int) []byte {
	if need := len(dst) + len(p); need > cap(dst) {
		grown := make([]byte, len(dst), max(need, min(2*cap(dst), limit)))
		copy(grown, dst)
		dst = grown
	}
	return append(dst, p...)
}

// fill reads once from the source, or records why it could not. The caller
// has made sure that the buffer is not full.
func (r *Reader) fill() {
	// Moving the unread bytes down first gives the read the largest window.
	// A line is moved at most once: afterwards it starts at zero.
	if r.r > 0 {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.w:])
		r.w += n
		if err != nil {
			r.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	r.err = io.ErrNoProgress
}
