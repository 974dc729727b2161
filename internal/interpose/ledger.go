package interpose

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// DefaultMaxInFlight is the default bound on requests that wait for their answer.
const DefaultMaxInFlight = 4096

// openRequest is a request on its way to the server whose answer has not come.
type openRequest struct {
	id        wire.ID
	key       string // of id, set by ledger.add
	asked     Request
	call      recordedCall // nil if it is no call
	known     aar.Outcome  // the verdict the call is forwarded under
	forwarded atomic.Int64 // when, in nanoseconds of the session's clock; 0 before
	cancelled bool         // the client said so; guarded by ledger.mu
}

// recordedCall is a Call with its intent on record; [*aar.Call] is one.
type recordedCall interface {
	ID() string
	Durable() error
	End(aar.Outcome) error
}

// unrecorded is a Call of a Session without a record.
type unrecorded struct{}

func (unrecorded) ID() string            { return "" }
func (unrecorded) Durable() error        { return nil }
func (unrecorded) End(aar.Outcome) error { return nil }

// ledger pairs answers with open requests.
type ledger struct {
	bound  int // requests that may be open at once
	mu     sync.Mutex
	room   *sync.Cond
	open   map[string]*openRequest // by the exact text of the id
	order  []*openRequest
	closed bool
	count  atomic.Int64
}

func newLedger(bound int) *ledger {
	l := &ledger{bound: bound, open: map[string]*openRequest{}}
	l.room = sync.NewCond(&l.mu)
	return l
}

// empty tells without a lock whether no answer is waited for.
func (l *ledger) empty() bool { return l.count.Load() == 0 }

// waitRoom blocks until n more calls fit, or the ledger is closed. A batch of
// more than fit at all waits for an empty ledger. Calls that the client has
// cancelled give up their place, the oldest first; they are returned.
func (l *ledger) waitRoom(n int) (evicted []*openRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && len(l.order) > 0 && len(l.order)+n > l.bound {
		if i := slices.IndexFunc(l.order, func(c *openRequest) bool { return c.cancelled }); i >= 0 {
			evicted = append(evicted, l.order[i])
			l.remove(l.order[i])
			continue
		}
		l.room.Wait()
	}
	return evicted
}

// letGo makes room for n more requests, and returns the oldest that had to go.
func (l *ledger) letGo(n int) (evicted []*openRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.order) > 0 && len(l.order)+n > l.bound {
		evicted = append(evicted, l.order[0])
		l.remove(l.order[0])
	}
	return evicted
}

// add opens a request. If its id is in flight already, the new request takes the
// place of the old one, which is returned: no answer can be told apart. Once
// the session is over nothing is opened.
func (l *ledger) add(c *openRequest) (superseded *openRequest, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, true
	}
	text := string(c.id.Raw)
	if old := l.open[text]; old != nil {
		superseded = old
		c.asked = c.asked.or(old.asked)
		l.remove(old)
	}
	c.key = c.id.Key()
	l.open[text] = c
	l.order = append(l.order, c)
	l.count.Add(1)
	return superseded, false
}

// take closes the request that an answer with this id is for, nil if there is none.
func (l *ledger) take(id wire.ID) *openRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.find(id)
	if c != nil {
		l.remove(c)
	}
	return c
}

// drop closes one request that will not be answered.
func (l *ledger) drop(c *openRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[string(c.id.Raw)] == c {
		l.remove(c)
	}
}

// forget closes the requests of a frame, which are answered without the server:
// the calls that have begun, and what else has an id of these. It tells, and does
// nothing, if the ledger is closed.
func (l *ledger) forget(begun []*openRequest, elements []wire.Element) (closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return true
	}
	for i := range elements {
		c := l.open[string(elements[i].ID.Raw)]
		// A call behind this frame may have its id, and has its own outcome to come.
		if c != nil && (c.call == nil || slices.Contains(begun, c)) {
			l.remove(c)
		}
	}
	return false
}

// cancel notes that the client does not wait for this request any more. It
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
func (l *ledger) find(id wire.ID) *openRequest {
	if c := l.open[string(id.Raw)]; c != nil {
		return c
	}
	var found *openRequest
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

func (l *ledger) remove(c *openRequest) {
	delete(l.open, string(c.id.Raw))
	i := slices.Index(l.order, c)
	l.order = slices.Delete(l.order, i, i+1)
	l.count.Add(-1)
	l.room.Signal()
}

// close takes all open requests, in order, and ends every wait.
func (l *ledger) close() []*openRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.room.Broadcast()
	left := l.order
	l.order, l.open = nil, map[string]*openRequest{}
	l.count.Store(0)
	return left
}
