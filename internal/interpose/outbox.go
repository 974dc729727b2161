package interpose

import (
	"errors"
	"io"
	"sync"
)

// maxQueued bounds the bytes that wait in the outbox; beyond it the client is
// not read. One frame may be longer.
const maxQueued = 16 << 20

// coalesce is how many bytes of waiting frames go to the child in one write.
const coalesce = 64 << 10

// parcel is one client frame on its way to the child.
type parcel struct {
	raw   []byte
	calls []*openRequest // whose intents must be durable before a byte of it is written
	// undeliverable is told that the frame is not forwarded, and why.
	undeliverable func(Code, error)
	// delivered, if set, is told that it was.
	delivered func()
}

// errDeaf: the child lives, it may be, but has closed its stdin.
var errDeaf = errors.New("the server takes no more input")

// outbox writes parcels to the child in the order they were put in. If nothing
// waits before a parcel and none is sure to follow, whoever puts it in writes it:
// to hand it over costs more than all else but the sync. Calls that wait share
// a sync: one wait covers all that was put in before it began.
type outbox struct {
	to    io.Writer
	clock clock
	more  func() bool // whether another parcel is sure to follow at once; asked by put

	mu      sync.Mutex
	changed *sync.Cond
	queue   []parcel
	queued  int  // bytes
	writing bool // somebody writes outside the lock
	done    bool // nothing more is put in
	broken  bool // the child reads no more: what comes is given back
	aborted bool // the session is over: what comes is dropped
}

func newOutbox(to io.Writer, c clock, more func() bool) *outbox {
	o := &outbox{to: to, clock: c, more: more}
	o.changed = sync.NewCond(&o.mu)
	return o
}

// put hands over a parcel. It blocks while too much waits. After finish or
// abort it drops it.
func (o *outbox) put(p parcel) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done {
		return
	}
	if len(o.queue) == 0 && !o.writing && (len(p.calls) == 0 || !o.more()) {
		o.handOn([]parcel{p})
		if len(o.queue) > 0 || o.done { // else run has no reason to wake up
			o.changed.Broadcast()
		}
		return
	}
	for !o.broken && o.queued > 0 && o.queued+len(p.raw) > maxQueued {
		o.changed.Wait()
	}
	o.queue = append(o.queue, p)
	o.queued += len(p.raw)
	o.changed.Broadcast()
}

// finish says that nothing more comes.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done = true
	o.changed.Broadcast()
}

// abort drops what waits and all that comes.
func (o *outbox) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.aborted, o.broken, o.done = true, true, true
	o.changed.Broadcast()
}

// run forwards parcels until finish or abort and all is written.
func (o *outbox) run() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.queue) == 0 && !o.done || o.writing {
			o.changed.Wait()
		}
		if len(o.queue) == 0 {
			return
		}
		parcels := o.queue
		o.queue, o.queued = nil, 0
		o.handOn(parcels)
		o.changed.Broadcast() // there is room
	}
}

// handOn forwards parcels without the lock, alone.
func (o *outbox) handOn(parcels []parcel) {
	broken, aborted := o.broken, o.aborted
	o.writing = true
	o.mu.Unlock()
	var err error
	switch {
	case aborted:
	case broken:
		giveBack(parcels, HostDenied, errDeaf)
	default:
		err = o.forward(parcels)
	}
	o.mu.Lock()
	o.writing = false
	// The child closed its stdin or died; how it ended is for others to tell.
	o.broken = o.broken || err != nil
}

// forward waits until the intents of the parcels are durable, then writes.
func (o *outbox) forward(parcels []parcel) error {
	for i := len(parcels) - 1; i >= 0; i-- {
		calls := parcels[i].calls
		if len(calls) == 0 {
			continue
		}
		// The last intent of the last parcel covers all before it.
		if err := calls[len(calls)-1].call.Durable(); err != nil {
			return o.write(giveBack(parcels, AuditError, err))
		}
		break
	}
	return o.write(parcels)
}

// giveBack returns the parcels without calls. The others are undeliverable.
func giveBack(parcels []parcel, code Code, err error) []parcel {
	kept := parcels[:0]
	for _, p := range parcels {
		if len(p.calls) > 0 {
			p.undeliverable(code, err)
		} else {
			kept = append(kept, p)
		}
	}
	return kept
}

// write writes parcels, short ones together. Those of which no byte reached the
// pipe are given back.
func (o *outbox) write(parcels []parcel) error {
	for len(parcels) > 0 {
		chunk, n := gather(parcels)
		for _, p := range parcels[:n] {
			for _, c := range p.calls {
				c.forwarded.Store(o.clock.now())
			}
		}
		if written, err := o.to.Write(chunk); err != nil {
			for len(parcels) > 0 && written > 0 {
				written -= len(parcels[0].raw)
				parcels = parcels[1:]
			}
			giveBack(parcels, HostDenied, errDeaf)
			return err
		}
		for _, p := range parcels[:n] {
			if p.delivered != nil {
				p.delivered()
			}
		}
		parcels = parcels[n:]
	}
	return nil
}

// gather returns the bytes of the first n parcels.
func gather(parcels []parcel) (chunk []byte, n int) {
	if len(parcels) == 1 {
		return parcels[0].raw, 1
	}
	for n < len(parcels) && len(chunk) < coalesce {
		chunk = append(chunk, parcels[n].raw...)
		n++
	}
	return chunk, n
}
