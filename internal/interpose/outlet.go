package interpose

import (
	"io"
	"sync"
	"sync/atomic"
)

// outlet is the client's side of the downlink. What is written under one hold
// is not cut into.
type outlet struct {
	mu     sync.Mutex
	to     io.Writer
	failed func() // told once that the client reads no more
	broken bool
	ended  bool // the child's stream is over: nothing more is authored

	writing atomic.Bool
}

// busy tells whether a write waits for the client.
func (o *outlet) busy() bool { return o.writing.Load() }

// write writes one frame. Behind one that is not whole nothing is authored.
func (o *outlet) write(b []byte, whole bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writeHeld(b)
	o.ended = !whole
}

// author writes a frame of our own, unless the stream is over: behind the
// child's last bytes, which may be half a line, nothing follows.
func (o *outlet) author(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended {
		o.writeHeld(b)
	}
}

func (o *outlet) writeHeld(b []byte) {
	if o.broken || len(b) == 0 {
		return
	}
	o.writing.Store(true)
	_, err := o.to.Write(b)
	o.writing.Store(false)
	if err != nil {
		o.broken = true
		o.failed()
	}
}

func (o *outlet) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
}
