package interpose

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// passThrough is the policy_set_hash of a call that no Policy Set governed.
var passThrough = aar.HashPolicySet([]byte("aegis-wrap-passthrough-v0"))

// unknownTool is the tool_id of a frame that may be a call of nobody knows which tool.
const unknownTool = "<unknown>"

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
		case f.Blank():
			s.outbox.put(parcel{raw: f.Raw})
		case f.OverCap:
			if err := s.refuseOverCap(r, f); err != nil {
				return
			}
		default:
			s.clientFrame(f, wire.Classify(f.Body))
		}
	}
}

func (s *Session) clientFrame(f wire.Frame, m wire.Message) {
	if m.Class != wire.Exact {
		if m.MayCall {
			s.forwardUnjudged(f, m)
		} else {
			s.outbox.put(parcel{raw: f.Raw})
		}
		return
	}
	calls := 0
	for i := range m.Elements {
		e := &m.Elements[i]
		if e.IsCall {
			calls++
		} else if e.CancelID.Present() {
			s.ledger.cancel(e.CancelID)
		}
	}
	if calls == 0 {
		s.outbox.put(parcel{raw: f.Raw})
		return
	}
	s.ledger.waitRoom(calls)
	s.forwardCalls(f, m)
}

// forwardCalls puts the calls of a frame on record and sends it on its way.
func (s *Session) forwardCalls(f wire.Frame, m wire.Message) {
	digest := aar.DigestRequest(f.Body)
	p := parcel{raw: f.Raw}
	p.undeliverable = func(err error) { s.unrecorded(p.calls, m.Elements, m.Batch, err) }
	var superseded []*openCall
	for _, e := range m.Elements {
		if !e.IsCall {
			continue
		}
		c, err := s.begin(e.Tool, digest)
		if err != nil {
			s.unrecorded(p.calls, m.Elements, m.Batch, err)
			return
		}
		p.calls = append(p.calls, c)
		if !e.ID.Present() {
			s.end(c, hostDenied(c.known, "notification: no answer defined"))
			continue
		}
		c.id = e.ID.Clone()
		if old := s.ledger.add(c); old != nil {
			superseded = append(superseded, old)
		}
	}
	for _, old := range superseded {
		s.end(old, hostDenied(old.known, "session abandoned"))
	}
	s.outbox.put(p)
}

// begin writes an intent with the verdict that the call is forwarded under.
func (s *Session) begin(tool string, digest aar.RequestDigest) (*openCall, error) {
	call, err := s.cfg.Recorder.Begin(tool, digest, aar.Unevaluated(passThrough))
	if err != nil {
		return nil, err
	}
	grant := "wrap-passthrough-" + call.ID()
	known := aar.Outcome{
		PolicySetHash: passThrough,
		Policy:        aar.Policy{Status: aar.Allowed},
		// Nothing is minted here: the grant that denies all says so.
		Capability: aar.Capability{Status: aar.Granted, Grant: aar.Grant{GrantID: grant, ToolID: call.ToolID()}},
		GrantID:    grant,
	}
	call.Know(known)
	return &openCall{call: call, known: known}, nil
}

// forwardUnjudged passes on a frame that may be a call under some reading but
// was not read as one. Which call, and what answers it, nobody can tell.
func (s *Session) forwardUnjudged(f wire.Frame, m wire.Message) {
	p := parcel{raw: f.Raw}
	asked := []wire.Element{{IsCall: true, ID: m.ID}}
	p.undeliverable = func(err error) { s.unrecorded(nil, asked, false, err) }
	c, err := s.begin(unknownTool, aar.DigestRequest(f.Body))
	if err != nil {
		p.undeliverable(err)
		return
	}
	p.calls = []*openCall{c}
	s.end(c, hostDenied(c.known, unjudged(m)))
	s.outbox.put(p)
}

func unjudged(m wire.Message) string {
	if m.Class == wire.NotJSON {
		return "frame is not JSON; forwarded, its answer is not known"
	}
	return "ambiguous frame: " + m.Reason + "; forwarded, its answer is not known"
}

// unrecorded refuses a frame whose intents are not durable. begun are those of
// its calls that have an intent all the same.
func (s *Session) unrecorded(begun []*openCall, elements []wire.Element, batch bool, err error) {
	s.note("refused a call: it cannot be put on record: %v", err)
	for _, c := range begun {
		s.ledger.drop(c)
		// Best effort: the same record has just failed.
		c.call.End(hostDenied(c.known, "not executed: the record could not be made durable"))
	}
	s.answer(elements, batch, func(*wire.Element) Code { return AuditError })
}

// answer refuses every call and every request among the elements of a frame.
func (s *Session) answer(elements []wire.Element, batch bool, code func(*wire.Element) Code) {
	var body []byte
	for i := range elements {
		e := &elements[i]
		if !e.IsCall && e.Kind != wire.Request {
			continue
		}
		if len(body) > 0 {
			body = append(body, ',')
		}
		body = appendRefusal(body, code(e), e.ID)
	}
	if batch {
		body = append(append([]byte{'['}, body...), ']')
	}
	s.outlet.author(wire.Append(nil, s.client.framing(), body))
}

// refuseOverCap takes the rest of a frame over the cap without holding it,
// records it as a refused call and answers it.
func (s *Session) refuseOverCap(r *wire.Reader, f wire.Frame) error {
	var scan wire.Scanner
	hash := sha256.New()
	both := io.MultiWriter(&scan, hash)
	both.Write(f.Body)
	err := r.Rest(func(chunk []byte) error {
		if r.Framing() == wire.Newline && chunk[len(chunk)-1] == '\n' {
			chunk = chunk[:len(chunk)-1]
		}
		both.Write(chunk)
		return nil
	})
	if err != nil {
		return err
	}
	m := scan.OverCap()
	if m.Kind == wire.Response {
		// Its id is one of the server's: an error with it would answer another request.
		s.note("dropped an answer of the client to the server: it is longer than %d bytes", s.cfg.MaxFrame)
		return nil
	}
	reason := fmt.Sprintf("frame over the cap of %d bytes", s.cfg.MaxFrame)
	o := aar.Unevaluated(passThrough)
	o.Policy.Reason, o.Capability.Reason = reason, reason
	if err := s.cfg.Recorder.Record(unknownTool, aar.RequestDigest(hash.Sum(nil)), o); err != nil {
		s.note("a refused frame is not on record: %v", err)
	}
	s.answer([]wire.Element{{IsCall: true, ID: m.ID}}, false, func(*wire.Element) Code { return HostDeniedCode })
	return nil
}
