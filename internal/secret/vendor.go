package secret

import (
	"bytes"

	"github.com/aegis-aar/aegis/internal/secret/needle"
)

// shape is the form of one kind of token: a fixed prefix, then a body. The
// sources of each are in docs/inspection.md.
type shape struct {
	rule     *Rule
	prefix   string
	at       int   // where in prefix its needle stands
	body     uint8 // classes of the body's bytes
	min, max int   // length of the body; max 0 is without bound
}

const unbounded = 0

var shapes = []shape{
	{ruleOpenAI, "sk-", 0, clAlnum, 20, unbounded},
	{ruleOpenAI, "sk-proj-", 0, clWord | clDash, 20, unbounded},
	{ruleOpenAI, "sk-svcacct-", 0, clWord | clDash, 20, unbounded},
	{ruleOpenAI, "sk-admin-", 0, clWord | clDash, 20, unbounded},
	{ruleAnthropic, "sk-ant-", 0, clWord | clDash, 20, unbounded},
	{ruleGitHub, "ghp_", 0, clAlnum, 36, 36},
	{ruleGitHub, "gho_", 0, clAlnum, 36, 36},
	{ruleGitHub, "ghu_", 0, clAlnum, 36, 36},
	{ruleGitHub, "ghs_", 0, clAlnum, 36, 36},
	{ruleGitHub, "ghr_", 0, clAlnum, 36, 36},
	{ruleGitHub, "github_pat_", 7, clWord, 40, unbounded},
	{ruleGitLab, "glpat-", 0, clWord | clDash, 20, unbounded},
	{ruleGitLab, "gldt-", 0, clWord | clDash, 20, unbounded},
	{ruleGitLab, "glrt-", 0, clWord | clDash, 20, unbounded},
	{ruleGitLab, "glcbt-", 0, clWord | clDash, 20, unbounded},
	{ruleGitLab, "glptt-", 0, clWord | clDash, 20, unbounded},
	{ruleGitLab, "glft-", 0, clWord | clDash, 20, unbounded},
	{ruleGitLab, "glimt-", 0, clWord | clDash, 20, unbounded},
	{ruleGitLab, "glagent-", 0, clWord | clDash, 20, unbounded},
	{ruleGitLab, "gloas-", 0, clWord | clDash, 20, unbounded},
	{ruleGitLab, "glsoat-", 0, clWord | clDash, 20, unbounded},
	{ruleAWS, "AKIA", 0, clDigit | clUpper, 16, 16},
	{ruleAWS, "ASIA", 0, clDigit | clUpper, 16, 16},
	{ruleSlack, "xoxb-", 0, clAlnum | clDash, 10, unbounded},
	{ruleSlack, "xoxa-", 0, clAlnum | clDash, 10, unbounded},
	{ruleSlack, "xoxp-", 0, clAlnum | clDash, 10, unbounded},
	{ruleSlack, "xoxr-", 0, clAlnum | clDash, 10, unbounded},
	{ruleSlack, "xoxs-", 0, clAlnum | clDash, 10, unbounded},
	{ruleSlack, "xoxe-1-", 0, clAlnum | clDash, 40, unbounded},
	{ruleSlack, "xapp-1-", 0, clAlnum | clDash, 20, unbounded},
	{ruleSlack, "hooks.slack.com/services/T", 6, clB64, 24, unbounded},
	{ruleGoogle, "AIza", 0, clWord | clDash, 35, 35},
	{ruleGoogle, "GOCSPX-", 0, clWord | clDash, 28, 28},
	{ruleGoogle, "ya29.", 0, clWord | clDash, 40, unbounded},
	{ruleStripe, "sk_live_", 3, clAlnum, 16, unbounded},
	{ruleStripe, "sk_test_", 3, clAlnum, 16, unbounded},
	{ruleStripe, "rk_live_", 3, clAlnum, 16, unbounded},
	{ruleStripe, "rk_test_", 3, clAlnum, 16, unbounded},
	{ruleStripe, "whsec_", 0, clB64, 24, unbounded},
	{ruleNPM, "npm_", 0, clAlnum, 36, 36},
	{ruleAzure, "AccountKey=", 7, clB64, 40, unbounded},
	{ruleAzure, "SharedAccessKey=", 0, clB64, 40, unbounded},
}

