package report

// PolicyRules are the codes of the argument policy, as SARIF tells them.
func PolicyRules() []Rule {
	const help = "The reason names the value and the line of the policy that decided. `aegis policy explain` says what would change the answer."
	rule := func(id, severity, short string) Rule {
		return Rule{ID: id, Severity: severity, Short: short, Help: help}
	}
	return []Rule{
		rule("POL-FS-DENY", High, "A call names a path that the policy does not allow."),
		rule("POL-SHELL-DENY", High, "A call names a command that the policy does not allow."),
		rule("POL-SHELL-METACHAR", High, "A call's command line has a separator, pipe, substitution or redirection."),
		rule("POL-HTTP-SSRF", High, "A call names a host in a denied range."),
		rule("POL-HTTP-HOST-DENY", High, "A call names a host that the policy does not allow."),
		rule("POL-HTTP-DNS-UNRESOLVED", Low, "A call names a host by a name, which is not resolved."),
		rule("POL-SQL-DENY", High, "A call's SQL is of a kind that the policy does not allow, or not read-only."),
		rule("POL-SQL-STACKED", High, "A call's SQL has more than one statement."),
		rule("POL-ARG-MISSING", High, "A call lacks the argument that the policy constrains."),
		rule("POL-ARG-AMBIGUOUS", High, "A call's argument can be read in more than one way."),
		rule("POL-RULE-DENY", High, "A rule of the policy denies the call."),
		rule("POL-RULE-RATE", Medium, "A rate limit of the policy has no slot left for the call."),
		rule("POL-RULE-PENDING", Medium, "A rule of the policy asks for a human's approval of the call."),
		rule("POL-UNMATCHED", Low, "The argument policy recognises no shape of the called tool."),
	}
}
