package interpose

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// maxPumped bounds the bytes that wait for a reader of our stderr.
const maxPumped = 1 << 20

// Pump copies to a writer that may block without ever blocking itself: the
// child must be able to write its stderr whether or not anybody reads ours.
// What does not fit is dropped, and the reader is told how much.
type Pump struct {
	to      io.Writer
	mu      sync.Mutex
	changed *sync.Cond
	waiting []byte
	dropped int
	closed  bool
	idle    chan struct{} // closed when run has ended
}

// NewPump starts a Pump to a writer.
func NewPump(to io.Writer) *Pump {
	p := &Pump{to: to, idle: make(chan struct{})}
	p.changed = sync.NewCond(&p.mu)
	go p.run()
	return p
}

// Write implements [io.Writer]. It never blocks and never fails.
func (p *Pump) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropped > 0 || len(p.waiting)+len(b) > maxPumped {
		p.dropped += len(b)
		return len(b), nil
	}
	p.waiting = append(p.waiting, b...)
	p.changed.Signal()
	return len(b), nil
}

func (p *Pump) run() {
	defer close(p.idle)
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.waiting) == 0 && !p.closed {
			p.changed.Wait()
		}
		if len(p.waiting) == 0 {
			return
		}
		chunk, dropped := p.waiting, p.dropped
		p.waiting, p.dropped = nil, 0
		p.mu.Unlock()
		p.to.Write(chunk)
		if dropped > 0 {
			fmt.Fprintf(p.to, "\naegis: dropped %d bytes of stderr: nobody was reading it\n", dropped)
		}
		p.mu.Lock()
	}
}

// Close waits until all is written, at most for the time given.
func (p *Pump) Close(patience time.Duration) {
	p.mu.Lock()
	p.closed = true
	p.changed.Signal()
	p.mu.Unlock()
	select {
	case <-p.idle:
	case <-time.After(patience):
	}
}
