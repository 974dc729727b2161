package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aegis-aar/aegis/internal/secret"
)

// inspection is the working state of one Inspect. It is reused, so that text
// without findings costs no allocation.
type inspection struct {
	c    *Catalog
	text []byte // the response
	d    Declaration
	p    Posture
	tally

	report Report
	quiet  bool // findings are known already

	stack   []level
	block   int // the place in result.content, or -1
	content block
	decoded []byte // the string at hand without its escapes
	inner   []byte // a string of the JSON held in it
	shown   []byte // a string as a reader sees it

	rewrite rewrite
}

// tally is what was found in one string.
type tally struct {
	controls, invisible runes
	secrets             []secret.Match
	domains             indices
	certain, private    labels
	phrases             indices
	urls                int
}

// runes counts characters and keeps the first few distinct ones.
type runes struct {
	n        int
	distinct int
	first    [8]rune
}

func (c *runes) add(r rune) {
	c.n++
	for _, have := range c.first[:c.distinct] {
		if have == r {
			return
		}
	}
	if c.distinct < len(c.first) {
		c.first[c.distinct] = r
		c.distinct++
	}
}

func (c *runes) String() string {
	var b strings.Builder
	for i, r := range c.first[:c.distinct] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "U+%04X", r)
	}
	return b.String()
}

// indices is a small set of list indices, in the order found.
type indices []int

func (s *indices) add(i int) {
	if !slices.Contains(*s, i) {
		*s = append(*s, i)
	}
}

// labels is a small set of range labels.
type labels []string

func (s *labels) addLabel(l string) {
	if !slices.Contains(*s, l) {
		*s = append(*s, l)
	}
}

func (t *tally) clear() {
	t.controls, t.invisible = runes{}, runes{}
	t.secrets = nil
	t.domains, t.certain, t.private, t.phrases = t.domains[:0], t.certain[:0], t.private[:0], t.phrases[:0]
	t.urls = 0
}

// look runs every rule on text, the value of a member called name or of none.
func (s *inspection) look(name, text []byte) {
	if s.c.fault != nil {
		s.c.fault()
	}
	disguised, concealed := s.characters(text, s.d.Charset)
	secrets := secret.NewFinder(text)
	for i := 0; ; i++ {
		at, tags := s.c.needles.Next(text, i)
		if tags == nil {
			break
		}
		i = at
		for _, tag := range tags {
			switch {
			case tag >= tagSecrets:
				secrets.At(i, tag-tagSecrets)
			case tag == tagURL:
				s.url(text, i)
			case tag == tagIPv4:
				s.bareIPv4(text, i)
			case tag >= tagDomains:
				s.bareDomain(text, i, int(tag-tagDomains))
			case phraseAt(text, i, &s.c.phrases[tag]):
				s.phrases.add(int(tag))
			}
		}
	}
	s.secrets = secrets.Matches(name)
	if len(text) >= 2 && text[0] == '/' && text[1] == '/' {
		s.authority(text, 2, false)
	}
	s.bareIPv6(text)
	if disguised || s.c.foreign {
		s.disguise(text, false)
	}
	if concealed {
		s.disguise(text, true)
	}
	slices.Sort(s.phrases)
}

// disguise looks for phrases in what a reader sees of text.
func (s *inspection) disguise(text []byte, hiddenIsSpace bool) {
	s.shown = reveal(s.shown[:0], text, hiddenIsSpace)
	for i := 0; ; i++ {
		at, tags := s.c.needles.Next(s.shown, i)
		if tags == nil {
			break
		}
		i = at
		for _, tag := range tags {
			if tag < tagDomains && phraseAt(s.shown, i, &s.c.phrases[tag]) {
				s.phrases.add(int(tag))
			}
		}
	}
	s.c.foreignPhrases(s.shown, s.phrases.add)
}

// empty reports whether there is nothing to conclude.
func (s *inspection) empty() bool {
	return s.controls.n == 0 && s.invisible.n == 0 && len(s.secrets) == 0 && len(s.domains) == 0 &&
		len(s.certain) == 0 && len(s.private) == 0 && len(s.phrases) == 0 && (s.urls == 0 || s.d.MayReturnURLs)
}

