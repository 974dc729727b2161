package interpose

import (
	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// forwardCalls puts the calls of a frame on record and sends it on its way.
func (s *Session) forwardCalls(f wire.Frame, m wire.Message, j judgement) {
	digest := aar.DigestRequest(f.Body)
	p := parcel{raw: f.Raw}
	p.undeliverable = func(code Code, err error) { s.refuseUndelivered(p.calls, m.Elements, m.Batch, code, err) }
	var unanswerable []*openCall
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
		c, err := s.begin(e.Tool, digest, j.hash, j.verdicts[len(p.calls)])
		if err != nil {
			s.refuseUndelivered(p.calls, m.Elements, m.Batch, AuditError, err)
			return
		}
		p.calls = append(p.calls, c)
		if !e.ID.Present() {
			unanswerable = append(unanswerable, c)
			continue
		}
		c.id = e.ID.Clone()
	}
	// Only now: a frame that is refused takes no call's place.
	for _, c := range p.calls {
		if !c.id.Present() {
			continue
		}
		if old := s.ledger.add(c); old != nil {
			s.end(old, hostDenied(old.known, "session abandoned"))
		}
	}
	s.outbox.put(p)
}

// begin writes an intent with the verdict that the call is forwarded under.
func (s *Session) begin(tool string, digest aar.RequestDigest, hash aar.PolicySetHash, v Verdict) (*openCall, error) {
	call, err := s.cfg.Recorder.Begin(tool, digest, aar.Unevaluated(hash))
	if err != nil {
		return nil, err
	}
	grant := "wrap-passthrough-" + call.ID()
	known := aar.Outcome{
		PolicySetHash: hash,
		Policy:        v.Policy,
		// Nothing is minted here: the grant that denies all says so.
		Capability:   aar.Capability{Status: aar.Granted, Grant: aar.Grant{GrantID: grant, ToolID: call.ToolID()}},
		GrantID:      grant,
		DecisionAxes: aar.Axes{MatchedRule: v.MatchedRule},
	}
	call.Know(known)
	return &openCall{call: call, known: known}, nil
}

// forwardUnread passes on a frame that may be a call under some reading but
// was not read as one. Which call, and what answers it, nobody can tell.
func (s *Session) forwardUnread(f wire.Frame, m wire.Message) {
	asked := []wire.Element{{IsCall: true, ID: m.ID}}
	c, err := s.begin(aar.UnknownTool, aar.DigestRequest(f.Body), aar.PassThrough, Verdict{Policy: aar.Policy{Status: aar.Allowed}})
	if err != nil {
		s.refuseUndelivered(nil, asked, false, AuditError, err)
		return
	}
	calls := []*openCall{c}
	s.outbox.put(parcel{
		raw:           f.Raw,
		calls:         calls,
		undeliverable: func(code Code, err error) { s.refuseUndelivered(calls, asked, false, code, err) },
		delivered:     func() { s.end(c, hostDenied(c.known, unread(m)+"; forwarded, its answer is not known")) },
	})
}

// unread says in the record's words why a frame was not read.
func unread(m wire.Message) string { return "ambiguous frame: " + m.Reason }
