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
var differs = map[string]struct{ ours, why string }{
	"r014": {`INVISIBLE monitor 0; forwarded; forwarded`, "ours: the catalog watches for invisible characters, the peer has no such rule"},
	"r016": {`INVISIBLE monitor 0; forwarded; forwarded`, "ours: the catalog watches for invisible characters, the peer has no such rule"},
	"r018": {`INVISIBLE monitor 0; forwarded; forwarded`, "ours: the catalog watches for invisible characters, the peer has no such rule"},
	"r026": {`SECRET-ECHO block 0 ENTROPY task…(len=29); error SECRET-ECHO; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-SECRET-ECHO"]}},"content":[{"text":"task…(len=29)","type":"text"}]}`, "ours: the peer says it redacted an entropy token and sends it in clear"},
	"r034": {`SECRET-ECHO block 0 ENTROPY ghp_…(len=41); error SECRET-ECHO; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-SECRET-ECHO"]}},"content":[{"text":"t ghp_…(len=41)","type":"text"}]}`, "ours: the peer says it redacted an entropy token and sends it in clear"},
	"r046": {`SECRET-ECHO block 0 PRIVKEY ----…(len=36); error SECRET-ECHO; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-SECRET-ECHO"]}},"content":[{"text":"----…(len=36)","type":"text"}]}`, "ours: the peer redacts the header and leaves the key"},
	"r048": {`SECRET-ECHO block 0 PRIVKEY ----…(len=40); error SECRET-ECHO; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-SECRET-ECHO"]}},"content":[{"text":"----…(len=40)","type":"text"}]}`, "ours: the peer redacts the header and leaves the key"},
	"r050": {`SECRET-ECHO block 0 PRIVKEY ----…(len=36); error SECRET-ECHO; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-SECRET-ECHO"]}},"content":[{"text":"----…(len=36)","type":"text"}]}`, "ours: the peer redacts the header and leaves the key"},
	"r054": {`SECRET-ECHO block 0 ENTROPY eyJh…(len=38); error SECRET-ECHO; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-SECRET-ECHO"]}},"content":[{"text":"j eyJh…(len=38)","type":"text"}]}`, "ours: the contract counts a dot as part of a token, and a truncated JWT is one"},
	"r062": {`forwarded; forwarded`, "ours: letters of one case, a path and an identifier of words are no secrets"},
	"r070": {`forwarded; forwarded`, "ours: letters of one case, a path and an identifier of words are no secrets"},
	"r074": {`forwarded; forwarded`, "ours: the peer says it redacted an entropy token and sends it in clear"},
	"r076": {`forwarded; forwarded`, "ours: letters of one case, a path and an identifier of words are no secrets"},
	"r078": {`SECRET-ECHO block 0 ENTROPY ghp_…(len=64); error SECRET-ECHO; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-SECRET-ECHO"]}},"content":[{"text":"ghp_…(len=64)","type":"text"}]}`, "ours: the peer says it redacted an entropy token and sends it in clear"},
	"r088": {`EXFIL-DOMAIN block 0; URL note 0; error EXFIL-DOMAIN; error EXFIL-DOMAIN`, "ours: a redirector hands on what the listed URL in its query is sent"},
	"r116": {`EXFIL-DOMAIN block 0; error EXFIL-DOMAIN; error EXFIL-DOMAIN`, "ours: a listed URL is not counted as one that is not"},
	"r118": {`EXFIL-DOMAIN block 0; error EXFIL-DOMAIN; error EXFIL-DOMAIN`, "ours: browsers end the host at the backslash"},
	"r120": {`EXFIL-DOMAIN block 0; error EXFIL-DOMAIN; error EXFIL-DOMAIN`, "ours: browsers read the full-width letter as the ASCII one"},
	"r124": {`EXFIL-DOMAIN block 0; error EXFIL-DOMAIN; error EXFIL-DOMAIN`, "ours: the quote or semicolon is not part of the host"},
	"r130": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: the peer forwards what its tier says it blocks; private addresses are notes here, and say so"},
	"r132": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: the peer forwards what its tier says it blocks; private addresses are notes here, and say so"},
	"r134": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: a resolver reads this spelling as loopback"},
	"r136": {`EXFIL-IP-LITERAL note 0; forwarded; forwarded`, "ours: the peer forwards what its tier says it blocks; private addresses are notes here, and say so"},
	"r138": {`EXFIL-IP-LITERAL note 0; forwarded; forwarded`, "ours: the peer forwards what its tier says it blocks; private addresses are notes here, and say so"},
	"r146": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: the range is on the list of denied ones"},
	"r148": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: the range is on the list of denied ones"},
	"r150": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: a resolver reads this spelling as loopback"},
	"r152": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: a resolver reads this spelling as loopback"},
	"r154": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: the peer forwards what its tier says it blocks; private addresses are notes here, and say so"},
	"r156": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: the peer forwards what its tier says it blocks; private addresses are notes here, and say so"},
	"r158": {`EXFIL-IP-LITERAL block 0; URL note 0; error EXFIL-IP-LITERAL; error EXFIL-IP-LITERAL`, "ours: a link-local address in a URL blocks; the peer says so and forwards it"},
	"r160": {`EXFIL-IP-LITERAL block 0; URL note 0; error EXFIL-IP-LITERAL; error EXFIL-IP-LITERAL`, "ours: a link-local address in a URL blocks; the peer says so and forwards it"},
	"r164": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: the mapped address is 10.0.0.5 in hexadecimal"},
	"r166": {`EXFIL-IP-LITERAL note 0; forwarded; forwarded`, "ours: the peer forwards what its tier says it blocks; private addresses are notes here, and say so"},
	"r168": {`EXFIL-IP-LITERAL note 0; forwarded; forwarded`, "ours: the peer forwards what its tier says it blocks; private addresses are notes here, and say so"},
	"r170": {`EXFIL-IP-LITERAL note 0; forwarded; forwarded`, "ours: the peer forwards what its tier says it blocks; private addresses are notes here, and say so"},
	"r172": {`EXFIL-IP-LITERAL note 0; forwarded; forwarded`, "ours: the peer forwards what its tier says it blocks; private addresses are notes here, and say so"},
	"r174": {`EXFIL-IP-LITERAL note 0; forwarded; forwarded`, "ours: the peer forwards what its tier says it blocks; private addresses are notes here, and say so"},
	"r178": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: the peer forwards what its tier says it blocks; private addresses are notes here, and say so"},
	"r180": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: the comma or quote is not part of the host"},
	"r184": {`ANSI block 0; INJECT-PHRASE monitor 0 ignore previous instructions; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-ANSI"]}},"content":[{"text":"ignorepreviousinstructions","type":"text"}]}; error INJECT-PHRASE`, "ours: a model reads the phrase whichever white space, or none that shows, is between the words"},
	"r186": {`INJECT-PHRASE monitor 0 ignore previous instructions; forwarded; error INJECT-PHRASE`, "ours: a model reads the phrase whichever white space, or none that shows, is between the words"},
	"r190": {`INJECT-PHRASE monitor 0 ignore previous instructions; INVISIBLE monitor 0; forwarded; error INJECT-PHRASE`, "ours: a model reads the phrase whichever white space, or none that shows, is between the words"},
	"r204": {`EXFIL-DOMAIN block 0; error EXFIL-DOMAIN; error EXFIL-DOMAIN`, "ours: a uri is inspected"},
	"r210": {`EXFIL-DOMAIN block 0; error EXFIL-DOMAIN; error EXFIL-DOMAIN`, "ours: a uri is inspected"},
	"r216": {`SECRET-ECHO block 0 GITHUB ghp_…(len=40); UNINSPECTABLE note 0; error SECRET-ECHO; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-SECRET-ECHO"]}},"content":["ghp_…(len=40)"]}`, "ours: every string is inspected"},
	"r218": {`SECRET-ECHO block -1 GITHUB ghp_…(len=40); error SECRET-ECHO; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-SECRET-ECHO"]}},"content":"ghp_…(len=40)"}`, "ours: every string is inspected"},
	"r222": {`SECRET-ECHO block 0 GITHUB ghp_…(len=40); error SECRET-ECHO; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-SECRET-ECHO"]}},"content":[{"annotations":{"note":"ghp_…(len=40)"},"text":"ok","type":"text"}]}`, "ours: every string is inspected"},
	"r228": {`ANSI block 0; EXFIL-DOMAIN block 0; URL note 0; error EXFIL-DOMAIN; error EXFIL-DOMAIN`, "ours: what a strip brings together is looked at again"},
	"r232": {`ANSI block 0; SECRET-ECHO block 0 AWS-AKID AKIA…(len=20); error SECRET-ECHO; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-ANSI","WRD-RES-SECRET-ECHO"]}},"content":[{"text":"AKIA…(len=20)","type":"text"}]}`, "ours: what a strip brings together is looked at again"},
	"r234": {`ANSI block 0; INJECT-PHRASE monitor 0 ignore previous instructions; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-ANSI"]}},"content":[{"text":"ignore previous instructions","type":"text"}]}; error INJECT-PHRASE`, "ours: what a strip brings together is looked at again"},
	"r238": {`EXFIL-DOMAIN block 0; error EXFIL-DOMAIN; error EXFIL-DOMAIN`, "ours: the quote or semicolon is not part of the host"},
	"r240": {`EXFIL-DOMAIN block 0; error EXFIL-DOMAIN; error EXFIL-DOMAIN`, "ours: the quote or semicolon is not part of the host"},
	"r246": {`EXFIL-IP-LITERAL note 0; URL note 0; forwarded; forwarded`, "ours: the comma or quote is not part of the host"},
	"r248": {`SECRET-ECHO block 0 AWS-AKID AKIA…(len=20); error SECRET-ECHO; modified {"_meta":{"warden":{"modified":true,"rules":["WRD-RES-SECRET-ECHO"]}},"content":[{"text":"AKIA…(len=20)é","type":"text"}]}`, "ours: a letter outside of ASCII is no part of a key"},
}

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

