package interpose

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/aar/sinktest"
	"github.com/aegis-aar/aegis/internal/wire"
	"github.com/aegis-aar/aegis/policy"
)

// What a Policy Set holds back, and what it must not touch. The server in most
// of these tests is hostile: it writes down every byte that reaches it.

// byPolicy decides by an engine, as the command line does.
type byPolicy struct{ *policy.Engine }

func (p byPolicy) Decide(calls []ToolCall, verdicts []Verdict) (aar.PolicySetHash, error) {
	if len(calls) == 0 {
		return p.Set().Hash(), nil
	}
	requests, answers := make([]policy.Request, len(calls)), make([]policy.Verdict, len(calls))
	for i, c := range calls {
		requests[i].Tool = c.Tool
	}
	hash, _ := p.Engine.Decide(requests, answers)
	for i, v := range answers {
		verdicts[i] = Verdict{MatchedRule: v.MatchedRule, Policy: aar.Policy{Status: aar.Status(v.Status.String()), Reason: v.Reason, ApprovalID: v.ApprovalID}}
	}
	return hash, nil
}

func (byPolicy) Unread(wire.Message, string) bool { return true }

// theRules: tools are named by what becomes of their calls.
const theRules = `
default: allow
rules:
- {id: never, action: deny, tool: denied, reason: not this one}
- {id: slow, action: rate_limit, tool: limited, rate: {max: 2, per_seconds: 3600}}
- {id: ask, action: pending_approval, tool: parked}
`

func enforced(t testing.TB, rules string, adjust ...func(*Config)) (*policy.Engine, func(*Config)) {
	t.Helper()
	set, err := policy.Parse("policy.yaml", []byte(rules))
	must(t, err)
	e := policy.NewEngine(set, policy.WithSessionToken("0123456789abcdef"))
	return e, func(c *Config) {
		c.Decider = byPolicy{e}
		for _, f := range adjust {
			f(c)
		}
	}
}

// refusedFrame is the outcome of a frame that nobody could judge.
func refusedFrame(hash aar.PolicySetHash, reason string) aar.Outcome {
	o := aar.Unevaluated(hash)
	o.Policy.Reason, o.Capability.Reason = reason, reason
	return o
}

func (s *session) wantLog(path, want string) {
	s.t.Helper()
	logged, err := os.ReadFile(path)
	must(s.t, err)
	wantSame(s.t, "the server got", string(logged), want)
}

