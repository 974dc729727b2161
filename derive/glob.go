package derive

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Glob is a pattern for normalised paths. A segment ** stands for any number
// of segments, none included; within a segment * stands for any characters,
// none included, and ? for one character. Nothing else is magic: [ { ! and \
// stand for themselves, and names that begin with a dot are names.
//
// /srv/x/** therefore covers /srv/x and all below it, and never /srv/x-other. A
// pattern that begins with / matches absolute paths, one that begins with **
// matches both kinds, any other matches relative paths.
//
// Matching takes time linear in the path, for a given pattern.
type Glob struct {
	text   string
	exact  segments
	folded segments  // as FoldPath folds
	split  *segments // decomposed as well; nil if there is no ? to count characters
}

// MaxGlob bounds a pattern in bytes.
const MaxGlob = 4096

// segments are a pattern's parts.
type segments struct {
	list     []string
	absolute bool // matches absolute paths
	relative bool // matches relative paths
}

const anySegments = "**"

// ParseGlob reads a pattern. Every text of at most MaxGlob bytes of UTF-8 is
// one; Never tells what is of no use.
func ParseGlob(pattern string) (Glob, error) {
	switch {
	case len(pattern) > MaxGlob:
		return Glob{}, errors.New("pattern is too long")
	case !utf8.ValidString(pattern):
		return Glob{}, errors.New("pattern is not UTF-8")
	}
	folded := foldText(pattern)
	g := Glob{text: pattern, exact: splitGlob(pattern), folded: splitGlob(folded)}
	if strings.Contains(pattern, "?") {
		split := splitGlob(norm.NFD.String(folded))
		g.split = &split
	}
	return g, nil
}

func splitGlob(pattern string) segments {
	s := segments{absolute: strings.HasPrefix(pattern, "/")}
	s.relative = !s.absolute
	pattern = strings.TrimPrefix(pattern, "/")
	if pattern == "" && s.absolute {
		return s // the root alone
	}
	for part := range strings.SplitSeq(pattern, "/") {
		last := len(s.list) - 1
		if part == anySegments && last >= 0 && s.list[last] == anySegments {
			continue // two are no more than one
		}
		s.list = append(s.list, part)
	}
	if s.relative && s.list[0] == anySegments {
		s.absolute = true
	}
	return s
}

// String is the pattern as it was written.
func (g Glob) String() string { return g.text }

// Match reports whether the pattern matches a normalised path, character for
// character.
func (g Glob) Match(clean string) bool { return g.exact.match(clean, false) }

// MatchFold reports whether the pattern matches a normalised path, or another
// spelling of it that some file system takes for the same name: it is blind to
// case (Unicode simple folding), to the normalisation form (NFC, NFD) and to
// joiners, soft hyphens and variation selectors. It matches all that Match does.
func (g Glob) MatchFold(clean string) bool { return g.MatchFolded(FoldPath(clean)) }

// MatchFolded is MatchFold for a path that many patterns are held against.
func (g Glob) MatchFolded(p FoldedPath) bool {
	if p.ascii {
		// What else folds into ASCII is ASCII in the folded pattern.
		return g.folded.match(p.clean, true)
	}
	return g.exact.match(p.clean, false) || g.folded.match(p.folded, false) ||
		// A ? in a pattern may have been meant for a part of a letter.
		g.split != nil && g.split.match(norm.NFD.String(p.folded), false)
}

// Never says why the pattern matches no normalised path, "" if it can match one.
func (g Glob) Never() string {
	// Any character but a separator will do for a wildcard; a digit makes
	// neither a drive nor a home directory of what it stands in.
	sample := strings.NewReplacer("*", "0", "?", "0").Replace(g.text)
	p := ReadPath(sample)
	switch {
	case p.Literal && sample == g.text:
		return "" // AsWritten may use it
	case p.Literal:
		return p.Fault + ": only a pattern without wildcards can permit it, as written"
	case p.Fault != "":
		return p.Fault
	case p.Clean != sample:
		return "paths are compared in normal form, without doubled or trailing slashes and . or .. segments"
	}
	return ""
}

