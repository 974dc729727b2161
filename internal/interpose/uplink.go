package interpose

import (
	"errors"
	"fmt"

	"github.com/aegis-aar/aegis/internal/wire"
)

// uplink reads the client until its stream or the session ends.
func (s *Session) uplink(r *wire.Reader) {
	for {
		f, err := r.Next()
		if err != nil {
			if framing, ok := errors.AsType[*wire.FramingError](err); ok {
				s.stop(fmt.Errorf("client: %w", framing))
			}
			return
		}
		s.client.saw(r.Framing())
		if !s.sameFraming() {
			return
		}
		switch {
		case f.OverCap && s.unarmed():
			s.forwardOverCap(r, f)
		case f.OverCap: // blank as far as it was read, it may be, and say something behind that
			s.refuseOverCap(r, f)
		case f.Blank():
			s.outbox.put(parcel{raw: f.Raw})
		default:
			s.trace(Client, f)
			s.clientFrame(f, wire.Classify(f.Body))
		}
	}
}

// unarmed tells whether nothing depends on what the client sends.
func (s *Session) unarmed() bool { return s.cfg.Decider == nil && s.cfg.Recorder == nil }

func (s *Session) clientFrame(f wire.Frame, m wire.Message) {
	calls, requests := 0, 0
	for i := range m.Elements {
		switch e := &m.Elements[i]; {
		case e.IsCall:
			calls++
		case e.Kind == wire.Request:
			requests++
		}
	}
	switch {
	case m.Class != wire.Exact && s.cfg.Decider != nil && s.cfg.Decider.Unread(m, unread(m)):
		s.refuseUnread(f, m)
	case m.Class != wire.Exact && m.MayCall:
		s.openUnread(m)
		s.forwardUnread(f, m)
	case m.Class != wire.Exact:
		s.openUnread(m)
		s.outbox.put(parcel{raw: f.Raw})
	case calls == 0:
		if s.cfg.Inspector != nil {
			s.makeRoom(requests)
			s.openOthers(m)
		}
		s.noteCancelled(m)
		s.outbox.put(parcel{raw: f.Raw})
	default:
		if s.cfg.Inspector != nil {
			s.makeRoom(calls + requests)
		} else {
			s.waitRoom(calls)
		}
		switch j := s.judge(m.Elements); {
		case j.aborted:
			s.abandonCalls(f, m, j)
		case j.refused:
			s.refuseCalls(f, m, j)
		default:
			s.noteCancelled(m)
			s.forwardCalls(f, m, j)
		}
	}
}

// waitRoom reads no more of the client until there is room for its calls.
func (s *Session) waitRoom(calls int) {
	for _, c := range s.ledger.waitRoom(calls) {
		s.end(c, hostDenied(c.known, byClient))
	}
}

// makeRoom lets go of requests that have waited longest.
func (s *Session) makeRoom(requests int) {
	for _, c := range s.ledger.letGo(requests) {
		s.end(c, hostDenied(c.known, "let go of: too many requests in flight"))
	}
}

// noteCancelled marks the calls that a forwarded frame cancels.
func (s *Session) noteCancelled(m wire.Message) {
	for i := range m.Elements {
		if id := m.Elements[i].CancelID; id.Present() {
			s.ledger.cancel(id)
		}
	}
}