// unjudged are the frames that two honest readers could take differently, each
// hiding a call from some reader. A frame holds its id once, unless none is
// what its answer can carry.
var unjudged = []struct {
	name, frame, reason, id string
	inBatch                 string // the reason inside an array, where that is another
}{
	{"a name twice", `{"id":1,"method":"tools/call","params":{"name":"read","name":"denied"}}`, "duplicate member name", "1", ""},
	{"a name twice, once escaped", `{"id":"\u0061","method":"tools/call","params":{"name":"read","n\u0061me":"denied"}}`, "duplicate member name", `"\u0061"`, ""},
	{"a method twice", `{"id":1.0,"method":"ping","method":"tools/call","params":{"name":"denied"}}`, "duplicate member name", "1.0", ""},
	{"an id twice", `{"id":1,"id":2,"method":"tools/call","params":{"name":"denied"}}`, "duplicate member name", "null", ""},
	{"an argument twice", `{"id":1,"method":"tools/call","params":{"name":"read","arguments":{"a":[{"path":"/a","p\u0061th":"/b"}]}}}`, "duplicate member name", "1", ""},
	{"a member twice that nobody knows", `{"x":1,"x":2,"id":1,"method":"ping"}`, "duplicate member name", "1", ""},
	{"METHOD", `{"id":1,"method":"ping","METHOD":"tools/call","params":{"name":"denied"}}`, "member name differs only by case or folding", "1", ""},
	{"Method alone", `{"id":1,"Method":"tools/call","params":{"name":"denied"}}`, "member name differs only by case or folding", "1", ""},
	{"Name", `{"id":1,"method":"tools/call","params":{"name":"read","Name":"denied"}}`, "member name differs only by case or folding", "1", ""},
	{"Arguments", `{"id":1,"method":"tools/call","params":{"name":"read","arguments":{},"ARGUMENTS":{}}}`, "member name differs only by case or folding", "1", ""},
	{"params with a long s", `{"id":1,"method":"tools/call","params":{"name":"read"},"paramſ":{"name":"denied"}}`, "member name differs only by case or folding", "1", ""},
	{"params with an escaped long s", `{"id":1,"method":"tools/call","params":{"name":"read"},"param\u017f":{"name":"denied"}}`, "member name differs only by case or folding", "1", ""},
	{"a second ID", `{"id":1,"ID":2,"method":"tools/call","params":{"name":"denied"}}`, "member name differs only by case or folding", "null", ""},
	{"an id with a dotted I", `{"id":1,"İd":2,"method":"tools/call","params":{"name":"denied"}}`, "member name differs only by case or folding", "null", ""},
	{"requestid of a cancellation", `{"method":"notifications/cancelled","params":{"requestId":1,"requestid":2}}`, "member name differs only by case or folding", "null", ""},
	{"__proto__", `{"id":1,"__proto__":{"method":"tools/call"},"params":{"name":"denied"}}`, "member named __proto__", "1", ""},
	{"__proto__ of params", `{"id":1,"method":"tools/call","params":{"name":"read","__proto__":{"name":"denied"}}}`, "member named __proto__", "1", ""},
	{"a byte that is not UTF-8", `{"id":1,"method":"tools/call","params":{"name":"read","arguments":{"p":"` + "\xff" + `"}}}`, "invalid UTF-8", "1", ""},
	{"an overlong slash", `{"id":1,"method":"tools` + "\xc0\xaf" + `call","params":{"name":"denied"}}`, "invalid UTF-8", "1", ""},
	{"half a surrogate pair", `{"id":1,"method":"tools/call","params":{"name":"denied\ud800"}}`, "lone surrogate", "1", ""},
	{"a value behind the value", `{"id":1,"method":"ping"}{"id":2,"method":"tools/call","params":{"name":"denied"}}`, "bytes after the value", "null", "not JSON"},
	{"a letter behind the value", `{"id":1,"method":"tools/call","params":{"name":"denied"}} x`, "bytes after the value", "1", "not JSON"},
	{"nested 129 deep", `{"id":1,"method":"tools/call","params":{"name":"denied","arguments":` + nested(127) + `}}`, "nesting over 128", "1", ""},
	{"nested 100,000 deep", `{"id":1,"method":"tools/call","params":{"name":"denied","arguments":` + nested(100_000) + `}}`, "nesting over 128", "1", ""},
	{"a line inside the line", `{"id":1,"x":` + "\r" + `{"id":2,"method":"tools/call","params":{"name":"denied"}}` + "\r" + `}`, "raw CR", "1", ""},
	{"two CR at the end", `{"id":1,"method":"ping"}` + "\r\r", "raw CR", "1", ""},
	{"a method with a result", `{"id":1,"method":"tools/call","result":{},"params":{"name":"denied"}}`, "method together with result or error", "1", ""},
	{"a method with an error", `{"id":1,"error":{},"method":"tools/call","params":{"name":"denied"}}`, "method together with result or error", "1", ""},
	{"a method in a list", `{"id":1,"method":["tools/call"],"params":{"name":"denied"}}`, "method that is not a string", "1", ""},
	{"an id that is true", `{"id":true,"method":"tools/call","params":{"name":"denied"}}`, "id that is not a string, a number or null", "null", ""},
	{"an id in a list", `{"id":[1],"method":"tools/call","params":{"name":"denied"}}`, "id that is not a string, a number or null", "null", ""},
	{"an id over 64 KiB", `{"id":"` + strings.Repeat("x", 64<<10) + `","method":"tools/call","params":{"name":"denied"}}`, "id over 64 KiB", "null", ""},
	{"no params", `{"id":1,"method":"tools/call"}`, "tools/call without a string params.name", "1", ""},
	{"no name", `{"id":1,"method":"tools/call","params":{"tool":"denied"}}`, "tools/call without a string params.name", "1", ""},
	{"a number for a name", `{"id":1,"method":"tools/call","params":{"name":7}}`, "tools/call without a string params.name", "1", ""},
	{"a list for a name", `{"id":1,"method":"tools/call","params":{"name":["denied"]}}`, "tools/call without a string params.name", "1", ""},
	{"params by position", `{"id":1,"method":"tools/call","params":["denied",{}]}`, "tools/call without a string params.name", "1", ""},
	{"a call without an id or a name", `{"method":"tools/call"}`, "tools/call without a string params.name", "null", ""},
	{"a batch in a batch", `[[{"id":1,"method":"tools/call","params":{"name":"denied"}}]]`, "nested batch", "null", ""},
	{"a batch of 4097", `[` + strings.Repeat("1,", 4096) + `{"id":1,"method":"tools/call","params":{"name":"denied"}}]`, "batch of more than 4096 elements", "null", "nested batch"},
	{"a batch of 100,000", `[` + strings.Repeat("{},", 100_000) + `{"id":1,"method":"tools/call","params":{"name":"denied"}}]`, "batch of more than 4096 elements", "null", "nested batch"},
	{"a comma too many", `{"id":1,"method":"tools/call","params":{"name":"denied"},}`, "not JSON", "1", ""},
	{"a comment", `{"id":1,/**/"method":"tools/call","params":{"name":"denied"}}`, "not JSON", "1", ""},
	{"single quotes", `{'id':1,'method':'tools/call','params':{'name':'denied'}}`, "not JSON", "null", ""},
	{"a byte order mark", "\ufeff" + `{"id":1,"method":"tools/call","params":{"name":"denied"}}`, "not JSON", "1", ""},
	{"UTF-16", "\xff\xfe" + strings.Join(strings.Split(`{"id":1,"method":"tools/call"}`, ""), "\x00"), "invalid UTF-8", "null", ""},
	{"a NUL before it", "\x00" + `{"id":1,"method":"tools/call","params":{"name":"denied"}}`, "not JSON", "1", ""},
	{"NaN", `{"id":NaN,"method":"tools/call","params":{"name":"denied"}}`, "not JSON", "null", ""},
	{"half a frame", `{"id":1,"method":"tools/call","params":{"name":"denied"`, "not JSON", "1", ""},
	{"words", "delete everything", "not JSON", "null", ""},
	// An answer of the client has an id of the server's: an error with it would
	// answer another request.
	{"an answer with two results", `{"id":1,"result":1,"result":2}`, "duplicate member name", "null", ""},
	{"an answer that is not UTF-8", `{"id":1,"result":"` + "\xff" + `"}`, "invalid UTF-8", "null", ""},
	{"an answer with an id over 64 KiB", `{"result":{},"id":"` + strings.Repeat("x", 64<<10) + `"}`, "id over 64 KiB", "null", ""},
	{"an answer and something else", `{"id":1,"error":{}} {}`, "bytes after the value", "null", "not JSON"},
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// Every frame that could be taken in two ways is refused, answered once and put
// on record, and no byte of it reaches the server; what comes between them does.
func TestAmbiguousFramesAreRefused(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	engine, enforce := enforced(t, theRules)
	s := start(t, server("tap", log), enforce)
	var pings strings.Builder
	for i, tc := range unjudged {
		pings.WriteString(ping(decimal(i)))
		s.send(ping(decimal(i)), tc.frame+"\n")
		s.wantNext(refusal(HostDenied, tc.id))
	}
	s.finish()
	if rest := s.rest(); rest != "" {
		t.Errorf("the client also got %q", rest)
	}
	s.wantLog(log, pings.String())
	calls := s.calls()
	if len(calls) != len(unjudged) {
		t.Fatalf("%d calls on record, want %d", len(calls), len(unjudged))
	}
	for i, tc := range unjudged {
		wantOutcome(t, calls[i], "<unknown>", digestOf(tc.frame), refusedFrame(engine.Set().Hash(), "ambiguous frame: "+tc.reason))
	}
}

// Inside an array it is the array that cannot be judged. Whose ids are whose is
// not known then, so its one answer carries none.
func TestBatchesWithAnAmbiguousElementAreRefused(t *testing.T) {
	for _, around := range []struct{ name, before, after string }{
		{"alone", "[", "]"},
		{"behind a lawful call", "[" + strings.TrimSuffix(call("8", "allowed"), "\n") + ",", "]"},
		{"before one", " \t[", "," + strings.TrimSuffix(call("8", "allowed"), "\n") + " ]"},
	} {
		t.Run(around.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			engine, enforce := enforced(t, theRules)
			s := start(t, server("tap", log), enforce)
			for _, tc := range unjudged {
				s.send(around.before + tc.frame + around.after + "\n")
				s.wantNext(refusal(HostDenied, "null"))
			}
			s.finish()
			if rest := s.rest(); rest != "" {
				t.Errorf("the client also got %q", rest)
			}
			s.wantLog(log, "")
			calls := s.calls()
			if len(calls) != len(unjudged) {
				t.Fatalf("%d calls on record, want %d", len(calls), len(unjudged))
			}
			for i, tc := range unjudged {
				reason := "ambiguous frame: " + cmp.Or(tc.inBatch, tc.reason)
				wantOutcome(t, calls[i], "<unknown>", digestOf(around.before+tc.frame+around.after), refusedFrame(engine.Set().Hash(), reason))
			}
		})
	}
}

