package policy_test

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"github.com/aegis-aar/aegis/policy"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// difference is one row in which the peer and this package answer differently.
type difference struct {
	ours  string // the answer here
	right string // whose answer is right: ours, peer, or either
	why   string
}

// peerDifferences lists every row of testdata/peer/policy.jsonl that is answered
// differently here: in its verdict, or in the code of a refusal.
var peerDifferences = map[string]difference{
	"p002": {"allowed", "ours", "`/srv/app/**` covers the directory itself"},
	"p020": {"denied POL-ARG-AMBIGUOUS", "ours", "a drive form is read differently on other systems; both deny, the code says why"},
	"p024": {"denied POL-ARG-AMBIGUOUS", "ours", "a control character has no one reading; both deny"},
	"p026": {"denied POL-ARG-MISSING", "ours", "a number is no path; the peer judges its decimal text"},
	"p028": {"denied POL-FS-DENY", "ours", "every path-like argument is judged, not only the first"},
	"p030": {"denied POL-FS-DENY", "ours", "fs without allow_paths denies all, as the contract says"},
	"p034": {"denied POL-FS-DENY", "ours", "fs without allow_paths denies all, and file_path is a path"},
	"p038": {"denied POL-ARG-MISSING", "ours", "the argument that path_arg names must be there; a fall back judges another one"},
	"p048": {"denied POL-SHELL-METACHAR", "ours", "an expansion makes a word unknown"},
	"p050": {"denied POL-SHELL-METACHAR", "ours", "a redirection opens a file"},
	"p052": {"denied POL-SHELL-METACHAR", "ours", "a line feed outside quotes separates commands; the second line ran unjudged"},
	"p056": {"denied POL-ARG-AMBIGUOUS", "ours", "an empty command line has no command; both deny"},
	"p058": {"denied POL-SHELL-METACHAR", "ours", "a process substitution runs a command"},
	"p066": {"denied POL-SHELL-DENY", "ours", "the name of the tool says exec; without allow no command may run"},
	"p068": {"allowed", "ours", "host names have no case"},
	"p076": {"denied POL-ARG-AMBIGUOUS", "ours", "URL parsers disagree where the host ends"},
	"p078": {"denied POL-ARG-AMBIGUOUS", "ours", "URL parsers disagree where the host ends: some go to evil.com"},
	"p080": {"allowed", "ours", "the root dot changes no host"},
	"p082": {"denied POL-ARG-AMBIGUOUS", "ours", "a URL without a scheme goes to evil.com in a browser"},
	"p084": {"denied POL-HTTP-HOST-DENY", "ours", "a pattern with a port is that port only"},
	"p086": {"denied POL-ARG-AMBIGUOUS", "ours", "a file: URL has no host; both deny"},
	"p088": {"denied POL-ARG-AMBIGUOUS", "ours", "some readers trim the blank, others refuse the URL"},
	"p090": {"denied POL-HTTP-SSRF", "ours", "the contract's code for a denied range; the peer gives the name of the constraint"},
	"p092": {"denied POL-HTTP-SSRF", "ours", "the contract's code for a denied range"},
	"p094": {"denied POL-HTTP-SSRF", "ours", "the contract's code for a denied range"},
	"p096": {"denied POL-HTTP-SSRF", "ours", "an IPv4 address inside an IPv6 one is that address"},
	"p098": {"denied POL-HTTP-SSRF", "ours", "a resolver reads 2130706433 as 127.0.0.1"},
	"p100": {"denied POL-HTTP-SSRF", "ours", "a resolver reads 0177.0.0.1 as 127.0.0.1"},
	"p102": {"denied POL-HTTP-SSRF", "ours", "0.0.0.0 leads to this machine"},
	"p104": {"denied POL-HTTP-SSRF", "ours", "100.64.0.0/10 is a denied range of the contract"},
	"p106": {"denied POL-HTTP-SSRF", "ours", "the root dot changes no address"},
	"p108": {"denied POL-HTTP-SSRF", "ours", "the fragment is not part of the host"},
	"p112": {"denied POL-HTTP-SSRF", "ours", "the contract's code for a denied range"},
	"p114": {"does not load: p.yaml:5:38: policy parse error: `not-a-cidr` in `deny_cidrs` is no network, such as 192.0.2.0/24 or 2001:db8::/32", "ours", "an entry that is no network does not load: passed over it would protect nothing"},
	"p116": {"denied POL-HTTP-SSRF", "ours", "the contract's code for a denied range; allow_hosts opens no range"},
	"p118": {"denied POL-HTTP-SSRF", "ours", "target_url is a URL, by the word in its name"},
	"p120": {"denied POL-HTTP-HOST-DENY", "ours", "every URL argument is judged; a name that is not looked up is denied without allow_hosts"},
	"p122": {"denied POL-HTTP-SSRF", "ours", "the contract's code for a denied range"},
	"p130": {"denied POL-SQL-DENY", "ours", "EXPLAIN ANALYZE runs the DELETE"},
	"p132": {"allowed", "ours", "a parenthesised SELECT reads"},
	"p134": {"allowed", "ours", "a comment is no statement"},
	"p142": {"denied POL-SQL-DENY", "ours", "SELECT INTO makes a table"},
	"p144": {"allowed", "ours", "SHOW only reads"},
	"p146": {"denied POL-ARG-AMBIGUOUS", "ours", "a query that is not understood; both deny, the code says why"},
	"p152": {"denied POL-SQL-DENY", "ours", "a comment hides no keyword"},
	"p156": {"denied POL-SQL-DENY", "ours", "every query argument is judged"},
	"p158": {"denied POL-HTTP-HOST-DENY", "ours", "both deny; the first refusal in argument order is told, and a name that is not looked up is one"},
}

