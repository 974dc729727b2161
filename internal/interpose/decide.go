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
	// calls it tells the hash of the set in force.
	Decide(calls []ToolCall, verdicts []Verdict) aar.PolicySetHash
}

// ToolCall is what a verdict turns on.
type ToolCall struct {
	Tool      string
	Arguments []byte // JSON text as it was sent, nil without any
}

// Verdict is the answer to a ToolCall.
type Verdict struct {
	Policy      aar.Policy
	MatchedRule string // empty when the default decided
}

// judgement is what was decided about the Calls of one frame.
type judgement struct {
	hash     aar.PolicySetHash
	verdicts []Verdict // one for each Call, in order
	refused  bool
}

// judge asks the decider; without one every Call is allowed.
func (s *Session) judge(elements []wire.Element) judgement {
	var calls []ToolCall
	for i := range elements {
		if e := &elements[i]; e.IsCall {
			calls = append(calls, ToolCall{Tool: e.Tool, Arguments: e.Arguments})
		}
	}
	j := judgement{hash: aar.PassThrough, verdicts: make([]Verdict, len(calls))}
	if s.cfg.Decider == nil {
		for i := range j.verdicts {
			j.verdicts[i].Policy.Status = aar.Allowed
		}
		return j
	}
	j.hash = s.cfg.Decider.Decide(calls, j.verdicts)
	for _, v := range j.verdicts {
		j.refused = j.refused || v.Policy.Status != aar.Allowed
	}
	return j
}

// setInForce is the hash of the Policy Set that governs a frame nobody can judge.
func (s *Session) setInForce() aar.PolicySetHash {
	if s.cfg.Decider == nil {
		return aar.PassThrough
	}
	return s.cfg.Decider.Decide(nil, nil)
}
