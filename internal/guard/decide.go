package guard

import (
	"errors"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/interpose"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/wire"
)

// Decider tells what another one finds, and contains its faults.
func (g *Guard) Decider(next interpose.Decider) interpose.Decider { return decider{g, next} }

type decider struct {
	g    *Guard
	next interpose.Decider
}

// errDecision says that a call could not be judged, and nothing of the call.
var errDecision = errors.New("a call could not be judged")

// Decide implements [interpose.Decider]. A fault refuses.
func (d decider) Decide(calls []interpose.ToolCall, verdicts []interpose.Verdict) (hash aar.PolicySetHash, err error) {
	defer func() {
		if p := recover(); p != nil {
			// What p holds may be an argument: it is not told.
			hash, err = aar.PassThrough, errDecision
			for i := range verdicts {
				verdicts[i] = interpose.Verdict{Policy: aar.Policy{Status: aar.Denied, Reason: errDecision.Error()}, Reason: errDecision.Error()}
			}
			d.g.sinks.Report(report.Finding{
				Kind: "policy-finding", RuleID: ruleFrameError, Severity: report.Low, Tier: "note", Action: report.Blocked,
				Direction: "c2s", Message: errDecision.Error(),
			})
		}
	}()
	if hash, err = d.next.Decide(calls, verdicts); err != nil {
		return hash, err
	}
	for i := range calls {
		d.tell(&calls[i], &verdicts[i])
	}
	return hash, nil
}

// tell reports what was found in a call.
func (d decider) tell(c *interpose.ToolCall, v *interpose.Verdict) {
	f := report.Finding{
		Kind: "policy-finding", Severity: report.High, Tier: "block", Direction: "c2s",
		RPCID: rpcID(c.ID), Tool: c.Tool, RuleID: v.Rule, Message: v.Reason,
	}
	switch {
	case v.Policy.Status != aar.Allowed:
		f.Action = report.Blocked
		d.g.sinks.Report(f)
	case v.Capability != "":
		f.Kind, f.Action, f.DriftClass, f.Target = "drift", report.Blocked, "tool-added", "tools/"+c.Tool
		d.g.sinks.Report(f)
	}
	for _, found := range v.Findings {
		f.Action = report.Action(found.Action)
		f.RuleID, f.Message = found.Rule, v.Reason
		if f.Action == report.Passed {
			f.Severity, f.Tier, f.Message = report.Low, "note", "passed unjudged"
		}
		d.g.sinks.Report(f)
	}
}

// Unread implements [interpose.Decider].
func (d decider) Unread(m wire.Message, reason string) bool {
	refuse := d.next.Unread(m, reason)
	f := report.Finding{
		Kind: "policy-finding", RuleID: "POL-ARG-AMBIGUOUS", Severity: report.High, Tier: "block", Action: report.Shadowed,
		Direction: "c2s", Message: reason,
	}
	if refuse {
		f.Action = report.Blocked
	}
	if m.Kind != wire.Response {
		f.RPCID = rpcID(m.ID)
	}
	d.g.sinks.Report(f)
	return refuse
}
