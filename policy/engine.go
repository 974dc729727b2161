package policy

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/derive"
)

// Status is the outcome of a verdict. The zero Status is Denied, so that a
// Verdict nobody filled in refuses.
type Status uint8

// The four verdicts on a Call.
const (
	Denied Status = iota
	Allowed
	RateLimited
	PendingApproval
)

var statusTokens = [...]string{
	Denied: "denied", Allowed: "allowed", RateLimited: "rate_limited", PendingApproval: "pending_approval",
}

// String is the status's token in a record.
func (s Status) String() string { return statusTokens[s] }

// Verdict is the decision on one Call.
type Verdict struct {
	Status      Status
	Reason      string  // of Denied and RateLimited
	ApprovalID  string  // of PendingApproval
	MatchedRule string  // id of the rule that decided, `tools.<tool>.<shape>` or `defaults.<shape>`; empty if the default did
	Limits      *Limits // ceilings of an allowed Call, read-only; nil for none

	Code  Code   // why it is not allowed; empty if it is
	Notes []Code // of the argument half, on an allowed Call as well
	// Params are the derived parameters, for the record: nil unless the Set has
	// an argument half, or the Engine derives in any case.
	Params derive.Params
	// Derived is set where the parameters were derived, though there may be none.
	Derived bool
}

const defaultDenyReason = "no matching rule (default deny)"

// Engine decides the Calls of one Session: the Set in force, its rate windows
// and its approval counter. All methods are safe for use by many goroutines.
// A decision that meets no rate_limit and no pending_approval rule takes no
// lock and allocates nothing.
type Engine struct {
	set     atomic.Pointer[Set]
	session string
	clock   func() time.Duration
	surface *Surface
	derives bool // even if no Set has an argument half

	mu      sync.Mutex // guards what follows
	windows windows
	parked  uint64 // approval ids given out
}

// Option sets what an Engine otherwise chooses for itself.
type Option func(*Engine)

// WithClock sets the monotonic clock of the rate windows: the time since any
// fixed moment.
func WithClock(clock func() time.Duration) Option {
	return func(e *Engine) { e.clock = clock }
}

// WithSessionToken sets the last part of every approval id, by default 16
// random hex digits: the counter before it begins at 1 in each Session, and
// approval ids must not repeat within a file that holds many.
func WithSessionToken(token string) Option {
	return func(e *Engine) { e.session = token }
}

// WithSurface sets the tools of the lock in force: its capabilities then say
// what a tool does, and a binding that is pinned to another schema refuses.
func WithSurface(surface *Surface) Option {
	return func(e *Engine) { e.surface = surface }
}

// WithDerive derives the parameters of every Call for the record, even if the
// policy has no argument half.
func WithDerive() Option {
	return func(e *Engine) { e.derives = true }
}

// NewEngine returns an Engine with s in force; a nil s allows all.
func NewEngine(s *Set, opts ...Option) *Engine {
	if s == nil {
		s = AllowAll()
	}
	start := time.Now()
	e := &Engine{clock: func() time.Duration { return time.Since(start) }}
	e.set.Store(s)
	for _, opt := range opts {
		opt(e)
	}
	if e.session == "" {
		var token [8]byte
		rand.Read(token[:]) // never fails: the runtime ends the program instead
		e.session = hex.EncodeToString(token[:])
	}
	return e
}

// Set is the Policy Set in force.
func (e *Engine) Set() *Set { return e.set.Load() }

// Swap puts s in force for every Decide that begins afterwards. Rate windows
// and the approval counter survive: a reload must not hand out fresh quota.
func (e *Engine) Swap(s *Set) { e.set.Store(s) }

