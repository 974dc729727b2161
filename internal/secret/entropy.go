package secret

import (
	"bytes"
	"math"
	"strings"
)

const (
	minEntropyToken = 24   // characters, in the contract
	maxEntropyToken = 1024 // beyond it a token is data
	minEntropy      = 4.0  // bits a character
)

// nlog2n[n] is n·log2(n).
var nlog2n = func() (t [maxEntropyToken + 1]float64) {
	for n := 2; n < len(t); n++ {
		t[n] = float64(n) * math.Log2(float64(n))
	}
	return
}()

// findEntropy adds what WRD-SEC-ENTROPY matches to found, which is in order and
// stays so. It looks at one byte in 24 until that byte is part of a token.
func findEntropy(text []byte, found []Match) []Match {
	s := surroundings{text: text, end: -1}
	var extra []Match
	next := 0 // the first of found that does not end before the token
	low := 0  // the end of the last token
	for p := minEntropyToken - 1; p < len(text); {
		if class[text[p]]&clToken == 0 {
			p += minEntropyToken
			continue
		}
		start, end := p, p+1
		for start > low && class[text[start-1]]&clToken != 0 {
			start--
		}
		for end < len(text) && class[text[end]]&clToken != 0 {
			end++
		}
		low = end
		p = end + minEntropyToken
		if end-start < minEntropyToken {
			continue
		}
		for next < len(found) && found[next].End <= start {
			next++
		}
		if next < len(found) && found[next].Start < end {
			continue
		}
		if end-start <= maxEntropyToken && random(text[start:end]) && !s.public(start, end) {
			extra = append(extra, Match{ruleEntropy, start, end})
		}
	}
	if extra == nil {
		return found
	}
	return resolve(append(found, extra...))
}

// step[n] is what the n+1st occurrence of a character adds to Σ n·log2(n).
var step = func() (t [maxEntropyToken]float64) {
	for n := range t {
		t[n] = nlog2n[n+1] - nlog2n[n]
	}
	return
}()

// tallies counts characters by kind, sixteen bits a kind: letters, digits,
// capitals, hexadecimal digits.
var tallies = func() (t [256]uint64) {
	for c := range 256 {
		k := class[c]
		if k&(clLower|clUpper) != 0 {
			t[c] |= 1
		}
		if k&clDigit != 0 {
			t[c] |= 1<<16 | 1<<48
		}
		if k&clUpper != 0 {
			t[c] |= 1 << 32
		}
		if low := c | 0x20; k&(clLower|clUpper) != 0 && low <= 'f' {
			t[c] |= 1 << 48
		}
	}
	return
}()

// random reports whether token is as disordered as the contract asks for and
// no public shape by itself.
func random(token []byte) bool {
	var kinds uint64
	rising, sorted := 0, 0
	last := byte(0)
	for _, c := range token {
		kinds += tallies[c]
		if c == last+1 {
			rising++
		}
		if c|0x20 >= last|0x20 {
			sorted++
		}
		last = c
	}
	n := len(token)
	letters, digits, capitals, hex := int(kinds&0xffff), int(kinds>>16&0xffff), int(kinds>>32&0xffff), int(kinds>>48)
	switch alnum := letters + digits; {
	case alnum*5 < n*4:
		return false
	case digits == 0 && (capitals == 0 || capitals == letters):
		return false // letters of one case: a word, or an alphabet
	case letters == 0, hex == alnum:
		return false // a number, a digest, a UUID
	case rising*2 >= n, sorted*10 >= n*9:
		return false // an alphabet
	}
	var count [128]uint16
	sum := 0.0
	for _, c := range token {
		sum += step[count[c&127]]
		count[c&127]++
	}
	// The tolerance is far below any step between two entropies of this length.
	if (nlog2n[n]-sum)/float64(n) < minEntropy-1e-9 {
		return false
	}
	return odd(token) >= minOdd && !integrity(token)
}

var digests = []string{"sha1-", "sha224-", "sha256-", "sha384-", "sha512-", "md5-", "sha1=", "sha256=", "sha512="}

// publicKeys begin the base64 of what is no secret: SSH keys (RFC 4253 section
// 6.6 and its kin), SubjectPublicKeyInfo (RFC 5480, 8410, 3279), images and
// fonts.
var publicKeys = []string{
	"AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "AAAAGnNr",
	"MFkwEwYHKoZIzj0", "MHYwEAYHKoZIzj0", "MIGbMBAGByqGSM49", "MCowBQYDK2V", "MIGfMA0GCSqGSIb3DQEB", "MIIBIjANBgkqhkiG9w0B", "MIICIjANBgkqhkiG9w0B",
	"iVBORw0KGgo", "_Z", "/9j/4", "R0lGOD", "UklGR", "d09GMg", "d09GRg", "PHN2Zy", "JVBERi0", "UEsDB", "H4sIA", "QlpoO", "ITxhcmNo", "AwEAA",
}