func readRows[T any](t *testing.T, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row T
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if lines.Err() != nil || len(rows) == 0 {
		t.Fatal(lines.Err(), len(rows))
	}
	return rows
}

// verdictOf judges one call by a policy in text, as guard would, and gives its
// status and its code, or why the policy does not load.
func verdictOf(src, tool string, arguments []byte) string {
	set, err := policy.Parse("p.yaml", []byte(src))
	if err != nil {
		return "does not load: " + err.Error()
	}
	var v [1]policy.Verdict
	policy.NewEngine(set).Decide([]policy.Request{{Tool: tool, Arguments: arguments}}, v[:])
	if v[0].Status == policy.Allowed {
		return "allowed"
	}
	return fmt.Sprint(v[0].Status, " ", v[0].Code)
}

// TestPeerPolicy walks what another implementation of the guard contract
// answers. Every difference is listed above with which side is right, and every
// listed one is a difference still.
func TestPeerPolicy(t *testing.T) {
	t.Parallel()
	type row struct {
		ID     string `json:"id"`
		Note   string `json:"note"`
		Policy string `json:"policy_yaml"`
		Call   struct {
			Tool      string         `json:"tool"`
			Arguments jsontext.Value `json:"arguments"`
		} `json:"call"`
		Wire string  `json:"guard_wire"`
		Rule *string `json:"guard_rule"`
	}
	seen := map[string]bool{}
	for _, r := range readRows[row](t, "testdata/peer/policy.jsonl") {
		peer := "allowed"
		if r.Wire == "blocked" {
			peer = "denied " + *r.Rule
		}
		ours := verdictOf(armed(r.Policy), r.Call.Tool, r.Call.Arguments)
		d, listed := peerDifferences[r.ID]
		seen[r.ID] = true
		switch {
		case ours == peer && listed:
			t.Errorf("%s (%s): listed as a difference, but both say %q", r.ID, r.Note, ours)
		case ours != peer && !listed:
			t.Errorf("%q: {%q, \"ours\", %q}, // peer: %s, %s", r.ID, ours, r.Note, peer, r.Call.Arguments)
		case listed && ours != d.ours:
			t.Errorf("%s (%s): %q, want %q", r.ID, r.Note, ours, d.ours)
		}
	}
	for id := range peerDifferences {
		if !seen[id] {
			t.Errorf("%s is no row", id)
		}
	}
}

// armed is the policy with an argument half. The peer judges arguments by any
// policy; here a file without `defaults`, `tools` and `bindings` has none.
func armed(src string) string {
	set, err := policy.Parse("p.yaml", []byte(src))
	if err == nil && !set.HasArguments() {
		return src + "tools: {}\n"
	}
	return src
}