// A last line without its end is a frame like any other.
func TestAnAmbiguousLastLineIsRefused(t *testing.T) {
	for _, tc := range unjudged {
		log := filepath.Join(t.TempDir(), "log")
		engine, enforce := enforced(t, theRules)
		s := start(t, server("tap", log), enforce)
		s.send(ping("7"), tc.frame)
		s.hangUp()
		if got := s.rest(); got != refusal(HostDenied, tc.id)+"\n" {
			t.Errorf("%s: the client got %q", tc.name, got)
		}
		s.finish()
		s.wantLog(log, ping("7"))
		calls := s.calls()
		if len(calls) != 1 {
			t.Fatalf("%s: %d calls on record", tc.name, len(calls))
		}
		wantOutcome(t, calls[0], "<unknown>", digestOf(tc.frame), refusedFrame(engine.Set().Hash(), "ambiguous frame: "+tc.reason))
	}
}

// A frame over the cap is not held, so it is not judged either. Its id is found
// all the same, before and behind what is too long, lawful or not.
func TestFramesOverTheCapAreRefused(t *testing.T) {
	const frameCap = 128 << 10
	log := filepath.Join(t.TempDir(), "log")
	engine, enforce := enforced(t, theRules, func(c *Config) { c.MaxFrame = frameCap })
	s := start(t, server("tap", log), enforce)
	blanks := strings.Repeat(" ", frameCap)
	var sent []string
	for _, tc := range unjudged {
		for _, frame := range []string{blanks + tc.frame, tc.frame + blanks} {
			sent = append(sent, frame)
			s.send(frame + "\n")
			s.wantNext(refusal(HostDenied, tc.id))
		}
	}
	s.finish()
	s.wantLog(log, "")
	calls := s.calls()
	if len(calls) != len(sent) {
		t.Fatalf("%d calls on record, want %d", len(calls), len(sent))
	}
	for i, frame := range sent {
		wantOutcome(t, calls[i], "<unknown>", digestOf(frame), refusedFrame(engine.Set().Hash(), fmt.Sprintf("frame over the cap of %d bytes", frameCap)))
	}
}

