package cli

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// stderrPatience is how long a line for people may wait for its reader.
const stderrPatience = 500 * time.Millisecond

// patientWriter writes to a stderr that perhaps nobody reads: a server that
// fills the pipe must not keep a policy from being reloaded, nor aegis from
// ending. What is not taken in time is left behind, and while it is, what comes
// after is dropped. No Write fails.
type patientWriter struct {
	to io.Writer

	mu    sync.Mutex
	stuck <-chan struct{} // closed when the write that was left behind has ended
}

func (p *patientWriter) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.stuck:
		p.stuck = nil
	default:
		if p.stuck != nil {
			return len(b), nil
		}
	}
	line, done := bytes.Clone(b), make(chan struct{})
	go func() {
		defer close(done)
		p.to.Write(line)
	}()
	select {
	case <-done:
	case <-time.After(stderrPatience):
		p.stuck = done
	}
	return len(b), nil
}
