package report

import "github.com/go-json-experiment/json/jsontext"

// Action says what became of the frame a finding is about.
type Action string

const (
	Blocked  Action = "blocked"  // an error frame took its place
	Modified Action = "modified" // it was passed with something stripped or redacted
	Shadowed Action = "shadowed" // its rule could do so and did not
	Passed   Action = "passed"   // its rule never touches a frame
)

// Severities, highest first.
const (
	Critical = "critical"
	High     = "high"
	Medium   = "medium"
	Low      = "low"
)

// LevelOf is the SARIF level of a severity.
func LevelOf(severity string) string {
	switch severity {
	case Critical, High:
		return "error"
	case Medium:
		return "warning"
	default:
		return "note"
	}
}

// Finding is one fact told by an inspection, a policy, a drift gate or a static
// check. Empty members are left out of the outputs.
//
// Its text may come from a server. Secrets in it must have been redacted by who
// found them; the outputs look once more and redact what still has the shape of
// one. Control and bidi characters need no care: every output escapes them.
type Finding struct {
	// Kind is result-finding of an inspected result; the other kinds are
	// policy-finding, drift and static-finding. Empty is result-finding.
	Kind string

	RuleID  string // verbatim: WRD-RES-…, WRD-SEC-…, POL-…, WRD-DRIFT-…
	SubRule string // the WRD-SEC rule of a secret echo

	Severity string // Critical, High, Medium or Low
	Level    string // error, warning or note; empty is [LevelOf] the severity
	Tier     string // block, monitor or note
	Action   Action // empty where nothing passes by, in the lock commands

	Direction string         // c2s or s2c
	RPCID     jsontext.Value // the id as sent, a string or a number

	Tool    string
	Block   *int   // index of the content block, or nil
	Pointer string // JSON pointer, where no block index says it

	Message string
	Snippet string   // redacted
	Matched []string // phrases of the lists, never other text of a result

	DriftClass string // of the lock commands
	Target     string // what drifted: tools/NAME, resources/URI, prompts/NAME, server

	// File is the user's file that the finding is about, and Line the line in
	// it from 1, 0 if there is none. An empty File means [Options.Subject].
	File string
	Line int
}

func (f *Finding) kind() string {
	if f.Kind == "" {
		return "result-finding"
	}
	return f.Kind
}

func (f *Finding) level() string {
	if f.Level == "" {
		return LevelOf(f.Severity)
	}
	return f.Level
}

// Rule is what SARIF tells of a rule.
type Rule struct {
	ID       string // WRD-RES-ANSI
	Short    string // one sentence, plain text
	Full     string // a paragraph; empty is Short
	Help     string // what to do about it, plain text
	Severity string // the highest its findings have
	Level    string // error, warning or note; empty is [LevelOf] the severity
}

// Summary is what a run tells at its end.
type Summary struct {
	// Frames is how many frames were inspected.
	Frames int64

	// Dropped is how many findings were over the bound of one answer and were
	// not reported.
	Dropped int64

	// Failure says why the run ended before its time, empty if it did not.
	Failure string
}
