package report

import (
	"regexp"
	"testing"
)

// Every rule has what code scanning shows of it, within what it shows.
func TestRulesAreTold(t *testing.T) {
	t.Parallel()
	id := regexp.MustCompile(`^POL(-[A-Z]+)+$`)
	seen := map[string]bool{}
	rules := PolicyRules()
	for _, r := range rules {
		if !id.MatchString(r.ID) || seen[r.ID] {
			t.Errorf("%q is no rule id, or not its own", r.ID)
		}
		seen[r.ID] = true
		if r.Short == "" || r.Help == "" || len(r.Short) > 1024 || len(r.Full) > 1024 {
			t.Errorf("%s: short %d, full %d, help %d bytes", r.ID, len(r.Short), len(r.Full), len(r.Help))
		}
		switch r.Severity {
		case Critical, High, Medium, Low:
		default:
			t.Errorf("%s: severity %q", r.ID, r.Severity)
		}
	}
	validSARIF(t, writeFile(t, Options{Rules: rules}))
}
