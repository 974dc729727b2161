package policy

// Code says why a Call is refused, or what is to be said about one that is not.
// The text of a reason may change, the code does not.
type Code string

// The codes of the argument half. Those of the guard contract are refusals,
// but for the two notes.
const (
	CodeFSDeny        Code = "POL-FS-DENY"        // outside allow_paths, or in deny_paths
	CodeShellDeny     Code = "POL-SHELL-DENY"     // allow: false, or the command is not listed
	CodeShellMetachar Code = "POL-SHELL-METACHAR" // a separator, pipe, substitution or redirection outside quotes
	CodeHTTPSSRF      Code = "POL-HTTP-SSRF"      // the host is in a denied range
	CodeHTTPHostDeny  Code = "POL-HTTP-HOST-DENY" // the host is not in allow_hosts
	CodeSQLDeny       Code = "POL-SQL-DENY"       // the kind of statement is denied, or not read-only
	CodeSQLStacked    Code = "POL-SQL-STACKED"    // more than one statement
	CodeArgMissing    Code = "POL-ARG-MISSING"    // the constrained argument is absent or of another type
	CodeArgAmbiguous  Code = "POL-ARG-AMBIGUOUS"  // it cannot be read one way only
	CodeRuleDeny      Code = "POL-RULE-DENY"      // a deny rule, or the default
	CodeRuleRate      Code = "POL-RULE-RATE"      // a rate_limit rule
	CodeRulePending   Code = "POL-RULE-PENDING"   // a pending_approval rule

	// NoteUnresolved: the host is a name, and no name is looked up.
	NoteUnresolved Code = "POL-HTTP-DNS-UNRESOLVED"
	// NoteUnmatched: no shape was recognised, so that the argument half had
	// nothing to judge.
	NoteUnmatched Code = "POL-UNMATCHED"
)

func (s Status) code() Code {
	switch s {
	case RateLimited:
		return CodeRuleRate
	case PendingApproval:
		return CodeRulePending
	case Denied:
		return CodeRuleDeny
	}
	return ""
}
