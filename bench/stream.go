package main

import (
	"io"

	"github.com/aegis-aar/aegis/aar"
)

// stream is a volatile sink that passes the Lines on.
type stream struct {
	to      io.Writer
	written int64
}

// Durability implements [aar.Sink].
func (*stream) Durability() aar.Durability { return aar.Volatile }

// Tail implements [aar.Sink].
func (*stream) Tail() *aar.LineHash { return nil }

// Append implements [aar.Sink].
func (s *stream) Append(lines []byte) error {
	n, err := s.to.Write(lines)
	s.written += int64(n)
	return err
}

// Sync implements [aar.Sink].
func (*stream) Sync() error { return nil }

// Close implements [aar.Sink].
func (*stream) Close() error { return nil }
