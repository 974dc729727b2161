package interpose

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// MaxInFlight bounds the calls that wait for their answer. At the bound the
// client is not read until one is answered.
const MaxInFlight = 4096

// openCall is a forwarded tools/call whose answer has not come.
type openCall struct {
	id        wire.ID
	key       string // of id, set by ledger.add
	call      *aar.Call
	known     aar.Outcome  // the verdict it is forwarded under
	forwarded atomic.Int64 // when, in nanoseconds of the session's clock; 0 before
	cancelled bool         // the client said so; guarded by ledger.mu
}

// ledger pairs answers with open calls.
type ledger struct {
	mu     sync.Mutex
	room   *sync.Cond
	open   map[string]*openCall // by the exact text of the id
	order  []*openCall
	closed bool
	count  atomic.Int64
}

func newLedger() *ledger {
	l := &ledger{open: map[string]*openCall{}}
	l.room = sync.NewCond(&l.mu)
	return l
}

// empty tells without a lock whether no answer is waited for.
func (l *ledger) empty() bool { return l.count.Load() == 0 }

// waitRoom blocks until n more calls fit, or the ledger is closed. A batch of
// more than fit at all waits for an empty ledger. Calls that the client has
// cancelled give up their place, the oldest first; they are returned.
func (l *ledger) waitRoom(n int) (evicted []*openCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && len(l.order) > 0 && len(l.order)+n > MaxInFlight {
		if i := slices.IndexFunc(l.order, func(c *openCall) bool { return c.cancelled }); i >= 0 {
			evicted = append(evicted, l.order[i])
			l.remove(l.order[i])
			continue
		}
		l.room.Wait()
	}
	return evicted
}

// add opens a call. If its id is in flight already, the new call takes the
// place of the old one, which is returned: no answer can be told apart.
func (l *ledger) add(c *openCall) (superseded *openCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil // the session is over; the Writer ends what it still has open
	}
	text := string(c.id.Raw)
	if old := l.open[text]; old != nil {
		superseded = old
		l.remove(old)
	}
	c.key = c.id.Key()
	l.open[text] = c
	l.order = append(l.order, c)
	l.count.Add(1)
	return superseded
}

// take closes the call that an answer with this id is for, nil if there is none.
func (l *ledger) take(id wire.ID) *openCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.find(id)
	if c != nil {
		l.remove(c)
	}
	return c
}

// drop closes one call that will not be answered.
func (l *ledger) drop(c *openCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[string(c.id.Raw)] == c {
		l.remove(c)
	}
}

// cancel notes that the client does not wait for this call any more. The call
// stays open for a late answer.
func (l *ledger) cancel(id wire.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.find(id); c != nil {
		c.cancelled = true
	}
}

// find looks for the exact text of the id, then for an equal JSON value if
// exactly one open id has it. A number never equals a string.
func (l *ledger) find(id wire.ID) *openCall {
	if c := l.open[string(id.Raw)]; c != nil {
		return c
	}
	var found *openCall
	key := id.Key()
	for _, c := range l.order {
		if c.key == key {
			if found != nil {
				return nil
			}
			found = c
		}
	}
	return found
}

func (l *ledger) remove(c *openCall) {
	delete(l.open, string(c.id.Raw))
	i := slices.Index(l.order, c)
	l.order = slices.Delete(l.order, i, i+1)
	l.count.Add(-1)
	l.room.Signal()
}

// close takes all open calls, in call order, and ends every wait.
func (l *ledger) close() []*openCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.room.Broadcast()
	left := l.order
	l.order, l.open = nil, map[string]*openCall{}
	l.count.Store(0)
	return left
}