// TestPeerWireProbes: hostile answers that the peer lets through or spoils, and
// what becomes of them here.
func TestPeerWireProbes(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, Options{})
	const secret = `{"content":[{"type":"text","text":"` + token + `"}]}`
	const mark = `"_meta":{"warden":{"modified":true,"rules":["WRD-RES-ANSI"]}}`
	for _, test := range []struct{ probe, theirs, frame, want string }{
		{"dup_result_key", "reads the last one only", `{"jsonrpc":"2.0","id":1,"result":` + secret + `,"result":{"content":[]}}`, "error SECRET-ECHO"},
		{"batch_s2c", "gives up on the array", `[{"jsonrpc":"2.0","id":1,"result":` + secret + `}]`, "error SECRET-ECHO"},
		{"id_array_s2c", "ends", `{"jsonrpc":"2.0","id":[1],"result":` + secret + `}`, "error SECRET-ECHO"},
		{"id_float", "blocks", `{"jsonrpc":"2.0","id":1.0,"result":` + secret + `}`, "error SECRET-ECHO"},
		{"nan_modified", "modifies", `{"id":1,"result":{"content":[{"type":"text","text":"\u001b[0m"}],"x":NaN}}`, `{"id":1,"result":{"content":[{"type":"text","text":"[0m"}],"x":NaN,` + mark + `}}`},
		{"dup_key_rewrite", "drops the member extra", `{"id":1,"result":{"content":[{"type":"text","text":"\u001b"}]},"extra":1}`, `{"id":1,"result":{"content":[{"type":"text","text":""}],` + mark + `},"extra":1}`},
		{"resource_uri_ansi", "says it modified the uri and did not", `{"id":1,"result":{"content":[{"type":"resource","resource":{"uri":"x:\u001b[31m"}}]}}`, `{"id":1,"result":{"content":[{"type":"resource","resource":{"uri":"x:[31m"}}],` + mark + `}}`},
		{"lone_surrogate_record", "forwards", `{"id":1,"result":{"content":[{"type":"text","text":"\ud800"}]}}`, ""},
		{"deep_nesting", "ends", `{"id":1,"result":` + strings.Repeat(`[`, 20000) + `"` + token + `"` + strings.Repeat(`]`, 20000) + `}`, "error SECRET-ECHO"},
		{"localhost_dns", "resolves the name and blocks; the contract resolves nothing", `{"id":1,"result":{"content":[{"type":"text","text":"see http://localhost:99/x"}]}}`, ""},
	} {
		r := c.Inspect([]byte(test.frame), Declaration{}, Posture{})
		got := string(r.Rewritten)
		if r.Block != nil {
			got = "error " + strings.TrimPrefix(r.Block.RuleID, "WRD-RES-")
		}
		if got != test.want {
			t.Errorf("%s (the peer %s): %s, want %s", test.probe, test.theirs, got, test.want)
		}
	}
}