// publicHeads are digests and publicKeys by their first byte.
var publicHeads = func() (t [256][]string) {
	for _, p := range append(digests[:len(digests):len(digests)], publicKeys...) {
		t[p[0]] = append(t[p[0]], p)
	}
	return
}()

// integrity reports whether token says itself what public thing it is.
func integrity(token []byte) bool {
	// A certificate: a long SEQUENCE that begins with another, X.690. A private
	// key begins with a number.
	if hasPrefix(token, "MII") && string(token[6:8]) == "CC" {
		return true
	}
	for _, p := range publicHeads[token[0]] {
		if hasPrefix(token, p) {
			return true
		}
	}
	return false
}

// surroundings looks at what stands around tokens, which come in order. Its
// searches only move forward, so that all of them together are linear.
type surroundings struct {
	text []byte

	begin, end int  // the last armoured block that begins before a token
	next       int  // where the search for the next one starts
	private    bool // the block's label says it is a private key

	url int // the end of the last URL, or where the search for one has got to
	sep int // the next "://", len(text) if none
}

// marks stand before what is public: an encoded word of
// mail (RFC 2047), a data URI's body, a digest.
var marks = []string{"?b?", "?B?", "base64,", "h1:", "h2:", "t1:", "SHA256:", "sha1:", "sha256:", "sha384:", "sha512:", "MD5:"}

// public reports whether the token at [start,end) is marked as no secret by its
// surroundings.
func (s *surroundings) public(start, end int) bool {
	if start > 0 && (s.text[start-1] == ':' || s.text[start-1] == ',' || s.text[start-1] == '?') {
		for _, p := range marks {
			if bytes.HasSuffix(s.text[:start], []byte(p)) {
				return true
			}
		}
	}
	// The name may be part of the token, which can hold '='.
	if n := bytes.IndexByte(s.text[start:end], '='); n > 0 && n < maxName && publicName(s.text[start:start+n]) {
		return true
	}
	if end+1 < len(s.text) && s.text[end] == '@' && class[s.text[end+1]]&clAlnum != 0 && !bytes.Contains(s.text[max(0, start-64):start], []byte("://")) {
		return true // an address of mail
	}
	return isFile(s.text[start:end]) || isProse(s.text[start:end]) || publicName(nameBefore(s.text, start)) || s.inURL(start) || s.armoured(start) || s.encoded(start, end)
}

// isFile reports whether token is the path of a file: it begins with a slash and
// has three or more, or it has one and ends in an extension, which base64 cannot.
// A path with a secret for a name is none.
func isFile(token []byte) bool {
	if token[0] == '/' && bytes.Count(token, []byte("/")) >= 3 {
		return !namesSecret(token)
	}
	dot := bytes.LastIndexByte(token, '.')
	if dot < 0 || len(token)-dot > 5 || len(token)-dot < 2 || bytes.IndexByte(token[:dot], '/') < 0 {
		return false
	}
	for _, c := range token[dot+1:] {
		if class[c]&(clLower|clDigit) == 0 {
			return false
		}
	}
	return true
}

// namesSecret reports whether one name in a path looks random by itself and has
// letters of both cases and digits, which the hashes in the names of stores and
// caches have not.
func namesSecret(path []byte) bool {
	for name := range bytes.SplitSeq(path, []byte("/")) {
		if len(name) < minEntropyToken {
			continue
		}
		var kinds byte
		for _, c := range name {
			kinds |= class[c]
		}
		if kinds&(clLower|clUpper|clDigit) == clLower|clUpper|clDigit && random(name) {
			return true
		}
	}
	return false
}

// isProse reports whether token is the base64 of printable text with spaces in
// it: something that was said, not a secret.
func isProse(token []byte) bool {
	token = bytes.TrimRight(token, "=")
	if len(token)%4 == 1 {
		return false
	}
	spaces, bits, have := 0, uint32(0), 0
	for _, c := range token {
		v := base64Value(c)
		if v < 0 {
			return false
		}
		bits = bits<<6 | uint32(v)
		if have += 6; have >= 8 {
			have -= 8
			switch b := byte(bits >> have); {
			case b == ' ' || b == '\n':
				spaces++
			case b < ' ' || b > '~':
				return false
			}
		}
	}
	return spaces > 0
}

