package guard

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/trace"
	"github.com/aegis-aar/aegis/internal/wire"
)

// ResultFinding is what the catalog found in an answer with that id to a call of
// that tool, as the outputs tell it.
func ResultFinding(f *inspect.Finding, id wire.ID, tool string) report.Finding {
	out := report.Finding{
		RuleID: f.RuleID, SubRule: f.SubRule, Severity: f.Severity, Level: f.Level, Tier: string(f.Tier),
		Action: report.Action(f.Action), Direction: string(trace.Server), RPCID: rpcID(id), Tool: tool,
		Pointer: f.Pointer, Message: f.Message, Snippet: f.Snippet, Matched: f.MatchedPhrases,
	}
	if f.BlockIndex >= 0 {
		out.Block = &f.BlockIndex
	}
	return out
}

// ResultRules are the rules of the catalog, as SARIF tells them.
func ResultRules() []report.Rule {
	var rules []report.Rule
	for _, r := range inspect.Rules() {
		rules = append(rules, report.Rule{ID: r.ID, Short: r.Short, Full: r.Full, Help: r.Help, Severity: r.Severity, Level: r.Level})
	}
	return rules
}

func rpcID(id wire.ID) jsontext.Value {
	if !id.Present() {
		return nil
	}
	return jsontext.Value(id.Raw)
}
