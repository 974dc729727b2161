package interpose

import (
	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// An Inspector rules on what the server answers before the client sees it. With
// one, a Session keeps account of every request, not of Calls alone, and lets
// go of the oldest beyond [Config.MaxInFlight]: the client is always read.
type Inspector interface {
	// Inspect rules on one answer.
	Inspect(a Answer) Ruling
	// OverCap is told of a frame that passes unread because it is too long.
	OverCap(from Side)
}

// Side is an end of the relay.
type Side uint8

// The two ends.
const (
	Client Side = iota
	Server
)

// String is the side's name in notes.
func (s Side) String() string {
	if s == Client {
		return "client"
	}
	return "server"
}

// Request is what an Inspector is told of the request that was answered.
type Request struct {
	Method string
	Tool   string // of a tools/call
	Cursor string // JSON text of params.cursor of a list, empty without
}

// or is what an answer may be to, when two requests have the same id: a call if
// one of them is, and of no known tool unless both are of the same.
func (r Request) or(other Request) Request {
	switch {
	case r.Method == other.Method:
		if r.Tool != other.Tool {
			r.Tool = ""
		}
		return r
	case other.Method == wire.MethodCall, other.Method == wire.MethodList && r.Method != wire.MethodCall:
		return other
	}
	return r
}

// Answer is a message, or text, of the server that the client may take for the
// answer to a request.
type Answer struct {
	// Request is what it answers. It is nil if the id is unknown, because it was
	// never asked for, was answered before or was let go of: that may be a Call.
	Request *Request
	ID      wire.ID // absent if none was readable
	Raw     []byte  // its JSON text
	// Exact is set if Raw is one JSON value that every reader takes the same way.
	Exact bool
	// Stray is set for text that no reader takes for an answer. It passes
	// whatever the Ruling.
	Stray bool
}

// Ruling is what becomes of an Answer. The zero Ruling lets it pass.
type Ruling struct {
	// Instead replaces Raw; nil lets it pass as it came.
	Instead []byte
	// Refused is set if Instead is an error of ours: nothing of Raw is left.
	Refused bool
	// Findings go on record with the Call.
	Findings []aar.Finding
	// Fault says that the inspection itself failed. The answer passes.
	Fault error
}

// StrictAbort says that a station failed in a Session that tolerates no failure.
type StrictAbort struct{ Fault error }

func (e *StrictAbort) Error() string { return "strict: " + e.Fault.Error() }

func (e *StrictAbort) Unwrap() error { return e.Fault }

// failed is told that a station could not do its work, and tells whether that
// ends the session.
func (s *Session) failed(fault error) bool {
	if fault == nil || !s.cfg.Strict {
		return false
	}
	s.stop(&StrictAbort{fault})
	return true
}

// inspected has the answers in a server frame inspected, records them and passes
// the frame on. If the session is aborted first, or by this frame, it does none
// of it: the requests are as open as all the others.
func (s *Session) inspected(f wire.Frame, whole bool) bool {
	body, settled, ok := s.inspectFrame(f, wire.Classify(f.Body))
	rewritten := body != nil
	raw := f.Raw
	switch {
	case !rewritten:
		body = f.Body
	case s.server.framing() == wire.ContentLength:
		raw = wire.Append(nil, wire.ContentLength, body)
	default:
		raw = append(body[:len(body):len(body)], f.Raw[len(f.Body):]...)
	}
	if ok && s.deliver(raw, whole, func() { s.settleInspected(f.Body, body, rewritten, settled) }) {
		return true
	}
	for _, c := range settled {
		s.open(c.request)
	}
	return false
}

// inspectFrame has the answers in a server frame ruled on. body is what stands
// in for the frame's, nil if it passes as it came. It is not ok if the session
// ends because an answer could not be inspected.
func (s *Session) inspectFrame(f wire.Frame, m wire.Message) (body []byte, settled []settlement, ok bool) {
	if m.Class == wire.Exact {
		var out []byte
		copied := 0
		for i := range m.Elements {
			e := &m.Elements[i]
			if e.Kind != wire.Response {
				continue
			}
			r, ok := s.inspectAnswer(Answer{ID: e.ID, Raw: e.Raw, Exact: true}, &settled)
			if !ok {
				return nil, settled, false
			}
			if r.Instead == nil {
				continue
			}
			out = append(append(out, f.Body[copied:e.Offset]...), r.Instead...)
			copied = e.Offset + len(e.Raw)
		}
		if out != nil {
			body = append(out, f.Body[copied:]...)
		}
		return body, settled, true
	}

	// Some reader may find an answer in it, but not in what only asks or
	// tells something, nor in a banner without an id.
	stray := m.Kind != wire.Response && (m.Kind != wire.Other || !m.ID.Present())
	r, ok := s.inspectAnswer(Answer{ID: m.ID, Raw: f.Body, Stray: stray}, &settled)
	if !stray {
		body = r.Instead
	}
	return body, settled, ok
}

// settlement is an open request with the ruling on its answer.
type settlement struct {
	request *openRequest
	ruling  Ruling
}

// inspectAnswer finds out what is answered, and has the answer ruled on. It is
// not ok if that ends the session.
func (s *Session) inspectAnswer(a Answer, settled *[]settlement) (r Ruling, ok bool) {
	var open *openRequest
	if a.ID.Present() && !a.Stray {
		open = s.ledger.take(a.ID)
	}
	if open != nil {
		a.Request = &open.asked
	}
	r = s.cfg.Inspector.Inspect(a)
	if open != nil {
		*settled = append(*settled, settlement{open, r})
	}
	return r, !s.failed(r.Fault)
}

// settleInspected writes the outcome of the answered calls, before a byte of
// the frame reaches the client.
func (s *Session) settleInspected(received, sent []byte, rewritten bool, settled []settlement) {
	if s.cfg.Recorder == nil {
		return
	}
	var got, gave *aar.ResponseDigest
	for _, c := range settled {
		if c.request.call == nil {
			continue
		}
		if got == nil {
			d := aar.DigestResponse(received)
			got, gave = &d, &d
			if rewritten {
				d := aar.DigestResponse(sent)
				gave = &d
			}
		}
		o := s.answeredOutcome(c.request)
		o.Findings = append(o.Findings, c.ruling.Findings...)
		if rewritten {
			o.ReceivedDigest = got
		}
		if !c.ruling.Refused {
			o.ResponseDigest = gave
		}
		s.end(c.request, o)
	}
}