// And so with the cap that is used if none is given, and 65 MiB.
func TestALineOf65MiBIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("a long line")
	}
	log := filepath.Join(t.TempDir(), "log")
	engine, enforce := enforced(t, theRules)
	s := start(t, server("tap", log), enforce)
	frame := padded(65<<20, `{"method":"tools/call","params":{"name":"read","name":"denied","arguments":"`, `"},"id":7}`)
	sending := make(chan struct{})
	go func() { defer close(sending); s.send(frame) }()
	s.wantNext(refusal(HostDenied, "7"))
	<-sending
	s.finish()
	s.wantLog(log, "")
	wantOutcome(t, s.calls()[0], "<unknown>", digestOf(frame), refusedFrame(engine.Set().Hash(), "frame over the cap of 67108864 bytes"))
}

// A reader of lines takes a header line that is a JSON object for a message. In
// the place of a header's name nobody would have judged it.
func TestNoMessageHidesInAHeader(t *testing.T) {
	hidden := strings.TrimSuffix(call("1", "denied"), "\n")
	for _, sent := range []string{
		"Content-Length: 2\r\n" + hidden + "\r\n\r\n{}",
		"content-length: 2\n" + hidden + "\n\n{}",
		"Content-Length: 2\r\n[" + hidden + "]\r\n\r\n{}",
		"Content-Length: 2\r\n\r\n{}" + hidden + "\r\nContent-Length: 2\r\n\r\n{}",
		"Content-Length: 999\r\n" + hidden + "\r\n\r\n" + strings.Repeat(" ", 999),
	} {
		for _, mode := range []string{"enforced", "recorded"} {
			log := filepath.Join(t.TempDir(), "log")
			_, adjust := enforced(t, theRules, func(c *Config) {
				c.MaxFrame = 100
				if mode == "recorded" {
					c.Decider = nil
				}
			})
			s := start(t, server("tap", log), adjust)
			s.send(sent)
			if _, err := s.wait(); err == nil || err.Error() != "client: Content-Length framing: malformed header line" {
				t.Errorf("%q: the session ended with %v", sent, err)
			}
			if logged, _ := os.ReadFile(log); strings.Contains(string(logged), "tools/call") {
				t.Errorf("%q: the server got %q", sent, logged)
			}
		}
	}
}

