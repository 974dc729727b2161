package policy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/policy"
)

// TestWorkedHashes checks the worked examples of the documentation: the hash of
// each policy, and that it is the SHA-256 of the canonical text given for it.
func TestWorkedHashes(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n([^`]*)```\n\n```json\n([^`]*)\n```\n\nHash: `([0-9a-f]{64})`")
	found := example.FindAllSubmatch(docs, -1)
	if len(found) != 5 {
		t.Fatalf("%d worked examples", len(found))
	}
	for i, m := range found {
		src, canonical, want := string(m[1]), m[2], string(m[3])
		if got := mustParse(t, src).Hash().String(); got != want {
			t.Errorf("example %d: hash %s, documented %s\n%s", i+1, got, want, src)
		}
		if sum := sha256.Sum256(canonical); hex.EncodeToString(sum[:]) != want {
			t.Errorf("example %d: the canonical text has hash %x", i+1, sum)
		}
		if again, err := aar.Canonicalize(canonical); err != nil || string(again) != string(canonical) {
			t.Errorf("example %d is not canonical: %v", i+1, err)
		}
	}
}

// TestWhatMovesTheHash: the argument half is part of the hash as it is written,
// and a file without it has the hash it always had.
func TestWhatMovesTheHash(t *testing.T) {
	t.Parallel()
	hash := func(src string) string { return mustParse(t, src).Hash().String() }
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"the half itself", "default: allow\n", "default: allow\ntools: {}\n", false},
		{"which of its keys are there, empty", "defaults: {}\n", "tools: {}\nbindings: {}\n", true},
		{"order of keys and comments", "tools: {a: {shell_exec: {allow: true, allow_commands: [ls]}}, b: {}}\n", "# c\ntools:\n  b: {}\n  a:\n    shell_exec:\n      allow_commands: [\"ls\"]\n      allow: true\n", true},
		{"order of a list", "tools: {a: {shell_exec: {allow_commands: [ls, git]}}}\n", "tools: {a: {shell_exec: {allow_commands: [git, ls]}}}\n", false},
		{"a default that is written out", "tools: {a: {shell_exec: {}}}\n", "tools: {a: {shell_exec: {allow: false}}}\n", false},
		{"an empty list and none", "tools: {a: {filesystem_read: {}}}\n", "tools: {a: {filesystem_read: {allow_paths: []}}}\n", false},
		{"a tool without constraints", "tools: {}\n", "tools: {a: {}}\n", false},
		{"a binding", "tools: {}\n", "bindings: {a: {other: [x]}}\n", false},
		{"bindings of nothing", "bindings: {a: {other: [x]}}\n", "bindings: {a: {arguments: [], other: [x]}}\n", false},
	} {
		if (hash(c.a) == hash(c.b)) != c.same {
			t.Errorf("%s: same is %v", c.name, !c.same)
		}
	}
}

// TestDocumentedPolicies: every YAML example of the documentation loads.
func TestDocumentedPolicies(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(docs, -1)
	suites := 0
	for _, m := range blocks {
		if strings.HasPrefix(string(m[1]), "policy: ") {
			suites++
			file := filepath.Join(t.TempDir(), "p.test.yaml")
			if err := os.WriteFile(file, m[1], 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := policy.LoadSuite(file); err != nil {
				t.Errorf("%v\n%s", err, m[1])
			}
			continue
		}
		if _, err := policy.Parse("docs", m[1]); err != nil {
			t.Errorf("%v\n%s", err, m[1])
		}
	}
	if len(blocks) < 9 || suites != 1 {
		t.Errorf("%d examples, %d test files", len(blocks), suites)
	}
}
