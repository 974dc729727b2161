package inspect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// peerRow is a result and what the peer makes of it.
type peerRow struct {
	ID, Note string
	Result   json.RawMessage
	Findings []peerFinding
	Default  peerWire `json:"guard_default"`
	Redact   peerWire `json:"guard_redact_and_block_phrase"`
}

type peerFinding struct {
	RuleID  string   `json:"rule_id"`
	SubRule string   `json:"sub_rule"`
	Tier    string   `json:"tier"`
	Block   int      `json:"block_index"`
	Snippet string   `json:"snippet"`
	Phrases []string `json:"matched_phrases"`
}

type peerWire struct {
	Wire string          `json:"wire"`
	Body json.RawMessage `json:"body"`
}

// differs are the rows where we and the peer differ, what we find and do, and
// why. A row that differs and is not here fails, and so does one that is here
// and no longer differs.
var differs = map[string]struct{ ours, why string }{}

func TestPeerResults(t *testing.T) {
	file, err := os.Open("testdata/peer/results.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := newCatalog(t, Options{})
	met := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		n++
		var row peerRow
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		frame := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":%s}`, row.Result)
		plain := c.Inspect(frame, Declaration{}, Posture{})
		redact := c.Inspect(frame, Declaration{}, Posture{RedactSecretEcho: true, BlockPhrases: BlockEveryPhrase})
		var theirs []string
		for _, f := range row.Findings {
			theirs = append(theirs, describe(f.RuleID, f.SubRule, f.Tier, f.Block, f.Snippet, f.Phrases))
		}
		var ours []string
		for _, f := range plain.Findings {
			ours = append(ours, describe(f.RuleID, f.SubRule, string(f.Tier), f.BlockIndex, f.Snippet, f.MatchedPhrases))
		}
		slices.Sort(theirs)
		slices.Sort(ours)
		their := strings.Join(append(theirs, row.Default.String(), row.Redact.String()), "; ")
		our := strings.Join(append(ours, wireOf(plain), wireOf(redact)), "; ")
		want, listed := differs[row.ID]
		met[row.ID] = true
		switch {
		case our == their && listed:
			t.Errorf("%s (%s): listed, but does not differ any more: %s", row.ID, row.Note, our)
		case our != their && !listed:
			t.Errorf("%s (%s): not listed\n ours   %s\n theirs %s", row.ID, row.Note, our, their)
		case our != their && want.ours != our:
			t.Errorf("%s (%s):\n ours   %s\n listed %s", row.ID, row.Note, our, want.ours)
		}
	}
	if n != 128 {
		t.Errorf("%d rows, want 128", n)
	}
	for id := range differs {
		if !met[id] {
			t.Errorf("%s is listed and not there", id)
		}
	}
}

func describe(rule, sub, tier string, block int, snippet string, phrases []string) string {
	s := strings.TrimPrefix(rule, "WRD-RES-") + " " + tier + " " + fmt.Sprint(block)
	if sub != "" {
		s += " " + strings.TrimPrefix(sub, "WRD-SEC-") + " " + snippet
	}
	if phrases != nil {
		s += " " + strings.Join(phrases, ",")
	}
	return s
}

// String is what reached the client: forwarded, error and the rule, or the
// result as it was modified.
func (w peerWire) String() string {
	switch w.Wire {
	case "error":
		var body struct{ Data struct{ Rule string } }
		if err := json.Unmarshal(w.Body, &body); err != nil {
			return err.Error()
		}
		return "error " + strings.TrimPrefix(body.Data.Rule, "WRD-RES-")
	case "modified":
		return "modified " + compact(w.Body)
	}
	return w.Wire
}

func wireOf(r Report) string {
	switch {
	case r.Block != nil:
		return "error " + strings.TrimPrefix(r.Block.RuleID, "WRD-RES-")
	case r.Rewritten != nil:
		var frame struct{ Result json.RawMessage }
		if err := json.Unmarshal(r.Rewritten, &frame); err != nil {
			return err.Error()
		}
		return "modified " + compact(frame.Result)
	}
	return "forwarded"
}

// compact is JSON in one spelling.
func compact(b []byte) string {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err.Error()
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return strings.TrimSpace(out.String())
}

func newCatalog(t testing.TB, opts Options) *Catalog {
	t.Helper()
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