// The words of a refusal, for each cause.
func TestRefusalsNameTheirCause(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	engine, enforce := enforced(t, theRules, func(c *Config) { c.Recorder = unrecordable{c.Recorder, "unlucky"} })
	s := start(t, server("tap", log), enforce)
	for _, tc := range []struct {
		tool string
		code Code
	}{
		{"denied", PolicyDenied}, {"limited", ""}, {"limited", ""}, {"limited", RateLimited}, {"limited", RateLimited},
		{"parked", PendingApproval}, {"parked", PendingApproval}, {"unlucky", AuditError}, {"Denied", ""}, {"denied ", ""},
	} {
		if s.send(call("1", tc.tool)); tc.code != "" {
			s.wantNext(refusal(tc.code, "1"))
		}
	}
	s.finish()
	s.wantLog(log, call("1", "limited")+call("1", "limited")+call("1", "Denied")+call("1", "denied "))

	refused := func(p aar.Policy, rule string) aar.Outcome {
		o := aar.Unevaluated(engine.Set().Hash())
		o.Policy, o.Capability.Reason, o.DecisionAxes.MatchedRule = p, "policy blocked before capability", rule
		return o
	}
	var got []recorded
	for _, c := range s.calls() {
		if c.Outcome.Policy.Status != aar.Allowed {
			got = append(got, c)
		} else if c.Outcome.PolicySetHash != engine.Set().Hash() {
			t.Errorf("%s was allowed under %s", c.Intent.CallID, c.Outcome.PolicySetHash)
		}
	}
	limited := aar.Policy{Status: aar.RateLimited, Reason: "rate limit exceeded for `slow` (2 per 3600s)"}
	for i, want := range []aar.Outcome{
		refused(aar.Policy{Status: aar.Denied, Reason: "not this one"}, "never"),
		refused(limited, "slow"), refused(limited, "slow"),
		refused(aar.Policy{Status: aar.PendingApproval, ApprovalID: "apr-ask-parked-1-0123456789abcdef"}, "ask"),
		refused(aar.Policy{Status: aar.PendingApproval, ApprovalID: "apr-ask-parked-2-0123456789abcdef"}, "ask"),
	} {
		tool := []string{"denied", "limited", "limited", "parked", "parked"}[i]
		wantOutcome(t, got[i], tool, digestOf(call("1", tool)), want)
	}
}

