package interpose

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/aegis-aar/aegis/internal/wire"
)

// outlet is the client's side of the downlink. What is written under one hold
// is not cut into.
type outlet struct {
	mu     sync.Mutex
	to     io.Writer
	failed func() // told once that the client reads no more
	broken bool
	ended  bool // the child's stream is over: nothing more is authored
	cut    bool // what was written last is not a whole frame
	shut   bool // nothing more of the child is written

	writing atomic.Bool
}

// busy tells whether a write waits for the client.
func (o *outlet) busy() bool { return o.writing.Load() }

// write writes one frame. Behind one that is not whole nothing is authored.
func (o *outlet) write(b []byte, whole bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut {
		return
	}
	o.writeHeld(b)
	o.ended, o.cut = !whole, !whole
}

// shutOff lets nothing more of the child pass.
func (o *outlet) shutOff() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut = true
}

// lastWords writes frames of our own behind all that the child said. Half a line
// of its is ended first; behind half a message with a length nothing can follow.
func (o *outlet) lastWords(b []byte, framing wire.Framing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.cut:
	case framing == wire.ContentLength:
		return
	default:
		o.writeHeld([]byte{'\n'})
		o.cut = false
	}
	o.writeHeld(b)
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
