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
		case f.OverCap: // blank as far as it was read, it may be, and say something behind that
			s.refuseOverCap(r, f)
		case f.Blank():
			s.outbox.put(parcel{raw: f.Raw})
		default:
			s.clientFrame(f, wire.Classify(f.Body))
		}
	}
}

func (s *Session) clientFrame(f wire.Frame, m wire.Message) {
	calls := 0
	for i := range m.Elements {
		if m.Elements[i].IsCall {
			calls++
		}
	}
	switch {
	case m.Class != wire.Exact && s.cfg.Decider != nil:
		s.refuseUnread(f, m)
	case m.Class != wire.Exact && m.MayCall:
		s.forwardUnread(f, m)
	case calls == 0:
		s.noteCancelled(m)
		s.outbox.put(parcel{raw: f.Raw})
	default:
		for _, c := range s.ledger.waitRoom(calls) {
			s.end(c, hostDenied(c.known, byClient))
		}
		if j := s.judge(m.Elements); j.refused {
			s.refuseCalls(f, m, j)
		} else {
			s.noteCancelled(m)
			s.forwardCalls(f, m, j)
		}
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
