package aar

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// A row is one line of a record file, without its line end.
type row struct {
	text       []byte
	terminated bool // ended by LF; only the last row of a file may not be
}

// rowReader reads the rows of a record file that are not blank. It holds one
// row in memory. Whatever a record file may not contain anywhere, damaged or
// not, is its error: a line over [MaxLine], or text that is not UTF-8, except
// in an unterminated last row, which may be the remains of a torn write.
type rowReader struct {
	in   *bufio.Reader
	long []byte
	rows uint64 // returned so far
}

func newRowReader(r io.Reader) *rowReader {
	return &rowReader{in: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next row, valid until the call after; io.EOF at the end.
func (r *rowReader) next() (row, error) {
	for {
		text, err := r.line()
		if err != nil && err != io.EOF {
			return row{}, err
		}
		terminated := err == nil
		if terminated {
			text = text[:len(text)-1]
		}
		if len(bytes.TrimSpace(text)) == 0 {
			if !terminated {
				return row{}, io.EOF
			}
			continue
		}
		r.rows++
		if terminated && !utf8.Valid(text) {
			return row{}, fmt.Errorf("line %d is not UTF-8", r.rows)
		}
		return row{text: text, terminated: terminated}, nil
	}
}

// line returns the bytes up to and with the next LF; io.EOF without one.
func (r *rowReader) line() ([]byte, error) {
	part, err := r.in.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return part, err
	}
	r.long = r.long[:0]
	for {
		r.long = append(r.long, part...)
		if len(bytes.TrimSuffix(r.long, []byte("\n"))) > MaxLine {
			return nil, fmt.Errorf("line %d is longer than %d bytes", r.rows+1, MaxLine)
		}
		if err != bufio.ErrBufferFull {
			return r.long, err
		}
		part, err = r.in.ReadSlice('\n')
	}
}
