//go:build unix

package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/policy"
	"github.com/go-json-experiment/json"
)

// TestResolve: with `resolve: true` a path is judged by what it leads to, by the
// entry it names and by its spelling; without, by its spelling alone.
func TestResolve(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"in", "out", "in/secret"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"in/leads-out": "../out", "out/leads-in": "../in", "in/file": "../out/x", "in/alias": "secret", "in/secret/y": "../z"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	source := func(resolve bool) string {
		return fmt.Sprintf("tools: {t: {filesystem_write: {allow_paths: [%s], deny_paths: [%s], resolve: %t}}}\n",
			jsonText(root+"/in/**"), jsonText(root+"/in/secret/**"), resolve)
	}
	for _, c := range []struct {
		path              string
		lexical, resolved bool // allowed
	}{
		{"in/new", true, true}, {"in/a/b/c", true, true}, {"out/x", false, false},
		{"in/leads-out/x", true, false}, // through a link
		{"in/file", true, false},        // a link itself
		{"in/alias/x", true, false},     // what is denied under another name
		{"in/secret/y", false, false},   // a denied name, wherever it leads
		{"out/leads-in/x", false, true}, // by another name, but inside
		{"out/leads-in", false, false},  // the entry is outside
	} {
		for resolve, want := range map[bool]bool{false: c.lexical, true: c.resolved} {
			set := mustParse(t, source(resolve))
			v := decideOne(policy.NewEngine(set), "t", `{"path":`+jsonText(root+"/"+c.path)+`}`)
			if (v.Status == policy.Allowed) != want {
				t.Errorf("%s, resolve %t: %v %s", c.path, resolve, v.Status, v.Reason)
			}
			// The record answers the same, with the links of then.
			recorded, err := json.Marshal(v.Params.Recorded())
			if err != nil {
				t.Fatal(err)
			}
			was := wasAllowed
			if v.Status != policy.Allowed {
				was = wasDenied
			}
			got, _, _ := recheck(t, set, call("t", was, `"derived":`+string(recorded)))
			if !strings.Contains(got, ": unchanged ") {
				t.Errorf("%s, resolve %t: %s%s", c.path, resolve, got, recorded)
			}
			if resolve == slices.Contains(strings.Split(string(recorded), `"`), "lexical") {
				t.Errorf("%s, resolve %t: %s", c.path, resolve, recorded)
			}
		}
	}
}
