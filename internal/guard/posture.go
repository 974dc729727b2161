package guard

import (
	"fmt"
	"strings"

	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/report"
)

// Posture says what blocks and what is only watched, as the flags resolve
// (guard contract, section 5).
type Posture struct {
	// AuditOnly watches and blocks nothing, whatever else is set.
	AuditOnly bool
	// Watch lists categories that are detected and let pass.
	Watch map[Category]bool
	// BlockPhrases says which injection phrases block.
	BlockPhrases inspect.Phrases
	// BlockIPLiterals blocks every private address that is written out, not
	// only link-local and metadata addresses in URLs.
	BlockIPLiterals bool
	// RedactSecrets replaces echoed secrets in place instead of the result.
	RedactSecrets bool
}

// Category is what one --no-block flag names.
type Category string

// The categories that block by default.
const (
	ANSI          Category = "ansi"
	SecretEcho    Category = "secret-echo"
	ExfilDomain   Category = "exfil-domain"
	ExfilIP       Category = "exfil-ip-literal"
	ListChanged   Category = "list-changed"
	Policy        Category = "policy"
	Deterministic Category = "deterministic" // all of them
)

// Categories lists them in the order of the contract, Deterministic left out.
var Categories = []Category{ANSI, SecretEcho, ExfilDomain, ExfilIP, ListChanged, Policy}

// inspection is the part of the posture that is about results.
func (p Posture) inspection() inspect.Posture {
	watches := func(c Category) bool { return p.Watch[Deterministic] || p.Watch[c] }
	return inspect.Posture{
		AuditOnly:          p.AuditOnly,
		ShadowANSI:         watches(ANSI),
		ShadowSecretEcho:   watches(SecretEcho),
		ShadowExfilDomain:  watches(ExfilDomain),
		ShadowExfilIP:      watches(ExfilIP),
		RedactSecretEcho:   p.RedactSecrets,
		BlockAllIPLiterals: p.BlockIPLiterals,
		BlockPhrases:       p.BlockPhrases,
	}
}

// Blocks tells whether findings of a category block.
func (p Posture) Blocks(c Category) bool {
	return !p.AuditOnly && !p.Watch[Deterministic] && !p.Watch[c]
}

// Armed is what was given to a session.
type Armed struct {
	Arguments, Rules bool   // the halves of the policy
	Lock             bool   // a lock
	Recording        string // the file that frames are recorded in, empty for none
}

// Banner is what guard says once at its start: what blocks, what is only
// watched, what is inactive and which flag would arm it. It follows from the
// flags alone and names no server.
func (p Posture) Banner(a Armed) string {
	var blocks, watches, inactive []string
	sort := func(c Category, what string) {
		if p.Blocks(c) {
			blocks = append(blocks, what)
		} else {
			watches = append(watches, what)
		}
	}
	for _, c := range Categories {
		switch {
		case c == Policy && !a.Arguments:
			inactive = append(inactive, "policy (--policy FILE with defaults, tools or bindings)")
		case c == ListChanged && !a.Lock:
			inactive = append(inactive, "list-changed (--lock FILE)")
		default:
			sort(c, c.note(p))
		}
	}
	if a.Rules {
		sort(Policy, "rules of the policy")
	}
	if p.BlockPhrases != inspect.BlockNoPhrase && !p.AuditOnly {
		blocks = append(blocks, "inject-phrase")
	} else {
		watches = append(watches, "inject-phrase")
	}
	watches = append(watches, "invisible")
	var b strings.Builder
	if p.AuditOnly {
		b.WriteString("--audit-only: nothing blocks\n")
	}
	for _, line := range []struct {
		what  string
		names []string
	}{{"BLOCKS", blocks}, {"MONITOR-ONLY", watches}, {"INACTIVE", inactive}} {
		if len(line.names) > 0 {
			fmt.Fprintf(&b, "%-12s %s\n", line.what, strings.Join(line.names, ", "))
		}
	}
	if a.Recording != "" {
		fmt.Fprintf(&b, "--record writes raw frames, secrets included, to %s\n", report.SafeText(a.Recording))
	}
	return b.String()
}

func (c Category) note(p Posture) string {
	switch {
	case c == ExfilIP && !p.BlockIPLiterals:
		return string(c) + " (link-local and metadata)"
	case c == SecretEcho && p.RedactSecrets:
		return string(c) + " (redacted in place)"
	}
	return string(c)
}