// An answer carries the bytes of the id that was sent, whatever they are.
func TestRefusalsEchoTheID(t *testing.T) {
	_, enforce := enforced(t, theRules)
	s := start(t, server("tap", filepath.Join(t.TempDir(), "log")), enforce)
	for _, id := range []string{
		"1", `"1"`, "1.0", "1e0", "1E+2", "-0", "0", "9007199254740993", "12345678901234567890", "1e400", "3.14",
		`""`, `"\u0061"`, `"\"\\\/\b"`, `"é"`, `"` + "\u2028" + `"`, `"\ud83d\ude00"`, `"` + strings.Repeat("x", 10_000) + `"`, strings.Repeat("9", 10_000), "null",
	} {
		s.send(call(id, "denied"))
		s.wantNext(refusal(PolicyDenied, id))
		s.send(strings.Replace(call(id, "denied"), `"id":`, "\"i\\u0064\" \t: ", 1))
		s.wantNext(refusal(PolicyDenied, id))
	}
	s.send(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"denied"}}` + "\n")
	s.wantNext(refusal(PolicyDenied, "null"))
	s.finish()
}

// What is allowed, and what is no call, reaches the server as the bytes that
// came, under a policy that denies all calls of one tool as under one that
// denies all there are. Nothing is made up: no "method not found", no
// capability taken away.
func TestOnlyCallsAreDecided(t *testing.T) {
	lawful := []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":{}},"clientInfo":{"name":"x","version":"1"}}}` + "\n",
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n",
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\r\n",
		ping("2"), cancelled("3"), "\n", " \t\r\n", "\v\f\n",
		`{"jsonrpc":"2.0","id":4,"method":"no/such/method","params":[1,2]}` + "\n",
		`{"jsonrpc":"2.0","id":5,"method":"tools/Call","params":{"name":"denied"}}` + "\n",
		`{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"name":"denied","uri":"x:tools/call"}}` + "\n",
		result("7") + "\n", `{"id":7,"error":{"code":-32601,"message":"x"}}` + "\n",
		`[` + strings.TrimSuffix(ping("8"), "\n") + `,` + result("9") + `]` + "\n",
		"[]\n", "{}\n", "7\n", `"tools/call"` + "\n", "null\n",
	}
	allowed := []string{
		`{"method":"tools/call","params":{"arguments":{"q":"a < b && c > d","n":1.0,"e":1E2,"z":1,"a":2},"name":"x","x-vendor":{"k":[1]}},"id":10,"jsonrpc":"2.0"}` + "\n",
		` { "jsonrpc" : "2.0", "id":11, "method":"tools\/call", "params":{"name":"\u0078","_meta":{"progressToken":1}} } ` + "\r\n",
		`{"id":12,"method":"tools/call","params":{"name":"x","arguments":{"__proto__":1,"Name":"denied","id":1,"big":123456789012345678901234567890}}}` + "\n",
		`{"method":"tools/call","params":{"name":"x"}}` + "\n",
		"[" + strings.TrimSuffix(call("13", "x"), "\n") + " ,\t" + strings.TrimSuffix(call("14", "limited"), "\n") + ",1]\n",
		`{"id":15,"method":"tools/call","params":{"name":"x","arguments":` + nested(126) + `}}` + "\n",
	}
	for _, tc := range []struct {
		rules string
		pass  []string
	}{
		{theRules, append(slices.Clone(lawful), allowed...)},
		{"default: deny\nrules: []\n", lawful},
	} {
		log := filepath.Join(t.TempDir(), "log")
		_, enforce := enforced(t, tc.rules)
		s := start(t, server("tap", log), enforce)
		s.send(tc.pass...)
		s.finish()
		s.wantLog(log, strings.Join(tc.pass, ""))
		if got := s.rest(); got != "" {
			t.Errorf("the client got %q", got)
		}
	}
}

