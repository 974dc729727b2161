package lock

import (
	"strings"

	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/secret"
)

// Rules are all that the lock commands may tell of, as SARIF describes them.
func Rules() []report.Rule {
	rules := DriftRules()
	add := func(id, severity, short, help string) {
		rules = append(rules, report.Rule{ID: id, Severity: severity, Short: short, Help: help})
	}
	const grant = "Approve the tool only if it needs this; a policy narrows what it may touch."
	add(RuleShell, report.Critical, "A tool can run commands.", grant)
	add(RuleWrite, report.High, "A tool can write files.", grant)
	add(RuleRead, report.Medium, "A tool can read files.", grant)
	add(RuleHTTP, report.High, "A tool can send requests over the network.", grant)
	add(RuleSQL, report.High, "A tool can run database queries.", grant)
	const exact = "Name an exact version, so that every start runs the code that was looked at."
	add(RuleNPXUnpinned, report.High, "npx starts whatever version is the newest.", exact)
	add(RuleUVXUnpinned, report.High, "uvx starts whatever version is the newest.", exact)
	add(RulePIPUnpinned, report.High, "pip installs whatever version is the newest.", exact)
	add(RuleLatestTag, report.High, "A package is named with the tag latest.", exact)
	add(RuleCurlPipe, report.Critical, "The command fetches a program from the network and runs it.", "Install the program once, look at it, and start that.")
	add(RuleMalformed, report.Low, "An input schema is no JSON object.", "Its properties cannot be told from it; ask the server's author.")
	for _, r := range secret.Rules() {
		add(r.ID, r.Severity, r.Title, r.Help)
	}
	for _, r := range inspect.Rules() {
		switch r.ID {
		case inspect.RuleANSI, inspect.RuleInvisible:
			add(r.ID, r.Severity, strings.Replace(r.Short, "in a result", "in a definition or a result", 1), "A model reads what a person cannot see. Look at the code points named before you approve the definition.")
		case inspect.RuleLockInvalid:
			add(r.ID, r.Severity, r.Short, r.Help)
		}
	}
	return rules
}

// DriftRules are the rules of the classes of drift.
func DriftRules() []report.Rule {
	var rules []report.Rule
	for _, class := range Classes() {
		rules = append(rules, report.Rule{
			ID: RuleOf(class), Severity: SeverityOf(class),
			Short: "The server differs from its lock: " + class + ".",
			Help:  "Look at the difference with `aegis check` or `aegis diff`. If it is meant, approve it with `aegis pin --approve`.",
		})
	}
	return rules
}

// Finding is the drift as the outputs tell it. Its file is that of the lock.
func (d *Drift) Finding() report.Finding {
	f := report.Finding{
		Kind: "drift", RuleID: d.Rule, Severity: d.Severity, Tier: "block", DriftClass: d.Class, Target: d.Target, Message: d.Message,
	}
	if d.Detail != "" {
		f.Message += " (" + d.Detail + ")"
	}
	f.Tool, _ = strings.CutPrefix(d.Target, "tools/")
	if f.Tool == d.Target {
		f.Tool = ""
	}
	return f
}

// Finding is the finding as the outputs tell it.
func (s *Finding) Finding() report.Finding {
	f := report.Finding{
		Kind: "static-finding", RuleID: s.RuleID, Severity: s.Severity, Tier: "note", Target: s.Target, Message: s.Message, Snippet: s.Snippet,
	}
	f.Tool, _ = strings.CutPrefix(s.Target, "tools/")
	if f.Tool == s.Target {
		f.Tool = ""
	}
	return f
}