// match compares segment by segment. After a ** the rest is tried at the next
// place, and at the one after it where that fails; when a later ** is reached
// the earlier one is settled, since the places it would still give up are also
// open to the later one. So each segment of the path is compared with each of
// the pattern once at most.
func (s segments) match(clean string, fold bool) bool {
	absolute := strings.HasPrefix(clean, "/")
	if absolute && !s.absolute || !absolute && !s.relative || clean == "" {
		return false
	}
	rest := strings.TrimPrefix(clean, "/")
	if clean == "." {
		rest = "" // the base of a relative pattern, as / is of an absolute one
	}
	var (
		next        = 0  // segment of the pattern
		retry       = -1 // segment after the last **
		retryAt     string
		more        = rest != ""
		segment     string
		after       string
		afterIsMore bool
	)
	for more {
		segment, after, afterIsMore = strings.Cut(rest, "/")
		switch {
		case next < len(s.list) && s.list[next] == anySegments:
			next++
			retry, retryAt = next, rest
			continue
		case next < len(s.list) && matchSegment(s.list[next], segment, fold):
			next++
			rest, more = after, afterIsMore
		case retry >= 0:
			_, retryAt, more = strings.Cut(retryAt, "/")
			next, rest = retry, retryAt
		default:
			return false
		}
	}
	if next < len(s.list) && s.list[next] == anySegments {
		next++
	}
	return next == len(s.list)
}

// matchSegment is the same within one segment, with * for ** and characters
// for segments. With fold, text is ASCII and pattern is folded.
func matchSegment(pattern, text string, fold bool) bool {
	next, at := 0, 0
	retry, retryAt := -1, 0
	for at < len(text) {
		c := text[at]
		if fold {
			c = lowerASCII(c)
		}
		switch {
		case next < len(pattern) && pattern[next] == '*':
			next++
			if plain := pattern[next:]; strings.IndexByte(plain, '*') < 0 && strings.IndexByte(plain, '?') < 0 {
				end := len(text) - len(plain)
				return end >= at && equalText(plain, text[end:], fold)
			}
			retry, retryAt = next, at
		case next < len(pattern) && pattern[next] == '?':
			next++
			at += runeSize(text[at:])
		case next < len(pattern) && pattern[next] == c:
			next++
			at++
		case retry >= 0:
			retryAt += runeSize(text[retryAt:])
			next, at = retry, retryAt
		default:
			return false
		}
	}
	for next < len(pattern) && pattern[next] == '*' {
		next++
	}
	return next == len(pattern)
}

// equalText compares texts of one length.
func equalText(pattern, text string, fold bool) bool {
	if !fold {
		return pattern == text
	}
	for i := range len(text) {
		if lowerASCII(text[i]) != pattern[i] {
			return false
		}
	}
	return true
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

func runeSize(s string) int {
	if s[0] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeRuneInString(s)
	return size
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// FoldedPath is a normalised path together with the form in which names are
// equal that a file system may take for one.
type FoldedPath struct {
	clean, folded string
	ascii         bool // folding is left to the comparison
}

// FoldPath folds a normalised path.
func FoldPath(clean string) FoldedPath {
	if isASCII(clean) {
		return FoldedPath{clean: clean, ascii: true}
	}
	return FoldedPath{clean: clean, folded: foldText(clean)}
}

// foldText is equal, and in NFC, for texts that differ by case or are
// canonically equivalent (Unicode 3.13, D145, with simple folding). Only letters
// with an iota below and the capital i with a dot must be taken apart before
// they are folded.
func foldText(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	s = norm.NFC.String(s)
	if strings.ContainsFunc(s, func(r rune) bool { return r == iotaBelow || r == 'İ' || 0x1f00 <= r && r <= 0x1fff }) {
		s = norm.NFD.String(s)
	}
	return norm.NFC.String(strings.Map(foldRune, s))
}

const iotaBelow = '\u0345'

// foldRune is the same character for all that differ only by case, -1 for one
// to overlook. Where an ASCII letter is among them it is the small one.
func foldRune(r rune) rune {
	switch {
	case ignorable(r):
		return -1
	case r < utf8.RuneSelf:
		return rune(lowerASCII(byte(r)))
	case 0x2e80 <= r && r < 0xa640, 0xac00 <= r && r <= 0xd7a3:
		return r // East Asian scripts have no case; this is for speed alone
	}
	least, other := r, unicode.SimpleFold(r)
	if other == r {
		return r
	}
	for ; other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	if least == iotaBelow {
		return 'ι'
	}
	// A small letter, so that one folded by parts composes to one folded whole.
	return unicode.ToLower(least)
}
