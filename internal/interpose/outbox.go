package interpose

import (
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
	calls []*openCall // whose intents must be durable before a byte of it is written
	// undeliverable is told that they cannot be. The frame is not forwarded.
	undeliverable func(error)
}

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
	broken  bool // the child reads no more: what comes is dropped
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
		o.writeUnlocked(func() error { return o.forward([]parcel{p}) })
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
	o.broken, o.done = true, true
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
		o.writeUnlocked(func() error { return o.forward(parcels) })
		o.changed.Broadcast() // there is room
	}
}

// writeUnlocked runs write without the lock, alone.
func (o *outbox) writeUnlocked(write func() error) {
	broken := o.broken
	o.writing = true
	o.mu.Unlock()
	var err error
	if !broken {
		err = write()
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
			return o.write(refuse(parcels, err))
		}
		break
	}
	return o.write(parcels)
}

// refuse leaves only the parcels that need no record.
func refuse(parcels []parcel, err error) []parcel {
	kept := parcels[:0]
	for _, p := range parcels {
		if len(p.calls) > 0 {
			p.undeliverable(err)
		} else {
			kept = append(kept, p)
		}
	}
	return kept
}

func (o *outbox) write(parcels []parcel) error {
	var together []byte
	for i, p := range parcels {
		for _, c := range p.calls {
			c.forwarded.Store(o.clock.now())
		}
		if len(parcels) == 1 {
			return writeAll(o.to, p.raw)
		}
		together = append(together, p.raw...)
		if len(together) >= coalesce || i == len(parcels)-1 {
			if err := writeAll(o.to, together); err != nil {
				return err
			}
			together = together[:0]
		}
	}
	return nil
}

func writeAll(w io.Writer, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	_, err := w.Write(b)
	return err
}
