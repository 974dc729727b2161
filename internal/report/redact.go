package report

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/internal/secret"
)

// redacted is f with every text redacted that still has the shape of a secret:
// the last look before something leaves the process. Names and ids come from
// others as well as values do.
func (f Finding) redacted() Finding {
	for _, text := range []*string{&f.Tool, &f.Pointer, &f.Message, &f.Snippet, &f.Target} {
		*text, _ = secret.RedactAll(*text)
	}
	if f.RPCID.Kind() == '"' {
		if id, err := jsontext.AppendUnquote(nil, f.RPCID); err == nil {
			if safe, hit := secret.RedactAll(string(id)); hit {
				f.RPCID, _ = jsontext.AppendQuote(nil, safe)
			}
		}
	}
	for i, phrase := range f.Matched {
		if safe, hit := secret.RedactAll(phrase); hit {
			f.Matched = append(append(f.Matched[:i:i], safe), f.Matched[i+1:]...)
		}
	}
	return f
}