func base64Value(c byte) int {
	switch k := class[c]; {
	case k&clUpper != 0:
		return int(c - 'A')
	case k&clLower != 0:
		return int(c-'a') + 26
	case k&clDigit != 0:
		return int(c-'0') + 52
	case c == '+':
		return 62
	case c == '/':
		return 63
	}
	return -1
}

// encoded reports whether the token is a line of a longer base64 body, as of a
// mail's attachment: a line of the same length, between 60 and 76, stands
// directly above or below it, or it is the last and shorter one.
func (s *surroundings) encoded(start, end int) bool {
	n := end - start
	if n > 76 {
		return false
	}
	// Between two lines: a line break or its escape, indentation, the mark of a
	// continued line.
	const longest = 40
	between := func(i, step int) (at int, broken bool) {
		for k := 0; k < longest && i >= 0 && i < len(s.text); k++ {
			c := s.text[i]
			escape := i > 0 && s.text[i-1] == '\\' && (c == 'n' || c == 'r' || c == 'e')
			if class[c]&clSpace == 0 && c != '\\' && c != '"' && c != '&' && !escape {
				break
			}
			broken = broken || c == '\n' || escape && c == 'n'
			i += step
		}
		return i, broken
	}
	if at, broken := between(end, 1); broken && n >= 60 && run(s.text, at, clToken, n+1) == at+n {
		return true
	}
	at, broken := between(start-1, -1)
	if !broken {
		return false
	}
	above := 0
	for above <= 76 && at-above >= 0 && class[s.text[at-above]]&clToken != 0 {
		above++
	}
	return above >= max(n, 60) && above <= 76
}

// inURL reports whether the token is part of a URL; a URL's own secrets have
// names or shapes. A URL goes on up to white space, a quote or an angle bracket.
func (s *surroundings) inURL(start int) bool {
	for s.url <= start {
		n := bytes.Index(s.text[s.url:], []byte("://"))
		if n < 0 {
			s.url = len(s.text) + 1
			s.sep = len(s.text) + 1
			return false
		}
		sep := s.url + n
		end := sep + len("://")
		for end < len(s.text) && class[s.text[end]]&clSpace == 0 && s.text[end] != '"' && s.text[end] != '<' && s.text[end] != '>' && s.text[end] != '`' {
			end++
		}
		s.sep, s.url = sep, end
		// A password in the authority is a secret, not a part of an address.
		authority := s.text[sep+len("://") : max(end, sep+len("://"))]
		if n := bytes.IndexAny(authority, "/?#"); n >= 0 {
			authority = authority[:n]
		}
		if n := bytes.IndexByte(authority, '@'); n >= 0 {
			s.sep += len("://") + n
		}
	}
	return s.sep <= start
}

// armoured reports whether the token lies in an armoured block that is not a
// private key: a certificate, a public key, a signature.
func (s *surroundings) armoured(start int) bool {
	const begin, end, dashes = "-----BEGIN ", "-----END ", "-----"
	for s.next >= 0 && s.end < start {
		n := bytes.Index(s.text[s.next:], []byte(begin))
		if n < 0 {
			s.next = -1
			break
		}
		at := s.next + n
		s.next = at + len(begin)
		if at > start {
			s.next = at // for a later token
			return false
		}
		label := s.text[s.next:min(len(s.text), s.next+64)]
		if k := bytes.Index(label, []byte(dashes)); k >= 0 {
			label = label[:k]
		}
		s.begin, s.private = at, bytes.Contains(label, []byte("PRIVATE"))
		if k := bytes.Index(s.text[s.next:], []byte(end)); k >= 0 {
			s.end = s.next + k
			s.next = s.end
		} else {
			s.end = len(s.text)
			s.next = -1
		}
	}
	return s.begin < start && start < s.end && !s.private
}

// nameBefore is the name that a value at start is given to, as in `name: ` or
// `"name": "`, or nil.
func nameBefore(text []byte, start int) []byte {
	i := start
	for n := 0; i > 0 && n < 5 && strings.IndexByte(" \t\"'`:=\\>#", text[i-1]) >= 0; n++ {
		i--
	}
	if i == start {
		return nil
	}
	end := i
	for i > 0 && end-i < maxName && class[text[i-1]]&(clWord|clDash) != 0 {
		i--
	}
	return text[i:end]
}
