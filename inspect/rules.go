package inspect

import "slices"

// The rule ids of results.
const (
	RuleANSI          = "WRD-RES-ANSI"
	RuleInvisible     = "WRD-RES-INVISIBLE"
	RuleSecretEcho    = "WRD-RES-SECRET-ECHO"
	RuleExfilDomain   = "WRD-RES-EXFIL-DOMAIN"
	RuleExfilIP       = "WRD-RES-EXFIL-IP-LITERAL"
	RuleInjectPhrase  = "WRD-RES-INJECT-PHRASE"
	RuleURL           = "WRD-RES-URL"
	RuleUninspectable = "WRD-RES-UNINSPECTABLE"
	RuleFrameError    = "WRD-RES-FRAME-ERROR"
	RuleLockInvalid   = "WRD-RES-LOCK-INVALID"
	RuleWinLifecycle  = "WRD-RES-WIN-LIFECYCLE"
)

// Tier says what a rule may do.
type Tier string

// The tiers.
const (
	TierBlock   Tier = "block"   // acts unless opted out of
	TierMonitor Tier = "monitor" // acts only where asked to
	TierNote    Tier = "note"    // never acts
)

// Rule describes a rule for reports.
type Rule struct {
	ID       string
	Tier     Tier
	Severity string // low, medium, high or critical
	Level    string // of SARIF: error, warning or note
	Short    string // one line
	Full     string // a paragraph
	Help     string // what to do about a finding
}

var rules = []Rule{
	{RuleANSI, TierBlock, "high", "error", "Control characters in a result",
		"The result holds control characters: C0 other than tab, line feed and carriage return, DEL, C1, or a line or paragraph separator. Terminals act on them, and they hide text from a reader.",
		"The characters are removed in place. A tool that must return them is declared extended or binary-ok in the lock."},
	{RuleInvisible, TierMonitor, "medium", "warning", "Invisible characters in a result",
		"Zero-width, tag, bidirectional or variation characters stand inside words or in runs, where lawful text has none. A model reads what a person cannot see.",
		"Look at the code points named. Emoji sequences, joiners of Persian and Indic text and soft hyphens are exempt."},
	{RuleSecretEcho, TierBlock, "critical", "error", "A secret in a result",
		"The result holds a credential: a vendor's token, a private key, a literal given to a secret's name or a high-entropy token. The sub-rule names which.",
		"Keep the secret out of what the tool returns and replace it. --redact-secret-echo redacts in place; secret_echo_applies: false in the lock exempts a tool whose job it is."},
	{RuleExfilDomain, TierBlock, "high", "error", "A data-collection host in a result",
		"The result names a host of a list of request bins, tunnels and paste sites, which instructions that steal data send it to.",
		"Check why the tool returns it. --allow-exfil-domain passes such results."},
	{RuleExfilIP, TierBlock, "high", "error", "A private address in a result",
		"The result holds an address of a private, loopback, link-local or otherwise special range. Link-local and metadata addresses in a URL block; others are notes.",
		"A URL of a cloud's metadata service in a result is an attempt to have credentials fetched. --block-exfil-ip-literal blocks every such address."},
	{RuleInjectPhrase, TierMonitor, "medium", "warning", "An injection phrase in a result",
		"The result holds a phrase that attempts at prompt injection use. Text about such attempts holds it too.",
		"Read the result. --block-inject-phrase blocks all phrases, --block-inject-phrase-only those of a file."},
	{RuleURL, TierNote, "low", "note", "A URL in a result",
		"The result holds URLs that are on no list.",
		"may_return_urls: true in the lock silences this note for a tool."},
	{RuleUninspectable, TierNote, "low", "note", "Content that was not inspected",
		"A content block holds binary data, which is not decoded, or is of a kind the catalog does not know; its strings were inspected.",
		"Nothing, unless the tool should return text only."},
	{RuleFrameError, TierNote, "low", "note", "A frame that could not be inspected as it should be",
		"The frame is no JSON and was inspected as text, is over the cap, or inspection itself failed.",
		"A server that writes anything but JSON-RPC to its standard output is at fault; a failed inspection is ours: please report it."},
	{RuleLockInvalid, TierNote, "low", "note", "A lock that could not be used",
		"The lock's declarations could not be used; the safest were applied.",
		"Run aegis lock verify."},
	{RuleWinLifecycle, TierNote, "low", "note", "Life-cycle guarantees do not hold on this platform",
		"Process groups and signals are not what the guard relies on elsewhere.",
		"Run the guard on Linux or macOS."},
}

// Rules returns the rules of results, in a fixed order. The secret rules, which
// are sub-rules of [RuleSecretEcho], are those of the secret catalog.
func Rules() []Rule { return slices.Clone(rules) }

// ruleOf returns the description of a rule of this package.
func ruleOf(id string) *Rule {
	for i := range rules {
		if rules[i].ID == id {
			return &rules[i]
		}
	}
	panic("inspect: no rule " + id)
}

func levelOf(severity string) string {
	switch severity {
	case "critical", "high":
		return "error"
	case "medium":
		return "warning"
	}
	return "note"
}
