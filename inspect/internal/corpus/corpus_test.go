package corpus

import (
	"slices"
	"testing"

	"github.com/aegis-aar/aegis/inspect"
)

// TestCorpora: nothing benign is blocked or warned of, nothing malicious missed.
func TestCorpora(t *testing.T) {
	t.Parallel()
	c, err := inspect.New(inspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	good, err := Benign()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range good {
		r := c.Inspect(Frame([]byte(s.Text)), inspect.Declaration{}, inspect.Posture{})
		for _, f := range r.Findings {
			if f.Tier != inspect.TierNote {
				t.Errorf("benign %q: %s %s %s", s.Name, f.RuleID, f.SubRule, f.Snippet)
			}
		}
	}
	bad, err := Malicious(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range bad {
		r := c.Inspect(Frame([]byte(s.Text)), inspect.Declaration{}, inspect.Posture{})
		for _, rule := range s.Rules {
			if !slices.ContainsFunc(r.Findings, func(f inspect.Finding) bool { return f.RuleID == rule && f.Tier != inspect.TierNote }) {
				t.Errorf("malicious %q: no %s", s.Name, rule)
			}
		}
	}
}
