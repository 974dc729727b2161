package lock

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// minHeader is the length in bytes from which the value of a header is taken for
// a secret. A shorter one, as that of a tenant, may be part of any word.
const minHeader = 8

// sentValues are the values of headers that a server was sent and nothing that
// is written may hold: the whole, and what follows the scheme of an
// authorisation. The longest are first.
type sentValues []string

func valuesOf(h http.Header) (sent sentValues) {
	for _, values := range h {
		for _, value := range values {
			value = strings.TrimSpace(value)
			_, credentials, _ := strings.Cut(value, " ")
			for _, s := range []string{value, strings.TrimSpace(credentials)} {
				if len(s) >= minHeader {
					sent = append(sent, s)
				}
			}
		}
	}
	slices.SortFunc(sent, func(a, b string) int { return len(b) - len(a) })
	return sent
}

var errRepeated = errors.New("the server declares the value of a header it was sent; the lock and the findings would hold it")

// in reports whether a text of the surface holds one of the values.
func (sent sentValues) in(s *Surface) bool {
	if len(sent) == 0 {
		return false
	}
	for _, list := range [][]jsontext.Value{{s.Instructions}, s.Tools, s.Resources, s.Prompts} {
		for _, entry := range list {
			// What cannot be read is refused where it is pinned.
			if n, err := parseNode(entry); err == nil && sent.inNode(n) {
				return true
			}
		}
	}
	return false
}

func (sent sentValues) inNode(n *node) bool {
	return sent.inText(n.text) || slices.ContainsFunc(n.items, sent.inNode) ||
		slices.ContainsFunc(n.members, func(m member) bool { return sent.inText(m.name) || sent.inNode(m.value) })
}

func (sent sentValues) inText(text string) bool {
	return slices.ContainsFunc(sent, func(s string) bool { return strings.Contains(text, s) })
}

func (sent sentValues) mask(text string) string {
	for _, s := range sent {
		text = strings.ReplaceAll(text, s, redacted)
	}
	return text
}

// maskedError is an error that may hold text of a server, which may repeat what
// it was sent.
type maskedError struct {
	err  error
	sent sentValues
}

func (e *maskedError) Error() string { return e.sent.mask(e.err.Error()) }
func (e *maskedError) Unwrap() error { return e.err }
