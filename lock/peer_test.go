package lock

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// peerSurface is a surface as the peer's data hold it. The pages of a list are
// its entries in order.
type peerSurface struct {
	Tools     []jsontext.Value
	Resources []jsontext.Value
	Prompts   []jsontext.Value
	Pages     struct{ Tools [][]jsontext.Value }
}

func (p peerSurface) surface() *Surface {
	return &Surface{
		Command: "server", ProtocolVersion: "2025-06-18", Resources: p.Resources, Prompts: p.Prompts,
		Tools: append(slices.Clone(p.Tools), slices.Concat(p.Pages.Tools...)...),
	}
}

func peerLines[T any](t *testing.T, name string, each func(t *testing.T, line T)) {
	f, err := os.Open("testdata/peer/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		var line T
		if err := json.Unmarshal(lines.Bytes(), &line, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		n++
		each(t, line)
	}
	if n == 0 {
		t.Fatal("no lines")
	}
}

// pinDiffers are the peer's entries that ours differ from in a hashed field, and
// why ours are right.
var pinDiffers = map[string]string{
	"prompts/p": "the peer's capture of prompts was imitated: it gave an argument a null description and a null required that were never sent",
}

// A lock of schema 3 has, entry for entry, the hashes of the peer's.
func TestPeerLocks(t *testing.T) {
	type entry struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	type line struct {
		ID                        string
		Surface                   peerSurface
		Tools, Resources, Prompts []jsontext.Value
		Findings                  []struct {
			RuleID string `json:"rule_id"`
			Target string
		}
	}
	peerLines(t, "locks.jsonl", func(t *testing.T, line line) {
		t.Run(line.ID, func(t *testing.T) {
			l := pin(t, line.Surface.surface(), Level3)
			same := func(list string, theirs []jsontext.Value, n int, ours func(i int) []byte) {
				if len(theirs) != n {
					t.Fatalf("%d %s, the peer has %d", n, list, len(theirs))
				}
				for i, text := range theirs {
					var e entry
					if err := json.Unmarshal(text, &e); err != nil {
						t.Fatal(err)
					}
					target := list + "/" + e.Name + e.URI
					want, err := Canonical(text)
					if err != nil {
						t.Fatal(err)
					}
					got, err := Canonical(ours(i))
					if err != nil {
						t.Fatal(err)
					}
					if _, known := pinDiffers[target]; known == bytes.Equal(got, want) {
						t.Errorf("%s\nours  %s\npeers %s", target, got, want)
					}
				}
			}
			same("tools", line.Tools, len(l.Tools), func(i int) []byte { return l.Tools[i].append(nil, Level3, true) })
			same("resources", line.Resources, len(l.Resources), func(i int) []byte { return l.Resources[i].append(nil, true) })
			same("prompts", line.Prompts, len(l.Prompts), func(i int) []byte { return l.Prompts[i].append(nil, true) })
			for _, f := range line.Findings {
				if !slices.ContainsFunc(l.Findings, func(g Finding) bool { return g.RuleID == f.RuleID && g.Target == f.Target }) {
					t.Errorf("%s of %s is not found", f.RuleID, f.Target)
				}
			}
		})
	})
}

// driftDiffers are the pairs of surfaces in which we tell another set of facts
// than the peer does, and why ours is right.
var driftDiffers = map[string]struct {
	ours []string
	why  string
}{
	"base->desc_and_schema": {
		[]string{"description-modified low tools/read_file", "schema-cosmetic-modified low tools/read_file"},
		"the peer hides a changed description behind a changed schema; the description is what the model reads",
	},
	"paged: second page changes": {
		[]string{"tool-added high tools/run_shell"},
		"the peer's capture read the first page only",
	},
}

func TestPeerDrift(t *testing.T) {
	type line struct {
		ID       string
		From, To peerSurface
		Drift    []struct {
			DriftClass       string `json:"drift_class"`
			Severity, Target string
		}
	}
	peerLines(t, "drift.jsonl", func(t *testing.T, line line) {
		t.Run(line.ID, func(t *testing.T) {
			var ours, theirs []string
			for _, d := range Compare(pin(t, line.From.surface(), Level3), pin(t, line.To.surface(), Level3)) {
				ours = append(ours, fmt.Sprintf("%s %s %s", d.Class, d.Severity, d.Target))
			}
			for _, d := range line.Drift {
				theirs = append(theirs, fmt.Sprintf("%s %s %s", d.DriftClass, d.Severity, d.Target))
			}
			if differs, ok := driftDiffers[line.ID]; ok {
				if slices.Equal(ours, theirs) {
					t.Error("no difference any more")
				}
				theirs = differs.ours
			}
			if !slices.Equal(ours, theirs) {
				t.Errorf("ours  %q\npeers %q", ours, theirs)
			}
		})
	})
}
