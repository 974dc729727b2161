// Package secret recognises credentials in text and redacts them.
//
// Three kinds of rule look at a text. A vendor rule knows the published shape
// of one vendor's token. [Assign] knows a name that promises a secret and a
// literal that is given to it. [Entropy] takes what looks random and is on no
// list of things that look random and are public. The lists are written out in
// docs/inspection.md; nothing is learned or configured, so the same text always
// gives the same matches.
//
// There are no regular expressions and there is no backtracking. What a rule
// looks at around a place is bounded or only ever moves forward, so the time is
// linear in the text whatever it holds.
package secret

import (
	"bytes"
	"slices"
)

// Rule is one secret rule.
type Rule struct {
	ID       string // such as "WRD-SEC-GITHUB"
	Severity string // "critical" or "high"
	Title    string // what it recognises, a few words
	Help     string // a sentence or two for the person who meets a finding
}

// The rules, by the names this package's users need.
var (
	openAI    = Rule{"WRD-SEC-OPENAI", "critical", "OpenAI API key", "Revoke the key at the vendor and keep it out of what the tool returns."}
	anthropic = Rule{"WRD-SEC-ANTHROPIC", "critical", "Anthropic API key", "Revoke the key at the vendor and keep it out of what the tool returns."}
	gitHub    = Rule{"WRD-SEC-GITHUB", "critical", "GitHub token", "Revoke the token at the vendor and keep it out of what the tool returns."}
	gitLab    = Rule{"WRD-SEC-GITLAB", "critical", "GitLab token", "Revoke the token at the vendor and keep it out of what the tool returns."}
	aws       = Rule{"WRD-SEC-AWS-AKID", "critical", "AWS access key id", "Deactivate the key pair; an access key id seldom travels without its secret."}
	slack     = Rule{"WRD-SEC-SLACK", "critical", "Slack token or webhook", "Revoke the token or webhook at the vendor."}
	google    = Rule{"WRD-SEC-GOOGLE", "critical", "Google API key or OAuth secret", "Revoke or restrict the key at the vendor."}
	stripe    = Rule{"WRD-SEC-STRIPE", "critical", "Stripe key", "Roll the key at the vendor."}
	npm       = Rule{"WRD-SEC-NPM", "critical", "npm access token", "Revoke the token at the vendor."}
	azure     = Rule{"WRD-SEC-AZURE", "critical", "Azure key or client secret", "Rotate the key or secret at the vendor."}
	privKey   = Rule{"WRD-SEC-PRIVKEY", "critical", "Private key", "Treat the key as known to others: replace it."}
	jwt       = Rule{"WRD-SEC-JWT", "high", "JSON Web Token", "A bearer token grants what it grants until it expires; keep it out of what the tool returns."}
	assign    = Rule{"WRD-SEC-ASSIGN", "high", "Literal assigned to a secret's name", "A name such as password or api_key is given a literal value. Placeholders are exempt."}
	entropy   = Rule{"WRD-SEC-ENTROPY", "high", "High-entropy token", "A long random-looking token on none of the exemption lists of docs/inspection.md."}
)

var rules = []Rule{openAI, anthropic, gitHub, gitLab, aws, slack, google, stripe, npm, azure, privKey, jwt, assign, entropy}

// The rules as matches refer to them: elements of one table, so that pointers
// can be compared.
var (
	ruleOpenAI, ruleAnthropic, ruleGitHub, ruleGitLab = &rules[0], &rules[1], &rules[2], &rules[3]
	ruleAWS, ruleSlack, ruleGoogle, ruleStripe        = &rules[4], &rules[5], &rules[6], &rules[7]
	ruleNPM, ruleAzure, rulePrivKey, ruleJWT          = &rules[8], &rules[9], &rules[10], &rules[11]
	ruleAssign, ruleEntropy                           = &rules[12], &rules[13]
)

// Rules returns every rule, in a fixed order.
func Rules() []Rule { return slices.Clone(rules) }

// Match is a secret in a text: the bytes text[Start:End], and why.
type Match struct {
	Rule       *Rule
	Start, End int
}

// Find returns the secrets in text, in order and not overlapping. It returns
// nil, and has allocated nothing, if there are none. Where two rules match the
// same bytes a vendor's rule wins, then WRD-SEC-ASSIGN.
func Find(text []byte) []Match { return FindValue(nil, text) }

// FindValue is [Find] for a text that is the value of a member, argument or
// property called name. The name counts: a value called password is judged
// whole by WRD-SEC-ASSIGN, and one called cursor is no high-entropy secret.
func FindValue(name, text []byte) []Match {
	f := NewFinder(text)
	for i := 0; ; i++ {
		at, tags := needles.Next(text, i)
		if tags == nil {
			return f.Matches(name)
		}
		i = at
		for _, tag := range tags {
			f.At(i, tag)
		}
	}
}

// resolve orders matches and drops the weaker of two that overlap.
func resolve(found []Match) []Match {
	if len(found) < 2 {
		return found
	}
	slices.SortStableFunc(found, func(a, b Match) int { return a.Start - b.Start })
	kept := found[:1]
	for _, m := range found[1:] {
		last := &kept[len(kept)-1]
		switch {
		case m.Start >= last.End:
			kept = append(kept, m)
		case last.Rule == ruleAssign && m.Rule != ruleAssign:
			*last = m
		}
	}
	return kept
}

// Classes of bytes.
const (
	clDigit uint8 = 1 << iota
	clLower
	clUpper
	clWord  // letters, digits and '_': what a word boundary separates
	clDash  // '-'
	clB64   // base64 of either alphabet, without padding
	clToken // what an entropy token is made of
	clSpace // white space of ASCII

	clAlnum = clDigit | clLower | clUpper
)

var class = func() (t [256]uint8) {
	for c := range 256 {
		b := byte(c)
		switch {
		case '0' <= b && b <= '9':
			t[c] = clDigit | clWord | clB64 | clToken
		case 'a' <= b && b <= 'z':
			t[c] = clLower | clWord | clB64 | clToken
		case 'A' <= b && b <= 'Z':
			t[c] = clUpper | clWord | clB64 | clToken
		case b == '_':
			t[c] = clWord | clB64 | clToken
		case b == '-':
			t[c] = clDash | clB64 | clToken
		case b == '+', b == '/':
			t[c] = clB64 | clToken
		case b == '=', b == '.':
			t[c] = clToken
		case b == ' ', '\t' <= b && b <= '\r':
			t[c] = clSpace
		}
	}
	return
}()

// run returns the end of the longest run from i of bytes in any of classes, at
// most limit bytes long.
func run(text []byte, i int, classes uint8, limit int) int {
	end := min(len(text), i+limit)
	for i < end && class[text[i]]&classes != 0 {
		i++
	}
	return i
}

// startsWord reports whether a word can begin at i. The letter of an escape
// such as `\n` in text that is source code is not part of the word after it.
func startsWord(text []byte, i int) bool {
	if i == 0 || class[text[i-1]]&clWord == 0 {
		return true
	}
	return i >= 2 && text[i-2] == '\\' && bytes.IndexByte([]byte("nrtbfv0"), text[i-1]) >= 0
}

// endsWord reports whether a word that ends before i is not continued.
func endsWord(text []byte, i int) bool {
	return i == len(text) || class[text[i]]&clWord == 0
}
