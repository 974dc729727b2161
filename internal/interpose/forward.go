package interpose

import (
	"bytes"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// forwardCalls puts the calls of a frame on record and sends it on its way.
func (s *Session) forwardCalls(f wire.Frame, m wire.Message, j judgement) {
	digest := aar.DigestRequest(f.Body)
	p := parcel{raw: f.Raw}
	p.undeliverable = func(code Code, err error) { s.undelivered(p.calls, m.Elements, m.Batch, code, err) }
	var unanswerable []*openRequest
	p.delivered = func() {
		for _, c := range unanswerable {
			s.end(c, hostDenied(c.known, "notification: no answer defined"))
		}
	}
	for i := range m.Elements {
		e := &m.Elements[i]
		if !e.IsCall {
			continue
		}
		c, err := s.begin(e.Tool, digest, j.hash, &j.verdicts[len(p.calls)])
		if err != nil {
			s.refuseUndelivered(p.calls, m.Elements, m.Batch, AuditError, err)
			return
		}
		p.calls = append(p.calls, c)
		if !e.ID.Present() {
			unanswerable = append(unanswerable, c)
			continue
		}
		c.id, c.asked = e.ID.Clone(), request(e)
	}
	// Only now: a frame that is refused takes no call's place.
	for _, c := range p.calls {
		if c.id.Present() {
			s.open(c)
		}
	}
	s.openOthers(m)
	s.outbox.put(p)
}

// openOthers notes the requests of a frame that are no calls, if anybody wants
// to know what answers them.
func (s *Session) openOthers(m wire.Message) {
	if s.cfg.Inspector == nil {
		return
	}
	for i := range m.Elements {
		if e := &m.Elements[i]; !e.IsCall && e.Kind == wire.Request {
			s.open(&openRequest{id: e.ID.Clone(), asked: request(e)})
		}
	}
}

// openUnread notes a request that was not read but for its id. If any reader
// could find a call in it, it is one.
func (s *Session) openUnread(m wire.Message) {
	if s.cfg.Inspector == nil || !m.ID.Present() || !m.MayCall && m.Kind != wire.Request {
		return
	}
	r := &openRequest{id: m.ID.Clone()}
	if m.MayCall {
		r.asked.Method = wire.MethodCall
	}
	s.makeRoom(1)
	s.open(r)
}

// open notes a request that is on its way to the server, or whose answer is
// withheld by an abort.
func (s *Session) open(c *openRequest) {
	old, closed := s.ledger.add(c)
	if old != nil {
		s.end(old, hostDenied(old.known, "session abandoned"))
	}
	if closed {
		s.abandon([]*openRequest{c}, byAbort) // what was not forwarded has its own reason
	}
}

// request is what an Inspector is told of a request.
func request(e *wire.Element) Request {
	return Request{Method: e.Method, Tool: e.Tool, Cursor: string(e.Cursor)}
}

// begin writes an intent with the verdict that the call is forwarded under.
func (s *Session) begin(tool string, digest aar.RequestDigest, hash aar.PolicySetHash, v *Verdict) (*openRequest, error) {
	if s.cfg.Recorder == nil {
		return &openRequest{call: unrecorded{}}, nil
	}
	call, err := s.cfg.Recorder.Begin(tool, digest, s.unevaluated(hash))
	if err != nil {
		return nil, err
	}
	grant := "wrap-passthrough-" + call.ID()
	known := aar.Outcome{
		PolicySetHash: hash,
		Policy:        v.Policy,
		// Nothing is minted here: the grant that denies all says so.
		Capability:    aar.Capability{Status: aar.Granted, Grant: aar.Grant{GrantID: grant, ToolID: call.ToolID()}},
		GrantID:       grant,
		DecisionAxes:  v.axes(),
		Findings:      v.Findings,
		SurfaceDigest: s.cfg.Surface,
		Confinement:   s.confinement,
	}
	call.Know(known)
	return &openRequest{call: call, known: known}, nil
}

func (v *Verdict) axes() aar.Axes { return aar.Axes{MatchedRule: v.MatchedRule, Derived: v.Derived} }

// forwardUnread passes on a frame that may be a call under some reading but
// was not read as one. Which call, and what answers it, nobody can tell.
func (s *Session) forwardUnread(f wire.Frame, m wire.Message) {
	asked := []wire.Element{{IsCall: true, ID: m.ID}}
	c, err := s.begin(aar.UnknownTool, aar.DigestRequest(f.Body), aar.PassThrough, &Verdict{Policy: aar.Policy{Status: aar.Allowed}})
	if err != nil {
		s.refuseUndelivered(nil, asked, false, AuditError, err)
		return
	}
	calls := []*openRequest{c}
	s.outbox.put(parcel{
		raw:           f.Raw,
		calls:         calls,
		undeliverable: func(code Code, err error) { s.undelivered(calls, asked, false, code, err) },
		delivered:     func() { s.end(c, hostDenied(c.known, unread(m)+"; forwarded, its answer is not known")) },
	})
}

// forwardOverCap passes on a frame that is too long to hold.
func (s *Session) forwardOverCap(r *wire.Reader, f wire.Frame) {
	s.outbox.put(parcel{raw: f.Raw})
	size := int64(len(f.Body))
	// What is wrong with the rest, Next will say.
	_ = r.Rest(func(chunk []byte) error {
		s.outbox.put(parcel{raw: bytes.Clone(chunk)})
		size += int64(len(withoutLF(r, chunk)))
		return nil
	})
	s.passedUnread(Client, size)
}

// passedUnread tells that a frame of so many bytes was too long to be held.
func (s *Session) passedUnread(from Side, size int64) {
	s.note("passed a %s frame of %d bytes, which is over the cap of %d", from, size, s.cfg.MaxFrame)
	if s.cfg.Inspector != nil {
		s.cfg.Inspector.OverCap(from)
	}
	if s.cfg.Tracer != nil {
		s.cfg.Tracer.Omitted(from, size)
	}
}

// unread says in the record's words why a frame was not read.
func unread(m wire.Message) string { return "ambiguous frame: " + m.Reason }
