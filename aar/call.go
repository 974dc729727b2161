package aar

// Call is the handle of one Call that has its intent on record. It gets
// exactly one outcome, whatever happens: the first of End, Release and the
// Writer's Close decides it.
type Call struct {
	w      *Writer
	intent Intent
	known  Outcome
	at     uint64 // the write that holds the intent
	ended  bool   // guarded by w.mu
}

// ID is the call_id, `call-1` for the first Call of a Session.
func (c *Call) ID() string { return c.intent.CallID }

// Durable returns nil once the intent is durable. The request must not be
// forwarded before. Many Calls may wait at once; one sync serves them all.
func (c *Call) Durable() error { return c.w.syncTo(c.at) }

// End writes the outcome. The handle supplies call_id, tool_id and
// request_digest; the Writer the members of the Chain. If the sink refuses the
// Line, End returns its error, keeps the outcome and retries it before the next
// Line. A second End does nothing.
func (c *Call) End(outcome Outcome) error {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.ended {
		return nil
	}
	c.ended = true
	for i, open := range w.open {
		if open == c {
			w.open = append(w.open[:i], w.open[i+1:]...)
			break
		}
	}
	line := c.outcome(outcome)
	if _, err := w.append(line); err != nil {
		w.unplaced = append(w.unplaced, line)
		return err
	}
	w.syncSoon()
	return nil
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
