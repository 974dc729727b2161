// Package corpus measures the catalog: how much of what is malicious it finds,
// and how often it takes fright at what is not.
//
// Two labelled corpora are part of the repository, and for a third there is
// everybody else's text: whatever lies around on a machine with Go on it.
package corpus

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/aegis-aar/aegis/internal/secret/secrettest"
)

// Sample is a labelled text.
type Sample struct {
	Name  string   `json:"name"`
	Rules []string `json:"rules"` // that must find something; benign samples have none
	Text  string   `json:"text"`
}

//go:embed benign.jsonl
var benign []byte

//go:embed malicious.jsonl
var malicious []byte

// Benign returns the texts that nothing may block and no monitor may warn of;
// notes are lawful.
func Benign() ([]Sample, error) { return read(benign) }

// Malicious returns the texts that must be found. Their credentials are written
// as `{{kind}}` and made afresh from seed, a sample each of n.
func Malicious(seed uint64, n int) ([]Sample, error) {
	samples, err := read(malicious)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	var out []Sample
	for i := range n {
		pairs := []string{"{{password}}", secrettest.Password(r, 16), "{{random40}}", secrettest.Password(r, 40)}
		for _, t := range secrettest.Tokens(r) {
			pairs = append(pairs, "{{"+strings.TrimSpace(t.Kind)+"}}", t.Text)
		}
		fill := strings.NewReplacer(pairs...)
		for _, s := range samples {
			text := fill.Replace(s.Text)
			if i > 0 && text == s.Text {
				continue // nothing in it is fresh
			}
			if strings.Contains(text, "{{") {
				return nil, fmt.Errorf("sample %q: a kind of token that does not exist", s.Name)
			}
			out = append(out, Sample{s.Name, s.Rules, text})
		}
	}
	return out, nil
}

func read(lines []byte) (out []Sample, err error) {
	d := json.NewDecoder(bytes.NewReader(lines))
	for d.More() {
		var s Sample
		if err := d.Decode(&s); err != nil {
			return nil, fmt.Errorf("sample %d: %w", len(out)+1, err)
		}
		out = append(out, s)
	}
	return out, nil
}
