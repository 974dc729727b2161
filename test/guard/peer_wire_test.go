package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// probe is a hostile session and what the peer made of it.
type probe struct {
	Probe, Note string
	Flags, Sent []string
	ServerRaw   answers  `json:"server_raw"`
	Received    []string `json:"client_received"`
	Exit        int
	Findings    [][2]*string
	Traceback   bool
}

// leaks are the probes in which the client gets the token all the same, and why
// that is right.
var leaks = map[string]string{
	"passthrough_notif": "the contract, point 1: only the answers to a tools/call are touched",
	"overcap_default":   "the contract, point 4: over-cap frames pass through",
}

// wireDiffers are the probes in which we and the peer differ, what we do, and
// which side is right. One that differs and is not here fails, and so does one
// that is here and no longer differs.
var wireDiffers = map[string]struct{ ours, why string }{
	"dup_key_rewrite": {
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}],"_meta":{"warden":{"modified":true,"rules":["WRD-RES-ANSI"]}}},"extra":1}; exit 0; WRD-RES-ANSI modified`,
		"ours: a rewrite keeps the members beside result",
	},
	"overcap_default": {
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"}]}}; exit 0; WRD-RES-FRAME-ERROR passed`,
		"ours: the frame that passed was the answer, and an id is answered once",
	},
	"localhost_dns": {
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"see http://localhost:99/x"}]}}; exit 0; WRD-RES-URL passed`,
		"ours: the catalog asks no name server (a lookup tells the drop site who looks); loopback is no metadata address (G2)",
	},
	"error_then_exit": {
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}; exit 4; `,
		"ours: an error is an answer, and an id is answered once",
	},
	"resource_uri_ansi": {
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"resource","resource":{"uri":"x:[31m"}}],"_meta":{"warden":{"modified":true,"rules":["WRD-RES-ANSI"]}}}}; exit 0; WRD-RES-ANSI modified`,
		"ours: the peer says it changed what it sends unchanged",
	},
	"cl_prefix_hang": {
		`-32002 lifecycle  of  id 1 | -32002 lifecycle  of  id 2; exit 2; `,
		"ours: neither side can read the other (W4), and the client is told in its own framing",
	},
	"lone_surrogate_record": {
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\ud800"}]}}; exit 0; `,
		"ours: a recording keeps the text as it came; the peer dies of it",
	},
	"second_response": {
		`{"jsonrpc":"2.0","id":1,"result":{"content":[]}} | -32001 response WRD-RES-SECRET-ECHO of  id 1; exit 0; WRD-RES-SECRET-ECHO blocked`,
		"ours: an answer to an id that was answered before is inspected, since a client may take it (W5)",
	},
	"dup_result_key": {
		`-32001 response WRD-RES-SECRET-ECHO of a id 1; exit 0; WRD-RES-SECRET-ECHO blocked`,
		"ours: every string is inspected, those of a duplicate member too (G1)",
	},
	"batch_s2c": {
		`[-32001 response WRD-RES-SECRET-ECHO of a id 1]; exit 0; WRD-RES-SECRET-ECHO blocked`,
		"ours: an array is inspected element by element (W6)",
	},
	"id_array_s2c": {
		`{"jsonrpc":"2.0","id":[1],"result":{}} | {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"fine"}]}} | -32002 lifecycle  of  id 1; exit 0; `,
		"ours: no reader takes it for the answer to 1, which is told when the server is gone; the peer dies of it",
	},
	"deep_nesting_c2s": {
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"fine"}]}} | {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"fine"}]}}; exit 0; `,
		"ours: nothing is armed that would have to read it; the peer dies of it",
	},
}

func TestPeerWireProbes(t *testing.T) {
	const secret = "ghp_A1b2C3d4E5f6G7h8I9j0" // the start of the probes' token
	met := map[string]bool{}
	for line := range bytes.Lines(fileOf(t, "testdata/peer/wire_probes.jsonl")) {
		var p probe
		must(t, json.Unmarshal(line, &p))
		met[p.Probe] = true
		t.Run(p.Probe, func(t *testing.T) {
			t.Parallel()
			received, code, found := replayed(t, p)
			var ours, theirs []string
			for _, frame := range received {
				ours = append(ours, frameOf(frame))
			}
			for _, frame := range p.Received {
				theirs = append(theirs, frameOf(frame))
			}
			for _, frame := range theirs {
				blocked := strings.HasPrefix(frame, "-32001 response ")
				if blocked && !slices.Contains(ours, frame) && wireDiffers[p.Probe].why == "" {
					t.Errorf("the peer blocks rightly, %s, we do not: %q", frame, ours)
				}
			}
			if all := strings.Join(received, "\n"); strings.Contains(all, secret) && leaks[p.Probe] == "" {
				t.Errorf("the token gets through: %s", all)
			}
			their := describe(theirs, p.Exit, p.found())
			if p.Traceback {
				their += "; crashed"
			}
			our := describe(ours, code, found)
			want, listed := wireDiffers[p.Probe]
			switch {
			case our == their && listed:
				t.Errorf("%s: listed, but does not differ any more: %s", p.Note, our)
			case our != their && !listed:
				t.Errorf("%s: not listed\n ours   %s\n theirs %s", p.Note, our, their)
			case our != their && want.ours != our:
				t.Errorf("%s:\n ours   %s\n listed %s", p.Note, our, want.ours)
			}
		})
	}
	if len(met) != 17 {
		t.Errorf("%d probes, want 17", len(met))
	}
	for name := range wireDiffers {
		if !met[name] {
			t.Errorf("%s is listed and not there", name)
		}
	}
}

// replayed is what our client receives.
func replayed(t *testing.T, p probe) (received []string, code int, found []string) {
	t.Helper()
	script := serverScript{Answers: answers{}}
	for tool, raw := range p.ServerRaw {
		script.Answers[tool] = raw
	}
	switch p.Probe { // what the probe's server does beside its answers
	case "error_then_exit":
		script.Answers["nope"] = `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32601,"message":"no"}}` + "\n!exit 4"
	case "signal_mid_call":
		script.Answers["a"] = "!die"
	}
	flags := []string{"--json", "@f.jsonl"}
	for i := 0; i < len(p.Flags); i++ {
		flags = append(flags, p.Flags[i])
		if p.Flags[i] == "--record" {
			i++
			flags = append(flags, "@trace.jsonl")
		}
	}
	s := startScript(t, t.TempDir(), script, flags...)
	s.send(p.Sent...)
	rest, code := s.finish()
	if rest != "" {
		received = strings.Split(strings.TrimSuffix(rest, "\n"), "\n")
	}
	for _, f := range s.findings("f.jsonl") {
		found = append(found, f.RuleID+" "+f.Action)
	}
	return received, code, found
}

func (p probe) found() (found []string) {
	for _, f := range p.Findings {
		if f[1] != nil {
			found = append(found, *f[0]+" "+*f[1])
		}
	}
	return found
}

// frameOf is a frame as it came, or the facts of an error that a guard wrote.
func frameOf(frame string) string {
	var batch []json.RawMessage
	if json.Unmarshal([]byte(frame), &batch) == nil {
		var all []string
		for _, e := range batch {
			all = append(all, frameOf(string(e)))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	var b blocked
	if json.Unmarshal([]byte(frame), &b) != nil || !b.Error.Data.Warden {
		return frame
	}
	d := b.Error.Data
	return fmt.Sprintf("%d %s %s of %s id %s", b.Error.Code, d.Stage, d.Rule, d.Tool, b.ID)
}

func describe(frames []string, code int, found []string) string {
	return strings.Join(frames, " | ") + fmt.Sprintf("; exit %d; ", code) + strings.Join(found, ", ")
}

// The results that the catalog is compared with (see inspect/peer_test.go), on
// the wire: what becomes of each under two sets of flags. outcomeDiffers are
// those that do not become what they become behind the peer, under either set.
var outcomeDiffers = map[string]struct{ ours, why string }{
	"r054": {"error, modified", "ours: the contract counts a dot as part of a token, and a truncated JWT is one"},
	"r062": {"forwarded, forwarded", "ours: letters of one case are no secret"},
	"r070": {"forwarded, forwarded", "ours: a path is no secret"},
	"r074": {"forwarded, forwarded", "ours: words and digits of one case are no secret"},
	"r076": {"forwarded, forwarded", "ours: an identifier of words is no secret"},
	"r088": {"error, error", "ours: a redirector hands on what the listed URL in its query is sent"},
	"r118": {"error, error", "ours: browsers end the host at the backslash"},
	"r120": {"error, error", "ours: a resolver reads the full-width letter as the plain one"},
	"r124": {"error, error", "ours: the quote is not part of the host"},
	"r158": {"error, error", "ours: a link-local address in a URL blocks; the peer says so and forwards it"},
	"r160": {"error, error", "ours: a link-local address in a URL blocks; the peer says so and forwards it"},
	"r184": {"modified, error", "ours: a model reads the phrase whichever white space is between the words"},
	"r186": {"forwarded, error", "ours: a model reads the phrase whichever white space is between the words"},
	"r190": {"forwarded, error", "ours: a model reads the phrase though nothing that shows is between the words"},
	"r204": {"error, error", "ours: a uri is inspected"},
	"r210": {"error, error", "ours: a uri is inspected"},
	"r216": {"error, modified", "ours: every string is inspected"},
	"r218": {"error, modified", "ours: every string is inspected"},
	"r222": {"error, modified", "ours: every string is inspected"},
	"r228": {"error, error", "ours: what a strip brings together is looked at again"},
	"r232": {"error, modified", "ours: what a strip brings together is looked at again"},
	"r234": {"modified, error", "ours: what a strip brings together is looked at again"},
	"r238": {"error, error", "ours: the quote is not part of the host"},
	"r240": {"error, error", "ours: the semicolon is not part of the host"},
	"r248": {"error, modified", "ours: a letter outside of ASCII is no part of a key"},
}

func TestPeerResultsOnTheWire(t *testing.T) {
	type outcome struct{ Wire string }
	type row struct {
		ID, Note string
		Result   json.RawMessage
		Default  outcome `json:"guard_default"`
		Redact   outcome `json:"guard_redact_and_block_phrase"`
	}
	root, err := harness.ModuleRoot()
	must(t, err)
	var rows []row
	a := answers{}
	for line := range bytes.Lines(fileOf(t, filepath.Join(root, "inspect", "testdata", "peer", "results.jsonl"))) {
		var r row
		must(t, json.Unmarshal(line, &r))
		rows = append(rows, r)
		a[r.ID] = `{"jsonrpc":"2.0","id":%ID%,"result":` + string(r.Result) + `}`
	}
	if len(rows) != 128 {
		t.Fatalf("%d rows, want 128", len(rows))
	}
	var plain, redacted []string
	for _, flags := range [][]string{nil, {"--redact-secret-echo", "--block-inject-phrase"}} {
		s := start(t, a, flags...)
		for _, r := range rows {
			got := "forwarded"
			switch frame := s.ask(call(`"`+r.ID+`"`, r.ID)); {
			case strings.Contains(frame, `"code":-32001`):
				got = "error"
			case frame != withID(a[r.ID], `"`+r.ID+`"`):
				got = "modified"
			}
			if flags == nil {
				plain = append(plain, got)
			} else {
				redacted = append(redacted, got)
			}
		}
		s.finish()
	}
	for i, r := range rows {
		our, their := plain[i]+", "+redacted[i], r.Default.Wire+", "+r.Redact.Wire
		want, listed := outcomeDiffers[r.ID]
		switch {
		case our == their && listed:
			t.Errorf("%s (%s): listed, but does not differ any more", r.ID, r.Note)
		case our != their && !listed:
			t.Errorf("%s (%s): not listed: ours %s, theirs %s", r.ID, r.Note, our, their)
		case our != their && want.ours != our:
			t.Errorf("%s (%s): ours %s, listed %s", r.ID, r.Note, our, want.ours)
		}
	}
}

func fileOf(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}