// Tags of needles beyond the indices of shapes.
const (
	tagJWT = 100 + iota
	tagPEM
	tagAzureSigned
	tagAzureDevOps
	tagName

	// Tags is how many tags there are.
	Tags
)

const folded = "abcdefghijklmnopqrstuvwxyz0123456789"

// AddNeedles adds to set every needle that a [Finder] wants to be told of, under
// tags from base on, of which it takes [Tags].
func AddNeedles(set *needle.Set, base uint16) {
	for i, s := range shapes {
		if s.prefix == "sk-" {
			for _, c := range folded {
				set.Add("sk-"+string(c), base+uint16(i))
			}
			continue
		}
		set.Add(s.prefix[s.at:s.at+needle.Len], base+uint16(i))
	}
	for _, c := range folded + "-_" {
		set.Add("eyJ"+string(c), base+tagJWT)
	}
	set.Add("BEGI", base+tagPEM)
	set.Add("JQQJ", base+tagAzureSigned)
	set.Add("AZDO", base+tagAzureDevOps)
	for _, n := range nameNeedles {
		set.Add(n, base+tagName)
	}
}

var needles = func() *needle.Set {
	set := new(needle.Set)
	AddNeedles(set, 0)
	return set
}()

// Finder is [FindValue] for who looks for needles of their own too and would
// read the text twice. The needles of [AddNeedles] are reported to At in order,
// then Matches is asked.
type Finder struct {
	text  []byte
	found []Match

	// Where searches that look far ahead have got to; they only move forward.
	pemEnd   int // the next "-----END" is here
	valueEnd int // the literal before here has been judged
	nameEnd  int // the name that ends here has been
}

// NewFinder returns a Finder for text.
func NewFinder(text []byte) Finder { return Finder{text: text} }

// At takes the needle with tag, less the base, that stands at i.
func (f *Finder) At(i int, tag uint16) {
	switch tag {
	case tagJWT:
		f.jwt(i)
	case tagPEM:
		f.pem(i)
	case tagAzureSigned:
		f.azureSigned(i, "JQQJ99")
	case tagAzureDevOps:
		f.azureSigned(i, "AZDO")
	case tagName:
		f.assigned(i)
	default:
		f.shape(i, &shapes[tag])
	}
}

// Matches returns what [FindValue] does for a text that is the value of name.
func (f *Finder) Matches(name []byte) []Match {
	for i := 0; ; i++ {
		n := bytes.IndexByte(f.text[i:], '~')
		if n < 0 {
			break
		}
		i += n
		f.azureClientSecret(i)
	}
	found, text := f.found, f.text
	if len(text) >= minLiteral && len(found) == 0 && len(name) > 0 && promises(name) && literal(text, true) {
		found = append(found, Match{ruleAssign, 0, len(text)})
	}
	found = resolve(found)
	if len(text) >= minEntropyToken && !publicName(name) {
		found = findEntropy(text, found)
	}
	return found
}

func (f *Finder) add(r *Rule, start, end int) {
	f.found = append(f.found, Match{r, start, end})
}

// shape looks for the token whose needle stands at i. A body of a fixed length
// is only read that far.
func (f *Finder) shape(i int, s *shape) {
	start := i - s.at
	if start < 0 || !hasPrefix(f.text[start:], s.prefix) || !startsWord(f.text, start) {
		return
	}
	body := start + len(s.prefix)
	if n := len(f.found); n > 0 && f.found[n-1].Rule == s.rule && start < f.found[n-1].End {
		return // inside a longer token of the same kind
	}
	limit := len(f.text)
	if s.max != unbounded {
		limit = s.max
	}
	end := run(f.text, body, s.body, limit)
	if s.body&clWord == 0 {
		for end > body && f.text[end-1] == '-' {
			end--
		}
	}
	if end-body < s.min || !endsWord(f.text, end) {
		return
	}
	if s.rule == ruleAzure {
		end = run(f.text, end, clToken, 2) // padding
	}
	f.add(s.rule, start, end)
}