// A batch goes as a whole. Whatever stands in it, all of it is forwarded as it
// came, or nothing: then every call and every request is answered, with its own
// code if it is a reason and HOST_DENIED if it is not, every call is on record,
// and the rate slots that were taken are back.
func TestBatchesGoAsAWhole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := filepath.Join(t.TempDir(), "log")
		engine, enforce := enforced(t, theRules)
		s := start(t, server("tap", log), enforce)
		element := rapid.SampledFrom([]string{"allowed", "allowed", "allowed", "limited", "denied", "parked", "ping", "notification", "answer", "scalar", "without id"})
		var passed string
		var want []aar.Outcome
		used, parked, id := 0, 0, 0
		for range rapid.IntRange(1, 8).Draw(rt, "batches") {
			var texts, answers []string
			var outcomes []aar.Outcome
			refused, limited := false, used
			for _, kind := range rapid.SliceOfN(element, 1, 6).Draw(rt, "batch") {
				id++
				tool, own := kind, decimal(id)
				text := strings.TrimSuffix(call(own, tool), "\n")
				switch kind {
				case "ping":
					texts, answers = append(texts, strings.TrimSuffix(ping(own), "\n")), append(answers, refusal(HostDenied, own))
					continue
				case "notification":
					texts = append(texts, `{"method":"notifications/initialized"}`)
					continue
				case "answer":
					texts = append(texts, result(own))
					continue
				case "scalar":
					texts = append(texts, "1")
					continue
				case "without id":
					tool, own = "allowed", "null"
					text = `{"method":"tools/call","params":{"name":"allowed"}}`
				}
				o := aar.Unevaluated(engine.Set().Hash())
				o.Policy, o.ToolID = aar.Policy{Status: aar.Allowed}, tool
				code := HostDenied
				switch tool {
				case "limited":
					o.DecisionAxes.MatchedRule = "slow"
					if limited++; limited > 2 {
						limited, code = 2, RateLimited
						o.Policy = aar.Policy{Status: aar.RateLimited, Reason: "rate limit exceeded for `slow` (2 per 3600s)"}
					}
				case "denied":
					o.DecisionAxes.MatchedRule, code = "never", PolicyDenied
					o.Policy = aar.Policy{Status: aar.Denied, Reason: "not this one"}
				case "parked":
					parked++
					o.DecisionAxes.MatchedRule, code = "ask", PendingApproval
					o.Policy = aar.Policy{Status: aar.PendingApproval, ApprovalID: fmt.Sprintf("apr-ask-parked-%d-0123456789abcdef", parked)}
				}
				if code == HostDenied {
					o.Execution.Reason = "not executed: sibling call in this batch was refused"
				} else {
					o.Capability.Reason, refused = "policy blocked before capability", true
				}
				texts, outcomes, answers = append(texts, text), append(outcomes, o), append(answers, refusal(code, own))
			}
			frame := "[" + strings.Join(texts, " , ") + "]\n"
			s.send(frame)
			if !refused {
				passed, used = passed+frame, limited
				for range outcomes {
					want = append(want, aar.Outcome{}) // how it ends is for other tests
				}
				continue
			}
			s.wantNext("[" + strings.Join(answers, ",") + "]")
			for i := range outcomes {
				outcomes[i].RequestDigest = digestOf(frame)
			}
			want = append(want, outcomes...)
		}
		s.finish()
		s.wantLog(log, passed)
		calls := s.calls()
		if len(calls) != len(want) {
			rt.Fatalf("%d calls on record, want %d", len(calls), len(want))
		}
		for i, o := range want {
			if o.ToolID != "" {
				wantOutcome(t, calls[i], o.ToolID, o.RequestDigest, o)
			} else if c := calls[i]; c.Outcome.Policy.Status != aar.Allowed || c.Outcome.PolicySetHash != engine.Set().Hash() {
				rt.Errorf("%s: %+v", c.Intent.CallID, c.Outcome.Policy)
			}
		}
	})
}

