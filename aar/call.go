package aar

import (
	"container/list"
	"errors"
)

// Call is the handle of one Call that has its intent on record. It gets
// exactly one outcome, whatever happens: the first of End, Release and the
// Writer's Close decides it.
type Call struct {
	w      *Writer
	intent Intent
	known  Outcome
	at     uint64        // the write that holds the intent
	ended  bool          // guarded by w.mu
	place  *list.Element // in w.open
}

// ID is the call_id, `call-1` for the first Call of a Session.
func (c *Call) ID() string { return c.intent.CallID }

// ToolID is the tool_id as it is recorded.
func (c *Call) ToolID() string { return c.intent.ToolID }

// Know replaces what the record will say if nothing ends the Call; its
// execution is then that of the abandonment.
func (c *Call) Know(known Outcome) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.known = known
}

// Durable returns nil once the intent is durable. The request must not be
// forwarded before. Many Calls may wait at once; one sync serves them all.
func (c *Call) Durable() error { return c.w.syncTo(c.at) }

// End writes the outcome. The handle supplies call_id, tool_id and
// request_digest; the Writer the members of the Chain. If the sink refuses the
// Line, End returns its error, keeps the outcome and retries it before the next
// Line. An outcome that is no Line at all, such as one with text that is not
// UTF-8, is an error too: the record then says that it could not be written. A
// second End does nothing.
func (c *Call) End(outcome Outcome) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.ended {
		return nil
	}
	return c.end(outcome)
}

// end is End for the holder of w.mu, and for a Call that has not ended.
func (c *Call) end(outcome Outcome) error {
	w := c.w
	c.ended = true
	if c.place != nil {
		w.open.Remove(c.place)
	}
	line := c.outcome(outcome)
	_, err := w.append(line)
	failed := err
	if _, never := errors.AsType[*LineError](err); never {
		bare := Unevaluated(outcome.PolicySetHash)
		bare.Execution.Reason = "the outcome could not be written"
		line = c.outcome(bare)
		_, failed = w.append(line)
	}
	if failed != nil {
		w.unplaced = append(w.unplaced, line)
		return failed
	}
	w.syncSoon()
	return err
}

// Release ends the Call if nothing else has: as `session abandoned`, or, when
// deferred directly and the function panics, as a trap, and the panic goes on.
func (c *Call) Release() {
	if r := recover(); r != nil {
		o := c.known
		o.Execution = Execution{Status: Trap, Message: "host panic during tool call"}
		c.End(o)
		panic(r)
	}
	c.End(c.abandoned())
}

func (c *Call) abandoned() Outcome {
	o := c.known
	o.Execution = Execution{Status: HostDenied, Reason: "session abandoned"}
	return o
}

// outcome is the Call's outcome Line, not yet in the Chain.
func (c *Call) outcome(o Outcome) *Outcome {
	o.CallID, o.ToolID, o.RequestDigest = c.intent.CallID, c.intent.ToolID, c.intent.RequestDigest
	return &o
}

// Unevaluated is what is known of a Call before any station was reached.
func Unevaluated(policySet PolicySetHash) Outcome {
	return Outcome{
		PolicySetHash: policySet,
		Policy:        Policy{Status: Denied, Reason: "not evaluated"},
		Capability:    Capability{Status: Denied, Reason: "not evaluated"},
		Execution:     Execution{Status: HostDenied, Reason: "not executed"},
	}
}