// jwt is a JWS in compact form, RFC 7515 section 7.1: three parts of base64url,
// the first of which begins with the encoding of `{"`.
func (f *Finder) jwt(i int) {
	const least = 10
	if !hasPrefix(f.text[i:], "eyJ") || !startsWord(f.text, i) {
		return
	}
	if n := len(f.found); n > 0 && i < f.found[n-1].End {
		return
	}
	end := i + len("eyJ")
	for part := range 3 {
		if part > 0 {
			if end == len(f.text) || f.text[end] != '.' {
				return
			}
			end++
		}
		start := end
		for end < len(f.text) && class[f.text[end]]&(clWord|clDash) != 0 {
			end++
		}
		if end-start < least {
			return
		}
	}
	f.add(ruleJWT, i, end)
}

// maxPEM is the longest armoured key in bytes that is taken whole.
const maxPEM = 16 << 10

var privateLabels = []string{"PRIVATE KEY-----", "PRIVATE KEY BLOCK-----", "ENCRYPTED PRIVATE KEY-----"}
var keyKinds = []string{"RSA ", "EC ", "OPENSSH ", "DSA ", "PGP "}

// pem is the header of a private key, RFC 7468, and all of the key that
// follows: to redact the header alone would leave the key.
func (f *Finder) pem(i int) {
	const dashes, begin = "-----", "BEGIN "
	if i < len(dashes) || !hasPrefix(f.text[i-len(dashes):], dashes+begin) {
		return
	}
	start, after := i-len(dashes), i+len(begin)
	for _, kind := range keyKinds {
		if hasPrefix(f.text[after:], kind) {
			after += len(kind)
			break
		}
	}
	end := -1
	for _, label := range privateLabels {
		if hasPrefix(f.text[after:], label) {
			end = after + len(label)
			break
		}
	}
	if end < 0 {
		return
	}
	f.add(rulePrivKey, start, f.keyEnd(end))
}

// keyEnd returns the end of the key whose header ends at body.
func (f *Finder) keyEnd(body int) int {
	const mark, dashes = "-----END ", "-----"
	if f.pemEnd < body {
		if n := bytes.Index(f.text[body:], []byte(mark)); n < 0 {
			f.pemEnd = len(f.text)
		} else {
			f.pemEnd = body + n
		}
	}
	if f.pemEnd < len(f.text) && f.pemEnd-body <= maxPEM {
		tail := f.pemEnd + len(mark)
		if n := bytes.Index(f.text[tail:min(len(f.text), tail+48)], []byte(dashes)); n >= 0 {
			return tail + n + len(dashes)
		}
		return tail
	}
	end := body
	for i := body; i < min(len(f.text), body+maxPEM); i++ {
		c := f.text[i]
		switch {
		case c == '\\' || class[c]&clSpace != 0:
		case class[c]&clToken != 0 && c != '-' && c != '.':
			end = i + 1
		default:
			return end
		}
	}
	return end
}

// azureSigned is an Azure key of 84 characters with a fixed signature in it.
func (f *Finder) azureSigned(i int, signature string) {
	const length, far = 84, 85
	if !hasPrefix(f.text[i:], signature) {
		return
	}
	start, end := i, run(f.text, i, clAlnum, far)
	for start > 0 && i-start < far && class[f.text[start-1]]&clAlnum != 0 {
		start--
	}
	if end-start == length+1 && start > 0 && f.text[start-1] == '\\' {
		start++ // the letter of an escape
	}
	if end-start == length && startsWord(f.text, start) && endsWord(f.text, end) {
		f.add(ruleAzure, start, end)
	}
}

// azureClientSecret is an Entra client secret, whose fourth to sixth characters
// are a digit, 'Q' and the '~' at i.
func (f *Finder) azureClientSecret(i int) {
	const before, after = 5, 31
	if i < before || f.text[i-1] != 'Q' || class[f.text[i-2]]&clDigit == 0 {
		return
	}
	end := i + 1
	for end < len(f.text) && end-i <= after+3 && (class[f.text[end]]&(clWord|clDash) != 0 || f.text[end] == '.' || f.text[end] == '~') {
		end++
	}
	if end-i-1 >= after && startsWord(f.text, i-before) {
		f.add(ruleAzure, i-before, end)
	}
}

func hasPrefix(text []byte, prefix string) bool {
	return len(text) >= len(prefix) && string(text[:len(prefix)]) == prefix
}