// A refusal waits for no sync: the disk may be slow, and there is nothing that
// must not happen before. Its two lines are one write.
func TestRefusalsWaitForNoSync(t *testing.T) {
	_, enforce := enforced(t, theRules)
	s := start(t, server("echo"), enforce)
	release := s.sink.HoldSync()
	defer release()
	// What is forwarded does wait, and its wait is nobody else's.
	s.send(call("1", "allowed"), ping("2"))
	s.awaitSync(2)
	batch := "[" + strings.TrimSuffix(call("4", "denied"), "\n") + "," + strings.TrimSuffix(call("5", "allowed"), "\n") + "]\n"
	s.send(call("3", "denied"), batch, `{"id":6,"method":"tools/call"}`+"\n", call("7", "parked"))
	s.wantNext(refusal(PolicyDenied, "3"))
	s.wantNext("[" + refusal(PolicyDenied, "4") + "," + refusal(HostDenied, "5") + "]")
	s.wantNext(refusal(HostDenied, "6"))
	s.wantNext(refusal(PendingApproval, "7"))
	var writes []string
	for _, e := range s.sink.Events() {
		if e.Op == sinktest.Append {
			kinds := ""
			for line := range strings.Lines(e.Text) {
				l, err := aar.ParseLine([]byte(line))
				must(t, err)
				kinds += string(l.Type()) + " "
			}
			writes = append(writes, kinds)
		}
	}
	both := "intent outcome "
	if want := []string{"open ", "intent ", both, both, both, both, both}; !slices.Equal(writes, want) {
		t.Errorf("the writes were %q, want %q", writes, want)
	}
	release()
	s.wantNext(result("1"))
	s.wantNext(result("2"))
	s.finish()
}

// A refused call is no call in flight: its id may be used again at once, and it
// takes the place of none.
func TestARefusedCallLeavesTheOpenOnesAlone(t *testing.T) {
	_, enforce := enforced(t, theRules)
	s := start(t, script("read", "read", "say "+result("1")+"\n"), enforce)
	s.send(call("1", "allowed"), call("1", "denied"), "["+strings.TrimSuffix(call("1", "denied"), "\n")+"]\n")
	s.wantNext(refusal(PolicyDenied, "1"))
	s.wantNext("[" + refusal(PolicyDenied, "1") + "]")
	s.send(ping("2"))
	s.wantNext(result("1"))
	s.finish()
	s.wantEndings(success, "not executed", "not executed")
}

// A cancellation inside a batch that is refused never reaches the server, so it
// cancels nothing.
func TestARefusedBatchCancelsNothing(t *testing.T) {
	_, enforce := enforced(t, theRules)
	s := start(t, server("tap", filepath.Join(t.TempDir(), "log")), enforce)
	s.send(call("1", "allowed"), "["+strings.TrimSuffix(cancelled("1"), "\n")+","+strings.TrimSuffix(call("2", "denied"), "\n")+"]\n")
	s.wantNext("[" + refusal(PolicyDenied, "2") + "]")
	s.finish()
	s.wantEndings(childExited, "not executed")
}

// Windows and the approval counter belong to the session, not to the set.
func TestASwapHandsOutNoFreshQuota(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	engine, enforce := enforced(t, theRules)
	s := start(t, server("tap", log), enforce)
	first := engine.Set().Hash()
	s.send(call("1", "limited"), call("2", "limited"), call("3", "parked"))
	s.wantNext(refusal(PendingApproval, "3"))
	again, err := policy.Parse("policy.yaml", []byte(theRules+"- {id: more, action: deny, tool: allowed}\n"))
	must(t, err)
	engine.Swap(again)
	s.send(call("4", "limited"), call("5", "parked"), call("6", "allowed"), `{"id":7,"method":"tools/call"}`+"\n")
	s.wantNext(refusal(RateLimited, "4"))
	s.wantNext(refusal(PendingApproval, "5"))
	s.wantNext(refusal(PolicyDenied, "6"))
	s.wantNext(refusal(HostDenied, "7"))
	s.finish()
	s.wantLog(log, call("1", "limited")+call("2", "limited"))
	for i, c := range s.calls() {
		want := again.Hash()
		if i < 3 {
			want = first
		}
		if c.Outcome.PolicySetHash != want {
			t.Errorf("%s is on record under %s", c.Intent.CallID, c.Outcome.PolicySetHash)
		}
	}
	if id := s.calls()[4].Outcome.Policy.ApprovalID; id != "apr-ask-parked-2-0123456789abcdef" {
		t.Errorf("the second approval id is %s", id)
	}
}
