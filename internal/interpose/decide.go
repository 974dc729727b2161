package interpose

import (
	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// A Decider judges the Calls of one client frame. With one, a Session enforces:
// only frames that can be read one way only pass, and only if all Calls in them
// are allowed.
type Decider interface {
	// Decide judges calls[i] into verdicts[i], all under one Policy Set, whose
	// hash it returns. The frame goes as a whole: if one Call is not allowed,
	// none is, and what was reserved for the others is given back. With no
	// calls it tells the hash of the set in force. An error says that the
	// evaluation itself failed; the verdicts refuse then.
	Decide(calls []ToolCall, verdicts []Verdict) (aar.PolicySetHash, error)
	// Unread tells whether a frame that nobody can judge is refused, which it
	// is wherever a denial is enforced, and not merely watched.
	Unread(m wire.Message, reason string) (refuse bool)
}

// ToolCall is what a verdict turns on, and the id it came with.
type ToolCall struct {
	ID        wire.ID
	Tool      string
	Arguments []byte // JSON text as it was sent, nil without any
}

// Verdict is the answer to a ToolCall. The zero Verdict refuses.
type Verdict struct {
	Policy      aar.Policy
	MatchedRule string // empty when the default decided
	Derived     []aar.Derived
	// Capability, if not empty, is why the capability station refuses a Call
	// that the Policy Set allows: there is no such tool.
	Capability string
	// Findings are what was seen and let pass all the same.
	Findings []aar.Finding
	// Code, Rule and Reason are what the client is told of a refusal; an empty
	// Code is that of the Policy. Rule and Reason are also set of a denial that
	// was only watched.
	Code         Code
	Rule, Reason string
}

func (v *Verdict) refuses() bool { return v.Policy.Status != aar.Allowed || v.Capability != "" }

// refusal is what the client is told of a call that is refused.
func (v *Verdict) refusal(e *wire.Element) Refusal {
	r := Refusal{ID: e.ID, Tool: e.Tool, Code: v.Code, Rule: v.Rule, Reason: v.Reason}
	switch {
	case r.Code != "":
	case v.Capability != "":
		r.Code = CapabilityDenied
	default:
		r.Code = codeOf(v.Policy)
	}
	return r
}

// judgement is what was decided about the Calls of one frame.
type judgement struct {
	hash     aar.PolicySetHash
	verdicts []Verdict // one for each Call, in order
	refused  bool
	aborted  bool // no verdict: the session ends
}

// judge asks the decider; without one every Call is allowed.
func (s *Session) judge(elements []wire.Element) judgement {
	var calls []ToolCall
	for i := range elements {
		if e := &elements[i]; e.IsCall {
			calls = append(calls, ToolCall{ID: e.ID, Tool: e.Tool, Arguments: e.Arguments})
		}
	}
	j := judgement{hash: aar.PassThrough, verdicts: make([]Verdict, len(calls))}
	if s.cfg.Decider == nil {
		for i := range j.verdicts {
			j.verdicts[i].Policy.Status = aar.Allowed
		}
		return j
	}
	var fault error
	j.hash, fault = s.cfg.Decider.Decide(calls, j.verdicts)
	j.aborted = s.failed(fault)
	for i := range j.verdicts {
		j.refused = j.refused || j.verdicts[i].refuses()
	}
	return j
}

// setInForce is the hash of the Policy Set that governs a frame nobody can judge.
func (s *Session) setInForce() aar.PolicySetHash {
	if s.cfg.Decider == nil {
		return aar.PassThrough
	}
	hash, _ := s.cfg.Decider.Decide(nil, nil)
	return hash
}

// unevaluated is what is known of a Call before any station was reached.
func (s *Session) unevaluated(hash aar.PolicySetHash) aar.Outcome {
	o := aar.Unevaluated(hash)
	o.SurfaceDigest, o.Confinement = s.cfg.Surface, s.confinement
	return o
}
