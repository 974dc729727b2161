package trace

import (
	"container/list"

	"github.com/aegis-aar/aegis/internal/wire"
)

// DefaultInFlight is how many open requests guard and inspect keep by default.
const DefaultInFlight = 1024

// request is an open request.
type request struct {
	ID   wire.ID
	Call bool   // a tools/call
	Tool string // of a call; empty when calls of two tools share the id
}

// pairing pairs answers with requests, as a session comes by: first by the exact
// text of the id, else by an equal JSON value if exactly one open id has it. A
// number and a string never match. The ledger of package interpose pairs alike.
//
// It is bounded: the request that is open longest makes room. It is used by one
// goroutine.
type pairing struct {
	max   int
	open  map[string]*list.Element // by the exact text
	same  map[string][]string      // the exact texts that are open, by the id's key
	order *list.List               // of *request, the oldest first
}

// newPairing keeps at most max open requests.
func newPairing(max int) *pairing {
	return &pairing{max: max, open: map[string]*list.Element{}, same: map[string][]string{}, order: list.New()}
}

// sent opens a request. Where its id is open already no answer can be told
// apart: the id then stands for a call if one of the two is a call, and for no
// tool if they are not of the same.
func (p *pairing) sent(r request) {
	if !r.ID.Present() || p.max <= 0 {
		return
	}
	r.ID = r.ID.Clone()
	text := string(r.ID.Raw)
	if e := p.open[text]; e != nil {
		old := e.Value.(*request)
		switch {
		case !r.Call:
			r.Call, r.Tool = old.Call, old.Tool
		case old.Call && old.Tool != r.Tool:
			r.Tool = ""
		}
		p.remove(e)
	}
	for p.order.Len() >= p.max {
		p.remove(p.order.Front())
	}
	key := r.ID.Key()
	p.open[text] = p.order.PushBack(&r)
	p.same[key] = append(p.same[key], text)
}

// answered closes the request that an answer with this id is for. known is false
// if there is none: the id is unknown, was answered before, or was evicted.
func (p *pairing) answered(id wire.ID) (r request, known bool) {
	e := p.find(id)
	if e == nil {
		return request{}, false
	}
	p.remove(e)
	return *e.Value.(*request), true
}

func (p *pairing) has(id wire.ID) bool { return p.find(id) != nil }

func (p *pairing) find(id wire.ID) *list.Element {
	if e := p.open[string(id.Raw)]; e != nil {
		return e
	}
	if texts := p.same[id.Key()]; len(texts) == 1 {
		return p.open[texts[0]]
	}
	return nil
}

func (p *pairing) remove(e *list.Element) {
	r := p.order.Remove(e).(*request)
	text, key := string(r.ID.Raw), r.ID.Key()
	delete(p.open, text)
	left := p.same[key][:0]
	for _, t := range p.same[key] {
		if t != text {
			left = append(left, t)
		}
	}
	if len(left) == 0 {
		delete(p.same, key)
	} else {
		p.same[key] = left
	}
}
