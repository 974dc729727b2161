package sinktest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aegis-aar/aegis/aar"
)

// Faulty passes what it is asked on to the Sink inside it, fails where it is
// told to, and keeps a log of what happened in which order.
type Faulty struct {
	inner aar.Sink

	mu      sync.Mutex
	appends []appendFault // for the next Appends, in order
	syncErr error
	delay   time.Duration
	hold    chan struct{}
	events  []Event
	changed chan struct{} // closed, and replaced, at every event
}

type appendFault struct {
	err  error
	part int // bytes that reach the inner Sink all the same; -1 for all or nothing
}

// Op is what an [Event] is about.
type Op string

// The operations in a [Faulty] sink's log. Append and Sync are logged when
// they return, SyncStart when a Sync begins; Note is what [Faulty.Note] puts in.
const (
	Append    Op = "append"
	SyncStart Op = "sync start"
	Sync      Op = "sync"
	Close     Op = "close"
	Note      Op = "note"
)

// An Event is one entry of a [Faulty] sink's log.
type Event struct {
	Op   Op
	Text string // of Append: the lines asked for; of Note: what it was given
	Err  error  // what was returned
}

func (e Event) String() string { return fmt.Sprintf("%s %q %v", e.Op, e.Text, e.Err) }

// NewFaulty returns a Faulty around inner that has no fault yet.
func NewFaulty(inner aar.Sink) *Faulty {
	return &Faulty{inner: inner, changed: make(chan struct{})}
}

// FailAppend makes an Append to come fail with err and leave nothing, as a
// full disk does. Each call stands for one Append, the next one that has no
// fault yet.
func (f *Faulty) FailAppend(err error) { f.fault(appendFault{err, -1}) }

// ShortAppend is FailAppend after the first n bytes were written and cut off
// again: to the Writer the two must be the same, and this error names n.
func (f *Faulty) ShortAppend(n int, err error) {
	f.fault(appendFault{fmt.Errorf("wrote %d bytes, cut off again: %w", n, err), -1})
}

// PoisonAppend makes an Append to come leave its first n bytes in the store
// and fail with an error that wraps [aar.ErrPoisoned] and err.
func (f *Faulty) PoisonAppend(n int, err error) {
	f.fault(appendFault{fmt.Errorf("%w: %w", aar.ErrPoisoned, err), n})
}

func (f *Faulty) fault(a appendFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.appends = append(f.appends, a)
}

// FailSync makes the next Sync fail with err. The ones after it succeed, as
// they do on a real disk, where that means nothing.
func (f *Faulty) FailSync(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.syncErr = err
}

// DelaySync makes every Sync take d longer.
func (f *Faulty) DelaySync(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// HoldSync makes every Sync from now on wait until release is called.
func (f *Faulty) HoldSync() (release func()) {
	hold := make(chan struct{})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hold = hold
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.hold == hold {
			f.hold = nil
			close(hold)
		}
	}
}

// Note puts an event of the caller's own into the log, such as "the first byte
// has reached the child".
func (f *Faulty) Note(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log(Event{Op: Note, Text: text})
}

// Events returns the log so far.
func (f *Faulty) Events() []Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

// Count tells how many events of a kind the log holds.
func (f *Faulty) Count(op Op) int {
	n := 0
	for _, e := range f.Events() {
		if e.Op == op {
			n++
		}
	}
	return n
}

// Await returns once the log satisfies done, or with the error of ctx.
func (f *Faulty) Await(ctx context.Context, done func([]Event) bool) error {
	for {
		f.mu.Lock()
		satisfied, changed := done(f.events), f.changed
		f.mu.Unlock()
		if satisfied {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// log adds an event. The caller holds mu.
func (f *Faulty) log(e Event) {
	f.events = append(f.events, e)
	close(f.changed)
	f.changed = make(chan struct{})
}

// Durability implements [aar.Sink].
func (f *Faulty) Durability() aar.Durability { return f.inner.Durability() }

// Tail implements [aar.Sink].
func (f *Faulty) Tail() *aar.LineHash { return f.inner.Tail() }

// Append implements [aar.Sink].
func (f *Faulty) Append(lines []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.append(lines)
	f.log(Event{Op: Append, Text: string(lines), Err: err})
	return err
}

func (f *Faulty) append(lines []byte) error {
	if len(f.appends) == 0 {
		return f.inner.Append(lines)
	}
	fault := f.appends[0]
	f.appends = f.appends[1:]
	if n := min(fault.part, len(lines)); n > 0 {
		if err := f.inner.Append(lines[:n]); err != nil {
			return err
		}
	}
	return fault.err
}

// Sync implements [aar.Sink]. The Sync inside comes first and the delay after
// it, so that what is appended meanwhile is not covered: no Sink promises more.
func (f *Faulty) Sync() error {
	f.mu.Lock()
	f.log(Event{Op: SyncStart})
	err, delay, hold := f.syncErr, f.delay, f.hold
	f.syncErr = nil
	f.mu.Unlock()
	if err == nil {
		err = f.inner.Sync()
	}
	if hold != nil {
		<-hold
	}
	if delay > 0 {
		time.Sleep(delay)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log(Event{Op: Sync, Err: err})
	return err
}

// Close implements [aar.Sink].
func (f *Faulty) Close() error {
	err := f.inner.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log(Event{Op: Close, Err: err})
	return err
}
