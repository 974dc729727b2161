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
	ended  bool // the child's stream is over
	cut    bool // what was written last is not a whole frame
	// outlives is set if frames of our own may follow the child's last bytes.
	outlives bool

	writing atomic.Bool
}

// busy tells whether a write waits for the client.
func (o *outlet) busy() bool { return o.writing.Load() }

// write writes one frame of the child, under a hold.
func (o *outlet) write(b []byte, whole bool) {
	o.writeHeld(b)
	o.ended, o.cut = !whole, !whole
}

// author writes frames of our own. If they may follow the child's last bytes,
// half a line of those is ended first; behind half a message with a length
// nothing can follow.
func (o *outlet) author(b []byte, framing wire.Framing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.ended && !o.outlives:
		return
	case !o.cut:
	case framing == wire.ContentLength:
		return
	default:
		o.writeHeld([]byte{'\n'})
		o.cut = false
	}
	o.writeHeld(b)
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