// Decide judges the Calls of one frame, the argument half first, reqs[i] into verdicts[i], under one Set,
// whose hash it returns. The frame goes as a whole: if any Call is not allowed,
// refused is true and every rate slot charged for the others is given back as
// if it had never been taken. Approval ids that were given out stay used.
//
// verdicts must be at least as long as reqs.
func (e *Engine) Decide(reqs []Request, verdicts []Verdict) (hash aar.PolicySetHash, refused bool) {
	set := e.set.Load()
	stateful := false
	for i, req := range reqs {
		var v Verdict
		if e.derives || set.arguments != nil {
			v = e.judge(set, req)
			if v.Code != "" {
				verdicts[i], refused = v, true
				continue
			}
		}
		m := set.Evaluate(req)
		verdicts[i] = m.verdict(v)
		switch m.Action {
		case Deny:
			refused = true
		case RateLimit, PendApproval:
			stateful = true
		}
	}
	if stateful {
		refused = e.consult(set, reqs, verdicts) || refused
	}
	return set.hash, refused
}

// guessing is the argument half of a Set that has none: it derives by the names
// of a call.
var guessing = compiled(&argumentHalf{})

// judge asks the argument half. A refusal has a Code, anything else is to be
// filled in by the rules.
func (e *Engine) judge(set *Set, req Request) Verdict {
	if set.arguments == nil {
		return Verdict{Params: guessing.judge(req, e.surface, false).Params, Derived: true}
	}
	j := set.arguments.judge(req, e.surface, false)
	v := Verdict{Notes: j.Notes, Params: j.Params, Derived: true}
	if j.Denied != nil {
		v.Status, v.Reason, v.MatchedRule, v.Code = Denied, j.Denied.Reason, j.Denied.Rule, j.Denied.Code
	}
	return v
}

// verdict adds to what the argument half said the decision of a match that
// consults no counter. For the two actions that do, it refuses until consult has
// answered.
func (m Match) verdict(v Verdict) Verdict {
	if m.Rule == nil {
		v.Status = Allowed
		if m.Action == Deny {
			v.Status, v.Reason, v.Code = Denied, defaultDenyReason, CodeRuleDeny
		}
		return v
	}
	v.Status, v.MatchedRule = Denied, m.Rule.ID
	switch m.Action {
	case Allow:
		v.Status, v.Limits = Allowed, m.Rule.Limits
	case RateLimit:
		v.Status, v.Reason = RateLimited, m.Rule.refusal
	case PendApproval:
		v.Status = PendingApproval
	case Deny:
		v.Reason = m.Rule.refusal
	}
	v.Code = v.Status.code()
	return v
}

// byRules reports whether the argument half has let the Call pass.
func (v *Verdict) byRules() bool { return v.Code == "" || v.Code == v.Status.code() }

// consult charges the rate windows and gives out the approval ids of one
// frame, all under one lock, and reports whether the frame is refused.
func (e *Engine) consult(set *Set, reqs []Request, verdicts []Verdict) (refused bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock()
	for i, req := range reqs {
		if !verdicts[i].byRules() {
			refused = true // and charged nothing
			continue
		}
		m := set.Evaluate(req)
		switch m.Action {
		case RateLimit:
			switch e.windows.charge(windowKey(m.Rule, req), *m.Rule.Rate, now) {
			case admitted:
				v := &verdicts[i]
				v.Status, v.Reason, v.Code, v.Limits = Allowed, "", "", m.Rule.Limits
			case tableFull:
				verdicts[i].Reason = tableFullReason
			}
		case PendApproval:
			verdicts[i].ApprovalID = e.approvalID(m.Rule, req.Tool)
		}
		refused = refused || verdicts[i].Status != Allowed
	}
	if refused {
		e.windows.undo()
	}
	e.windows.commit()
	return refused
}

// approvalID is `apr-<rule>-<tool>-<n>-<session token>`, n from 1.
func (e *Engine) approvalID(r *Rule, tool string) string {
	e.parked++
	return "apr-" + r.ID + "-" + aar.BoundedName(tool) + "-" + strconv.FormatUint(e.parked, 10) + "-" + e.session
}
