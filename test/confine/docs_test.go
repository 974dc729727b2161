//go:build linux && amd64

package confine

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumentedByTheSameNames: docs/confine.md lists what is denied and what is
// not blocked by the names of the probes, all of them and no others.
func TestDocumentedByTheSameNames(t *testing.T) {
	page, err := os.ReadFile("../../docs/confine.md")
	if err != nil {
		t.Skip(err) // the suite runs on its own in a test kernel
	}
	documented := map[string][]string{}
	section := ""
	item := regexp.MustCompile("^\\| ((?:`[a-z0-9-]+`(?:, )?)+) \\|")
	for line := range strings.Lines(string(page)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(title)
		}
		if m := item.FindStringSubmatch(line); m != nil {
			for name := range strings.SplitSeq(m[1], ", ") {
				documented[section] = append(documented[section], strings.Trim(name, "`"))
			}
		}
	}
	var denied, open []string
	for _, p := range probes() {
		if p.held == "ok" {
			open = append(open, p.name)
		} else {
			denied = append(denied, p.name)
		}
	}
	for title, names := range map[string][]string{"What is denied": denied, "What is not blocked": open} {
		got := documented[title]
		for _, name := range names {
			if !slices.Contains(got, name) {
				t.Errorf("%s is not under %q", name, title)
			}
		}
		for _, name := range got {
			if !slices.Contains(names, name) {
				t.Errorf("%s is under %q, and no probe of that kind", name, title)
			}
		}
	}
}
