package policy

import (
	"math"
	"strings"
	"time"

	"github.com/aegis-aar/aegis/aar"
)

// maxWindows bounds the rate windows of one Session. A window takes a few
// hundred bytes, some 2 KiB with long names, and one is opened for every tool
// name a wildcard rule meets, so a client that invents names would otherwise
// grow the table without end.
const maxWindows = 1 << 16

const tableFullReason = "rate limit table is full; refused until a window ends"

// key identifies a fixed window: `rule::tool::session` of the specification,
// kept in parts so that no choice of names lets two keys meet.
type key struct{ rule, tool, session string }

// windowKey is the window a Call that r won is charged to. A Call that asserts
// no session is counted under its tool.
func windowKey(r *Rule, req Request) key {
	k := key{rule: r.ID, tool: aar.BoundedName(req.Tool)}
	k.session = k.tool
	if req.Session != nil {
		k.session = aar.BoundedName(*req.Session)
	}
	return k
}

// window counts the Calls admitted since it opened.
type window struct {
	opened time.Duration
	per    uint64 // seconds it lasts
	count  uint32
}

func (w window) ended(now time.Duration) bool {
	return uint64((now-w.opened)/time.Second) >= w.per
}

// ends is when it will have ended, or the end of time.
func (w window) ends() time.Duration {
	if w.per >= uint64((math.MaxInt64-w.opened)/time.Second) {
		return math.MaxInt64
	}
	return w.opened + time.Duration(w.per)*time.Second
}

// windows is the table of open windows. Between two commits it remembers how
// to take every charge back.
type windows struct {
	open map[key]window
	log  []charge
	// quiet is a moment before which a sweep finds nothing to remove.
	quiet time.Duration
}

// charge is the state of one key before it was charged.
type charge struct {
	key    key
	before window
	fresh  bool // the key had no window
}

type admission uint8

const (
	exhausted admission = iota
	admitted
	tableFull
)

// charge admits a Call into the window of k, opening a new one if there is none
// or the last one has ended. A Call it does not admit is not counted.
func (t *windows) charge(k key, rate Rate, now time.Duration) admission {
	w, known := t.open[k]
	before := w
	w.per = rate.PerSeconds // a reload may have changed it
	if !known || w.ended(now) {
		w.opened, w.count = now, 0
	}
	if w.count >= rate.Max {
		return exhausted
	}
	if !known {
		if len(t.open) >= maxWindows && !t.sweep(now) {
			return tableFull
		}
		k = key{strings.Clone(k.rule), strings.Clone(k.tool), strings.Clone(k.session)} // do not hold on to the frame
	}
	w.count++
	if t.open == nil {
		t.open = make(map[key]window)
	}
	t.open[k] = w
	t.quiet = min(t.quiet, w.ends())
	t.log = append(t.log, charge{key: k, before: before, fresh: !known})
	return admitted
}

// sweep removes the windows that have ended and reports whether there is room.
func (t *windows) sweep(now time.Duration) bool {
	if now < t.quiet {
		return false
	}
	t.quiet = math.MaxInt64
	for k, w := range t.open {
		if w.ended(now) {
			delete(t.open, k)
		} else {
			t.quiet = min(t.quiet, w.ends())
		}
	}
	return len(t.open) < maxWindows
}

// undo takes back every charge since the last commit.
func (t *windows) undo() {
	for i := len(t.log) - 1; i >= 0; i-- {
		if c := t.log[i]; c.fresh {
			delete(t.open, c.key)
		} else {
			t.open[c.key] = c.before
		}
	}
}

// commit makes the charges since the last commit final.
func (t *windows) commit() {
	clear(t.log)
	t.log = t.log[:0]
}
