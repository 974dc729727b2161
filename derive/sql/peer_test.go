package sql_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/derive/sql"
)

// What a peer decided about queries, beside what they are here. The peer judges
// by the first word; where its verdict and a read-only rule of ours part, why
// says which is right.
func TestPeer(t *testing.T) {
	t.Parallel()
	const readOnlyRule = "sql"
	expected := map[string]struct {
		kinds   string
		stacked bool
		differs string // why our verdict is another
	}{
		"p126": {kinds: "SELECT"},
		"p128": {kinds: "WITH,SELECT"},
		"p130": {kinds: "EXPLAIN ANALYZE,DELETE", differs: "EXPLAIN ANALYZE runs what it explains: ours is right"},
		"p132": {kinds: "SELECT", differs: "a SELECT in parentheses is one: ours is right"},
		"p134": {kinds: "SELECT", differs: "a comment is no statement: ours is right"},
		"p136": {kinds: "SELECT,DROP", stacked: true},
		"p138": {kinds: "SELECT"},
		"p140": {kinds: "DROP"},
		"p142": {kinds: "SELECT,SELECT INTO", differs: "SELECT INTO makes a table: ours is right"},
		"p144": {kinds: "SHOW", differs: "SHOW only reads: ours is right"},
		"p146": {kinds: "UNKNOWN"},
		"p148": {kinds: "UPDATE"},
		"p150": {kinds: "CREATE"},
		"p152": {kinds: "DROP", differs: "a comment hides no keyword: ours is right"},
		"p154": {kinds: "INSERT"},
		"p156": {kinds: "SELECT"}, // the query; its second one, a DROP, is judged too by the policy
	}
	file, err := os.ReadFile("testdata/peer/policy.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(file)) {
		var row struct {
			ID     string `json:"id"`
			Policy string `json:"policy_name"`
			Call   struct {
				Arguments map[string]string `json:"arguments"`
			} `json:"call"`
			Verdicts []struct {
				Verdict string `json:"verdict"`
			} `json:"verdicts"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		want, listed := expected[row.ID]
		if !listed {
			t.Errorf("%s is not in the table", row.ID)
			continue
		}
		seen++
		text := row.Call.Arguments["query"] + row.Call.Arguments["sql"]
		r := sql.Read(text, sql.Any)
		if !slices.Equal(r.Kinds, strings.Split(want.kinds, ",")) || r.Stacked != want.stacked {
			t.Errorf("%s %q: %+v, want %+v", row.ID, text, r, want)
		}
		allowed := readOnly(r)
		if row.Policy != readOnlyRule {
			// Anything but what is denied by default, or by the row's own list.
			allowed = !r.Stacked && r.Fault == "" && !slices.ContainsFunc(r.Kinds, func(k string) bool {
				return slices.Contains([]string{"DROP", "DELETE", "TRUNCATE", "ALTER", "GRANT", "REVOKE", "UPDATE"}, k) ||
					row.Policy == "sql_deny" && k == "INSERT"
			})
		}
		if peer := row.Verdicts[0].Verdict == "allow"; (peer != allowed) != (want.differs != "") {
			t.Errorf("%s %q: allowed %v, by the peer %v; noted: %q", row.ID, text, allowed, peer, want.differs)
		}
	}
	if seen != len(expected) {
		t.Errorf("%d of %d rows", seen, len(expected))
	}
}
