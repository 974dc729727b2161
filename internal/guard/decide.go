package guard

import (
	"errors"
	"strings"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/interpose"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/trace"
	"github.com/aegis-aar/aegis/internal/wire"
	"github.com/aegis-aar/aegis/lock"
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
				Direction: string(trace.Client), Message: errDecision.Error(),
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
	if v.Policy.Status != aar.Allowed || v.Capability != "" {
		d.g.sinks.Report(callFinding(c, v.Rule, report.Blocked, v.Reason))
	}
	for _, found := range v.Findings {
		message := "would refuse the call if it were not only watched"
		switch action := report.Action(found.Action); {
		case action == report.Passed:
			message = "passed unjudged"
		case found.Rule == v.Rule:
			message = v.Reason
		}
		d.g.sinks.Report(callFinding(c, found.Rule, report.Action(found.Action), message))
	}
}

// callFinding is what a rule found in a call, as the outputs tell it.
func callFinding(c *interpose.ToolCall, rule string, action report.Action, message string) report.Finding {
	f := report.Finding{
		Kind: "policy-finding", RuleID: rule, Severity: report.High, Tier: "block", Action: action,
		Direction: string(trace.Client), RPCID: rpcID(c.ID), Tool: c.Tool, Message: message,
	}
	switch class, drift := strings.CutPrefix(rule, driftRules); {
	case drift:
		f.DriftClass = strings.ToLower(class)
		f.Kind, f.Severity, f.Target = "drift", lock.SeverityOf(f.DriftClass), "tools/"+c.Tool
	case action == report.Passed:
		f.Severity, f.Tier = report.Low, "note"
	}
	return f
}

// Unread implements [interpose.Decider].
func (d decider) Unread(m wire.Message, reason string) bool {
	refuse := d.next.Unread(m, reason)
	f := report.Finding{
		Kind: "policy-finding", RuleID: "POL-ARG-AMBIGUOUS", Severity: report.High, Tier: "block", Action: report.Shadowed,
		Direction: string(trace.Client), Message: reason,
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
