package lock

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aegis-aar/aegis/internal/secret"
)

// optionBefore is the name of the option whose value argv[i] is, as far as can
// be told: `token` of `--token VALUE`.
func optionBefore(argv []string, i int) string {
	if i == 0 || !strings.HasPrefix(argv[i-1], "-") || strings.HasPrefix(argv[i], "-") || strings.Contains(argv[i-1], "=") {
		return ""
	}
	return strings.TrimLeft(argv[i-1], "-")
}

// redacted stands for a secret in what starts a server. It says nothing of the
// secret: one that is rotated makes no other server.
const redacted = "…(redacted)"

// Redacted reports whether something that looked like a secret was left out, so
// that the server cannot be started or asked from the lock alone.
func (s *Server) Redacted() bool {
	for _, word := range append([]string{s.Command, s.URL}, s.Args...) {
		if strings.Contains(word, redacted) || strings.Contains(word, "…(len") {
			return true
		}
	}
	return false
}

// redactWord is a word of a command, the value of name if it has one, without
// what looks like a secret in it.
func redactWord(name, word string) string {
	matches := secret.FindValue([]byte(name), []byte(word))
	for i := len(matches) - 1; i >= 0; i-- {
		word = word[:matches[i].Start] + redacted + word[matches[i].End:]
	}
	// What stood on both sides of one may be one now.
	word, _ = secret.RedactAll(word)
	return word
}

// minQuery is the length in characters from which a value in the query of a URL
// is taken for what authorises. Services that cannot set headers put it there.
const minQuery = 12

// redactURL is an address without what authorises: long values of its query, and
// parts of its path that look like a secret.
func redactURL(address string) string {
	rest, query, asked := strings.Cut(address, "?")
	parts := strings.Split(rest, "/")
	for i := range parts {
		parts[i] = redactWord("", parts[i])
	}
	out := strings.Join(parts, "/")
	if !asked {
		return out
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(value); err == nil && utf8.RuneCountInString(plain) >= minQuery {
			pairs[i] = name + "=" + redacted
		}
	}
	return redactWord("", out+"?"+strings.Join(pairs, "&"))
}
