package cli

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// progressFrom is the size from which reading a file is worth a progress line.
const progressFrom = 64 << 20

// withProgress counts what is read of in and, if w is a terminal and the work
// is long, shows how far it is. stop removes the line again.
func withProgress(in io.Reader, size int64, what string, w io.Writer) (counted io.Reader, stop func()) {
	if size < progressFrom || !isTerminal(w) {
		return in, func() {}
	}
	c := &countingReader{in: in}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(w, "\r%s: %d%%", what, c.n.Load()*100/size)
			case <-done:
				fmt.Fprint(w, "\r\x1b[K")
				return
			}
		}
	}()
	return c, func() { close(done); <-gone }
}

type countingReader struct {
	in io.Reader
	n  atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n.Add(int64(n))
	return n, err
}
