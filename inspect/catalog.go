package inspect

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/aegis-aar/aegis/internal/secret"
	"github.com/aegis-aar/aegis/internal/secret/needle"
)

// Options are the lists a catalog has beyond the seed lists, all of exact
// entries.
type Options struct {
	ExfilDomains []string // see [ReadDomains]
	Phrases      []string // see [ReadPhrases]; these are watched

	// BlockPhrases are watched too, and are those that [BlockListedPhrases]
	// blocks.
	BlockPhrases []string

	// Fault, if it is set, is called for every string inspected. It is for
	// tests that need an inspection to fail: what it panics with must come out
	// nowhere.
	Fault func()
}

// Catalog is a set of rules and lists. It never changes and may be used by many
// goroutines.
type Catalog struct {
	needles *needle.Set
	domains []domain
	byName  map[string][]int // domains by host
	phrases []phrase
	foreign bool // some phrase cannot be found by ASCII needles

	fault func()
	pool  sync.Pool // of *inspection
}

type domain struct {
	entry, host, path string
	at                int // of the needle in host
}

type phrase struct {
	text   string // as the list spells it
	normal string // as it is compared
	at     int    // of the needle in normal
	blocks bool   // listed in BlockPhrases
	plain  bool   // ASCII: found by its needle
}

// Tags of needles: an index into phrases, or one of these.
const (
	tagDomains = 1 << 14 // domain i has tag tagDomains+i
	tagURL     = 1<<15 - 1
	tagIPv4    = 1<<15 - 2
	tagSecrets = 1 << 15 // those of the secret catalog
)

// New returns a catalog of the seed lists and opts.
func New(opts Options) (*Catalog, error) {
	c := &Catalog{needles: new(needle.Set), byName: map[string][]int{}, fault: opts.Fault}
	c.pool.New = func() any { return new(inspection) }
	for _, entry := range append(append([]string(nil), seedDomains...), opts.ExfilDomains...) {
		if err := checkDomain(entry); err != nil {
			return nil, fmt.Errorf("exfil domain %q: %w", entry, err)
		}
		c.addDomain(entry)
	}
	blocks := map[string]bool{}
	for _, p := range opts.BlockPhrases {
		blocks[normalPhrase(p)] = true
	}
	all := append(append(append([]string(nil), seedPhrases...), opts.Phrases...), opts.BlockPhrases...)
	seen := map[string]bool{}
	for _, p := range all {
		if err := checkPhrase(p); err != nil {
			return nil, fmt.Errorf("phrase %q: %w", p, err)
		}
		n := normalPhrase(p)
		if !seen[n] {
			seen[n] = true
			c.addPhrase(p, n, blocks[n])
		}
	}
	if limit := tagIPv4 - tagDomains; len(c.domains) > limit || len(c.phrases) > limit {
		return nil, fmt.Errorf("more than %d entries in a list", limit)
	}
	c.needles.Add("p://", tagURL)
	c.needles.Add("s://", tagURL)
	secret.AddNeedles(c.needles, tagSecrets)
	for _, n := range ipv4Needles() {
		c.needles.Add(n, tagIPv4)
	}
	return c, nil
}

func (c *Catalog) addDomain(entry string) {
	host, path, _ := strings.Cut(entry, "/")
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	d := domain{entry: host, host: host}
	if path != "" {
		d.path = "/" + path
		d.entry += d.path
	}
	i := len(c.domains)
	for _, have := range c.byName[host] {
		if c.domains[have].path == d.path {
			return
		}
	}
	c.domains = append(c.domains, d)
	c.byName[host] = append(c.byName[host], i)
	if d.path == "" { // with a path it is found in URLs only
		// The bytes around the last dot are rarer than the words before it.
		at := min(strings.LastIndexByte(host, '.')-1, len(host)-needle.Len)
		c.domains[i].at = at
		c.needles.Add(host[at:at+needle.Len], uint16(tagDomains+i))
	}
}

func (c *Catalog) addPhrase(text, normal string, blocks bool) {
	p := phrase{text: text, normal: normal, blocks: blocks, plain: true}
	for _, b := range []byte(normal) {
		if b >= 0x80 {
			p.plain = false
		}
	}
	tag := uint16(len(c.phrases))
	defer func() { c.phrases = append(c.phrases, p) }()
	if !p.plain {
		c.foreign = true
		return
	}
	// The needle stands in the longest word: the white space between words can
	// be written in more ways than one.
	word, at := "", 0
	for i, rest := 0, normal; rest != ""; {
		w, after, _ := strings.Cut(rest, " ")
		if len(w) > len(word) {
			word, at = w, i
		}
		i += len(w) + 1
		rest = after
	}
	p.at = at
	if len(word) >= needle.Len {
		// Its last four bytes are rarer than its first in the words there are.
		p.at += len(word) - needle.Len
		c.needles.Add(word[len(word)-needle.Len:], tag)
		return
	}
	// No word has four letters: the first word and what can follow it.
	p.at = 0
	first, _, _ := strings.Cut(normal, " ")
	switch len(first) {
	case 3:
		for _, ws := range " \t\n\r\v\f" {
			c.needles.Add(first+string(ws), tag)
		}
	default:
		p.plain, c.foreign = false, true
	}
}

// phraseAt reports whether phrase p stands in text with its needle at i. White
// space is a run of any white space of ASCII.
func phraseAt(text []byte, i int, p *phrase) bool {
	at := i
	for k := p.at - 1; k >= 0; k-- {
		if p.normal[k] == ' ' {
			if at == 0 || !isSpace(text[at-1]) {
				return false
			}
			for at > 0 && isSpace(text[at-1]) {
				at--
			}
			continue
		}
		if at == 0 || lower(text[at-1]) != p.normal[k] {
			return false
		}
		at--
	}
	at = i
	for k := p.at; k < len(p.normal); k++ {
		if p.normal[k] == ' ' {
			if at == len(text) || !isSpace(text[at]) {
				return false
			}
			for at < len(text) && isSpace(text[at]) {
				at++
			}
			continue
		}
		if at == len(text) || lower(text[at]) != p.normal[k] {
			return false
		}
		at++
	}
	return true
}

// foreignPhrases marks the phrases that ASCII needles cannot find and that are
// in text, which has been revealed.
func (c *Catalog) foreignPhrases(text []byte, mark func(int)) {
	for i := range c.phrases {
		if p := &c.phrases[i]; !p.plain && bytes.Contains(text, []byte(p.normal)) {
			mark(i)
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}
