package wire

import (
	"bytes"
	"strconv"
)

// Framing says how messages are told apart on a stream.
type Framing uint8

const (
	// FramingUnknown is a stream on which nothing but blank lines was seen.
	FramingUnknown Framing = iota
	// Newline is the framing of MCP's stdio transport: one message a line.
	Newline
	// ContentLength is the framing of the Language Server Protocol: a header
	// block with a Content-Length, a blank line, and that many bytes.
	ContentLength
)

// String returns the name used in messages to people.
func (f Framing) String() string {
	switch f {
	case Newline:
		return "newline"
	case ContentLength:
		return "Content-Length"
	default:
		return "unknown"
	}
}

// Frame is one message as it stood on the stream. It owns its memory.
type Frame struct {
	// Raw is every byte read for the frame, framing included: the line with
	// its LF if it had one, or the header block with the body.
	Raw []byte

	// Body is the part of Raw that is parsed and digested: the line less its
	// LF (a CR before it stays), or the body behind the header block.
	Body []byte

	// OverCap is set when Body is longer than the Reader's cap. Raw and Body
	// then end where the cap does, and [Reader.Rest] streams what follows.
	OverCap bool
}

// Blank reports whether the body is empty or ASCII white space only. Such a
// frame carries no message; there is nothing to classify.
func (f Frame) Blank() bool { return blank(f.Body) }

func blank(b []byte) bool { return len(bytes.Trim(b, " \t\r\n\v\f")) == 0 }

// Append appends body to dst, framed for a stream of framing f, and returns
// the extended slice. Unknown framing is written as newline framing, which is
// what MCP asks for. The body of a newline frame must not hold an LF.
func Append(dst []byte, f Framing, body []byte) []byte {
	if f == ContentLength {
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(body)), 10)
		dst = append(dst, "\r\n\r\n"...)
		return append(dst, body...)
	}
	return append(append(dst, body...), '\n')
}