// conclude turns what look found in text, which stands at pointer, into
// findings.
func (s *inspection) conclude(text []byte, pointer string) {
	at := Finding{BlockIndex: s.block, Pointer: pointer}
	if s.controls.n > 0 {
		s.add(at, RuleANSI, s.acting(Modified, s.p.ShadowANSI),
			fmt.Sprintf("%d disallowed control code point(s) (%s)", s.controls.n, &s.controls))
	}
	if s.invisible.n > 0 {
		s.add(at, RuleInvisible, Shadowed, fmt.Sprintf("%d invisible character(s) (%s)", s.invisible.n, &s.invisible))
	}
	s.concludeSecrets(at, text)
	if len(s.domains) > 0 {
		names := make([]string, len(s.domains))
		for i, d := range s.domains {
			names[i] = s.c.domains[d].entry
		}
		s.add(at, RuleExfilDomain, s.acting(Blocked, s.p.ShadowExfilDomain),
			"result references exfil/callback domain(s): "+strings.Join(names, ", "))
	}
	if len(s.certain) > 0 {
		s.add(at, RuleExfilIP, s.acting(Blocked, s.p.ShadowExfilIP),
			"result holds URL(s) of address(es) in: "+strings.Join(s.certain, ", "))
	}
	if len(s.private) > 0 {
		message := "result references address(es) in: " + strings.Join(s.private, ", ")
		if s.p.BlockAllIPLiterals {
			s.add(at, RuleExfilIP, s.acting(Blocked, s.p.ShadowExfilIP), message)
		} else {
			s.addNote(at, RuleExfilIP, message)
		}
	}
	if len(s.phrases) > 0 {
		act := Shadowed
		for _, p := range s.phrases {
			at.MatchedPhrases = append(at.MatchedPhrases, s.c.phrases[p].text)
			if s.p.BlockPhrases == BlockEveryPhrase || s.p.BlockPhrases == BlockListedPhrases && s.c.phrases[p].blocks {
				act = Blocked
			}
		}
		s.add(at, RuleInjectPhrase, s.acting(act, false),
			"result matched curated injection phrase(s): "+strings.Join(at.MatchedPhrases, ", "))
		at.MatchedPhrases = nil
	}
	if s.urls > 0 && !s.d.MayReturnURLs {
		s.add(at, RuleURL, Passed, fmt.Sprintf("result contains %d non-denylisted URL(s)", s.urls))
	}
}

// concludeSecrets adds a finding for each secret rule that matched.
func (s *inspection) concludeSecrets(at Finding, text []byte) {
	var done []*secret.Rule
	for _, m := range s.secrets {
		if slices.Contains(done, m.Rule) {
			continue
		}
		done = append(done, m.Rule)
		f := at
		f.SubRule = m.Rule.ID
		f.Snippet = secret.Redact(string(text[m.Start:m.End]))
		message := "secret pattern " + m.Rule.ID + " echoed in result"
		if s.d.SecretEchoExempt {
			s.addNote(f, RuleSecretEcho, message)
			continue
		}
		act := Blocked
		if s.p.RedactSecretEcho {
			act = Modified
		}
		f.Severity = m.Rule.Severity
		s.add(f, RuleSecretEcho, s.acting(act, s.p.ShadowSecretEcho), message)
	}
}

// acting is what is done where the posture does not shadow it.
func (s *inspection) acting(act Action, shadow bool) Action {
	if shadow || s.p.AuditOnly {
		return Shadowed
	}
	return act
}

func (s *inspection) addNote(f Finding, id, message string) {
	f.RuleID, f.Severity, f.Level, f.Tier, f.Action, f.Message = id, "low", "note", TierNote, Passed, message
	s.keep(f)
}

func (s *inspection) add(f Finding, id string, act Action, message string) {
	r := ruleOf(id)
	f.RuleID, f.Level, f.Tier, f.Action, f.Message = id, r.Level, r.Tier, act, message
	if f.Severity == "" {
		f.Severity = r.Severity
	} else {
		f.Level = levelOf(f.Severity)
	}
	s.keep(f)
}

// maxFindings bounds a report.
const maxFindings = 256

// keep adds a finding to the report, once a rule and place: a later round finds
// again what the first one did.
func (s *inspection) keep(f Finding) {
	r := &s.report
	if f.Action == Blocked && r.Block == nil {
		block := f
		r.Block = &block
	}
	if s.quiet {
		return
	}
	for i := range r.Findings {
		have := &r.Findings[i]
		if have.RuleID == f.RuleID && have.SubRule == f.SubRule && have.Pointer == f.Pointer && have.Tier == f.Tier && have.BlockIndex == f.BlockIndex {
			for _, p := range f.MatchedPhrases {
				if !slices.Contains(have.MatchedPhrases, p) {
					have.MatchedPhrases = append(have.MatchedPhrases, p)
				}
			}
			return
		}
	}
	if len(r.Findings) == maxFindings {
		r.Dropped++
		return
	}
	r.Findings = append(r.Findings, f)
}
