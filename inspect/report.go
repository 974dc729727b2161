package inspect

// Charset is which control characters a tool may return.
type Charset uint8

// The charsets of the lock's declarations.
const (
	Text     Charset = iota // tab, LF, CR and everything printable
	Extended                // also C1 and the line and paragraph separators
	BinaryOK                // anything: WRD-RES-ANSI is off
)

// ParseCharset reads "text", "extended" or "binary-ok".
func ParseCharset(s string) (Charset, bool) {
	switch s {
	case "text":
		return Text, true
	case "extended":
		return Extended, true
	case "binary-ok":
		return BinaryOK, true
	}
	return Text, false
}

// Declaration is what the lock says of one tool's results. The zero value, for
// a tool nothing is known of, is the most protection.
type Declaration struct {
	Charset          Charset
	MayReturnURLs    bool // silences WRD-RES-URL, nothing else
	SecretEchoExempt bool // secret_echo_applies: false: WRD-RES-SECRET-ECHO is a note
}

// Phrases says which injection phrases block.
type Phrases uint8

// The choices of --block-inject-phrase and --block-inject-phrase-only.
const (
	BlockNoPhrase      Phrases = iota
	BlockListedPhrases         // those of [Options.BlockPhrases]
	BlockEveryPhrase
)

// Posture says what is done about findings. The zero value is the contract's
// default: the deterministic tier acts, the phrase tier watches. It changes the
// actions of findings, never which there are.
type Posture struct {
	AuditOnly bool // nothing acts, whatever else is set

	ShadowANSI        bool // --no-block-ansi
	ShadowSecretEcho  bool // --no-block-secret-echo
	ShadowExfilDomain bool // --no-block-exfil-domain, --allow-exfil-domain
	ShadowExfilIP     bool // --no-block-exfil-ip-literal

	RedactSecretEcho   bool // redact in place instead of replacing by an error
	BlockAllIPLiterals bool // --block-exfil-ip-literal
	BlockPhrases       Phrases
}

// Action is what was done about a finding.
type Action string

// The actions, as reports write them.
const (
	Blocked  Action = "blocked"  // the response was replaced by an error
	Modified Action = "modified" // what was found was removed or redacted in place
	Shadowed Action = "shadowed" // of a rule that could act and did not
	Passed   Action = "passed"   // of a rule that never acts
)

// Finding is one rule's finding in one string, or about one block or frame.
type Finding struct {
	RuleID   string
	SubRule  string // the WRD-SEC-… rule of a secret, else ""
	Severity string // low, medium, high or critical
	Level    string // of SARIF: error, warning or note
	Tier     Tier
	Action   Action

	// BlockIndex is the place in result.content, or -1 outside of it.
	BlockIndex int
	// Pointer is where the string is in the response, RFC 6901; "" is the
	// response itself. A member's name is found at the member. Names that are
	// over 64 bytes or hold a secret or anything unprintable are shown as `…`.
	Pointer string
	// Message is fixed text, counts, code points and entries of our lists.
	Message string
	// Snippet is the first secret found, redacted, or "".
	Snippet string
	// MatchedPhrases are the phrases found, as the lists spell them.
	MatchedPhrases []string
}

// Report is what an inspection found and what is to be done.
type Report struct {
	// Findings are in the order of the response. At most 256 are kept.
	Findings []Finding
	// Dropped is how many more there were.
	Dropped int

	// Block is the finding an error must name that replaces the response, or
	// nil. It outranks Rewritten.
	Block *Finding
	// Rewritten is the response to send instead, or nil if it is as it was.
	// Everything in it that no finding touched is byte for byte what came,
	// except result._meta.warden, which says what was modified.
	Rewritten []byte

	// Raw says that the response is no JSON and was inspected as text.
	Raw bool
	// Fault says that inspection itself failed: a defect of ours. The response
	// then counts as not inspected; the one finding is WRD-RES-FRAME-ERROR.
	Fault *Finding
}
