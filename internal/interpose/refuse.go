package interpose

import (
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// refuseCalls refuses a frame because of the verdict on one of its calls. It
// goes as a whole: a batch cannot be thinned out without writing it anew.
func (s *Session) refuseCalls(f wire.Frame, m wire.Message, j judgement) {
	digest := aar.DigestRequest(f.Body)
	verdicts := make(map[*wire.Element]*Verdict, len(m.Elements))
	n := 0
	for i := range m.Elements {
		e := &m.Elements[i]
		if !e.IsCall {
			continue
		}
		v := &j.verdicts[n]
		n++
		o := s.unevaluated(j.hash)
		o.Policy, o.DecisionAxes, o.Findings = v.Policy, v.axes(), v.Findings
		switch {
		case !v.refuses():
			o.Execution.Reason = siblingRefused
		case v.Policy.Status == aar.Allowed:
			o.Capability.Reason, o.Execution.Reason = v.Capability, "capability denied"
			verdicts[e] = v
		default:
			o.Capability.Reason = "policy blocked before capability"
			verdicts[e] = v
		}
		s.record(e.Tool, digest, o)
	}
	s.answer(m.Elements, m.Batch, func(e *wire.Element) Refusal {
		if v := verdicts[e]; v != nil {
			return v.refusal(e)
		}
		return Refusal{ID: e.ID, Tool: e.Tool, Code: HostDenied, Reason: siblingRefused}
	})
}

// abandonCalls records calls that could not be judged in a session that ends of
// it. The end answers them.
func (s *Session) abandonCalls(f wire.Frame, m wire.Message, j judgement) {
	digest := aar.DigestRequest(f.Body)
	for i := range m.Elements {
		e := &m.Elements[i]
		if e.IsCall {
			s.record(e.Tool, digest, s.unevaluated(j.hash))
		}
		if e.ID.Present() && (e.IsCall || e.Kind == wire.Request) {
			s.open(&openRequest{id: e.ID.Clone()})
		}
	}
}

const siblingRefused = "not executed: sibling call in this batch was refused"

// refuseUnread refuses a frame that two honest readers could take differently.
func (s *Session) refuseUnread(f wire.Frame, m wire.Message) {
	s.refuseFrame(m, aar.DigestRequest(f.Body), unread(m))
}

// refuseOverCap takes the rest of a frame over the cap without holding it, and
// refuses it.
func (s *Session) refuseOverCap(r *wire.Reader, f wire.Frame) {
	var scan wire.Scanner
	hash := sha256.New()
	both := io.MultiWriter(&scan, hash)
	both.Write(f.Body)
	size := int64(len(f.Body))
	err := r.Rest(func(chunk []byte) error {
		chunk = withoutLF(r, chunk)
		both.Write(chunk)
		size += int64(len(chunk))
		return nil
	})
	if err != nil {
		return // Next will say what is wrong
	}
	if s.cfg.Tracer != nil {
		s.cfg.Tracer.Omitted(Client, size)
	}
	s.refuseFrame(scan.OverCap(), aar.RequestDigest(hash.Sum(nil)), fmt.Sprintf("frame over the cap of %d bytes", s.cfg.MaxFrame))
}

// withoutLF is the part of a chunk that belongs to the body of its frame.
func withoutLF(r *wire.Reader, chunk []byte) []byte {
	if n := len(chunk); r.Framing() != wire.ContentLength && n > 0 && chunk[n-1] == '\n' {
		return chunk[:n-1]
	}
	return chunk
}

// refuseFrame records and answers a frame that was not read, as one call of an
// unknown tool.
func (s *Session) refuseFrame(m wire.Message, digest aar.RequestDigest, reason string) {
	o := s.unevaluated(s.setInForce())
	o.Policy.Reason, o.Capability.Reason = reason, reason
	s.record(aar.UnknownTool, digest, o)
	asked := wire.Element{IsCall: true}
	if m.Kind != wire.Response {
		// The id of an answer is one of the server's: an error with it would
		// answer another request.
		asked.ID = m.ID
	}
	s.answer([]wire.Element{asked}, false, func(e *wire.Element) Refusal {
		return Refusal{ID: e.ID, Code: HostDenied, Reason: reason}
	})
}

// undelivered refuses a frame whose requests are open. What the end of the
// session has answered already is not answered twice.
func (s *Session) undelivered(begun []*openRequest, elements []wire.Element, batch bool, code Code, err error) {
	if s.cfg.Inspector != nil && s.ledger.forget(begun, elements) {
		return
	}
	s.refuseUndelivered(begun, elements, batch, code, err)
}

// refuseUndelivered refuses a frame that was let pass and is not forwarded all
// the same: its intents are not durable, or the child takes no more input. begun
// are those of its calls that have an intent.
func (s *Session) refuseUndelivered(begun []*openRequest, elements []wire.Element, batch bool, code Code, err error) {
	why := "not executed: " + err.Error()
	if code == AuditError {
		why = "not executed: the record could not be made durable"
		err = fmt.Errorf("it cannot be put on record: %w", err)
	}
	s.note("refused a call: %v", err)
	for _, c := range begun {
		s.ledger.drop(c)
		// Best effort, if it is the record that failed.
		c.call.End(hostDenied(c.known, why))
	}
	s.answer(elements, batch, func(e *wire.Element) Refusal {
		return Refusal{ID: e.ID, Tool: e.Tool, Code: code, Reason: why}
	})
}

// record puts a refused call on record. That it cannot be is no reason to let
// it pass.
func (s *Session) record(tool string, digest aar.RequestDigest, o aar.Outcome) {
	if s.cfg.Recorder == nil {
		return
	}
	if err := s.cfg.Recorder.Record(tool, digest, o); err != nil {
		s.note("a refused call is not on record: %v", err)
	}
}

// answer refuses every call and every request among the elements of a frame.
// A notification in a batch has no answer to wait for, and gets none.
func (s *Session) answer(elements []wire.Element, batch bool, refusal func(*wire.Element) Refusal) {
	var body []byte
	for i := range elements {
		e := &elements[i]
		if !e.IsCall && e.Kind != wire.Request {
			continue
		}
		if len(body) > 0 {
			body = append(body, ',')
		}
		body = s.cfg.Voice.Refused(body, refusal(e))
	}
	if batch {
		body = append(append([]byte{'['}, body...), ']')
	}
	s.outlet.author(wire.Append(nil, s.client.framing(), body), s.client.framing())
}
