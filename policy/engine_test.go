package policy_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/policy"
)

// clock is a monotonic clock that a test moves.
type clock struct{ now time.Duration }

func (c *clock) engine(s *policy.Set) *policy.Engine {
	return policy.NewEngine(s, policy.WithClock(func() time.Duration { return c.now }), policy.WithSessionToken("0123456789abcdef"))
}

func decide(e *policy.Engine, tools ...string) []policy.Verdict {
	reqs := make([]policy.Request, len(tools))
	for i, tool := range tools {
		reqs[i] = policy.Request{Tool: tool}
	}
	verdicts := make([]policy.Verdict, len(reqs))
	_, refused := e.Decide(reqs, verdicts)
	for _, v := range verdicts {
		if v.Status != policy.Allowed && !refused {
			panic("refused is not reported")
		}
	}
	return verdicts
}

func ptr(s string) *string { return &s }

// TestDecisionOrder holds the conflict resolution of the specification.
func TestDecisionOrder(t *testing.T) {
	dreamd, err := policy.Load("testdata/policy_yaml/seed-dreamd-policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		set    *policy.Set
		req    policy.Request
		status policy.Status
		rule   string
		reason string
	}{
		{"deny beats a narrower allow of any priority", mustParse(t, "rules: [{id: a, action: allow, tool: x, role: r, priority: 100}, {id: d, action: deny}]"), policy.Request{Tool: "x", Role: ptr("r")}, policy.Denied, "d", "denied by rule `d`"},
		{"the narrowest deny is reported", mustParse(t, "rules: [{id: a, action: deny, priority: 9}, {id: b, action: deny, tool: x}]"), policy.Request{Tool: "x"}, policy.Denied, "b", "denied by rule `b`"},
		{"then priority", mustParse(t, "rules: [{id: a, action: deny, tool: x}, {id: b, action: deny, tool: x, priority: 1}]"), policy.Request{Tool: "x"}, policy.Denied, "b", "denied by rule `b`"},
		{"then the first", mustParse(t, "rules: [{id: a, action: deny, tool: x}, {id: b, action: deny, tool: x}]"), policy.Request{Tool: "x"}, policy.Denied, "a", "denied by rule `a`"},
		{"specificity counts axes, whichever", mustParse(t, "rules: [{id: a, action: allow, tool: x}, {id: b, action: pending_approval, role: r, priority: 1}]"), policy.Request{Tool: "x", Role: ptr("r")}, policy.PendingApproval, "b", ""},
		{"narrower beats priority", mustParse(t, "rules: [{id: a, action: pending_approval, priority: 9}, {id: b, action: allow, tool: x, priority: -9}]"), policy.Request{Tool: "x"}, policy.Allowed, "b", ""},
		{"default allow", mustParse(t, "rules: [{id: a, action: deny, tool: y}]"), policy.Request{Tool: "x"}, policy.Allowed, "", ""},
		{"default deny", mustParse(t, "default: deny"), policy.Request{Tool: "x"}, policy.Denied, "", "no matching rule (default deny)"},
		{"an axis not asserted never matches", mustParse(t, "default: allow\nrules: [{id: a, action: deny, role: r}]"), policy.Request{Tool: "x"}, policy.Allowed, "", ""},
		{"case matters", mustParse(t, "rules: [{id: a, action: deny, tool: X}]"), policy.Request{Tool: "x"}, policy.Allowed, "", ""},
		{"no globs", mustParse(t, "rules: [{id: a, action: deny, tool: 'x*'}]"), policy.Request{Tool: "xy"}, policy.Allowed, "", ""},
		{"a star asserted is only a star", mustParse(t, "rules: [{id: a, action: deny, tool: y}]"), policy.Request{Tool: "*"}, policy.Allowed, "", ""},
		{"the empty axis is concrete", mustParse(t, "rules: [{id: a, action: deny, role: ''}]"), policy.Request{Tool: "x", Role: ptr("")}, policy.Denied, "a", "denied by rule `a`"},
		{"the empty axis is not a wildcard", mustParse(t, "rules: [{id: a, action: deny, role: ''}]"), policy.Request{Tool: "x", Role: ptr("r")}, policy.Allowed, "", ""},
		{"a reason of its own", mustParse(t, "rules: [{id: a, action: deny, reason: not today}]"), policy.Request{Tool: "x"}, policy.Denied, "a", "not today"},
		{"dreamd net", dreamd, policy.Request{Tool: "append_node", Capability: ptr("net")}, policy.Denied, "deny-net", "network denied for dreamd integration"},
		{"dreamd personal without role", dreamd, policy.Request{Tool: "append_node", Capability: ptr("fs:personal")}, policy.Denied, "", "no matching rule (default deny)"},
		{"dreamd personal", dreamd, policy.Request{Tool: "append_node", Capability: ptr("fs:personal"), Role: ptr("owner")}, policy.Allowed, "allow-personal-owner", ""},
		{"dreamd episodic", dreamd, policy.Request{Tool: "append_node", Capability: ptr("fs:episodic")}, policy.Allowed, "allow-episodic-append", ""},
		{"dreamd search", dreamd, policy.Request{Tool: "search_nodes"}, policy.Allowed, "allow-search", ""},
		{"dreamd gate", dreamd, policy.Request{Tool: "dream"}, policy.PendingApproval, "approve-dream", ""},
	} {
		var v [1]policy.Verdict
		hash, refused := policy.NewEngine(c.set).Decide([]policy.Request{c.req}, v[:])
		if v[0].Status != c.status || v[0].MatchedRule != c.rule || v[0].Reason != c.reason {
			t.Errorf("%s: %+v, want %v by %q, %q", c.name, v[0], c.status, c.rule, c.reason)
		}
		if refused != (c.status != policy.Allowed) || hash != c.set.Hash() {
			t.Errorf("%s: refused %v, hash %v", c.name, refused, hash)
		}
	}
}

func TestZeroVerdictRefuses(t *testing.T) {
	if (policy.Verdict{}).Status == policy.Allowed || (policy.Match{}).Action == policy.Allow {
		t.Error("a value nobody set allows")
	}
}

// TestRateWindow: the window opens at the first call, admits max, and is reset
// once it is per_seconds old; refused calls are not counted.
func TestRateWindow(t *testing.T) {
	s := mustParse(t, "rules: [{id: rl, action: rate_limit, tool: x, rate: {max: 2, per_seconds: 60}, limits: {max_wall_ms: 7}}]")
	c := &clock{now: 5 * time.Second}
	e := c.engine(s)
	for i, step := range []struct {
		at   time.Duration
		want policy.Status
	}{
		{5 * time.Second, policy.Allowed}, {6 * time.Second, policy.Allowed}, {7 * time.Second, policy.RateLimited},
		{64*time.Second + 999*time.Millisecond, policy.RateLimited},
		{65 * time.Second, policy.Allowed}, {124 * time.Second, policy.Allowed}, {124 * time.Second, policy.RateLimited},
		{125 * time.Second, policy.Allowed},
	} {
		c.now = step.at
		v := decide(e, "x")[0]
		if v.Status != step.want || v.MatchedRule != "rl" {
			t.Fatalf("step %d: %+v, want %v", i, v, step.want)
		}
		switch v.Status {
		case policy.Allowed:
			if v.Reason != "" || v.Limits == nil || *v.Limits.MaxWallMS != 7 {
				t.Errorf("step %d: %+v", i, v)
			}
		case policy.RateLimited:
			if v.Reason != "rate limit exceeded for `rl` (2 per 60s)" || v.Limits != nil {
				t.Errorf("step %d: %+v", i, v)
			}
		}
	}
}

func TestRateKeys(t *testing.T) {
	s := mustParse(t, "rules: [{id: rl, action: rate_limit, rate: {max: 1, per_seconds: 60}, reason: slower}]")
	e := (&clock{}).engine(s)
	ask := func(tool string, session *string) policy.Status {
		var v [1]policy.Verdict
		e.Decide([]policy.Request{{Tool: tool, Session: session}}, v[:])
		if v[0].Status == policy.RateLimited && v[0].Reason != "slower" {
			t.Errorf("reason %q", v[0].Reason)
		}
		return v[0].Status
	}
	for i, c := range []struct {
		tool    string
		session *string
		want    policy.Status
	}{
		{"x", nil, policy.Allowed}, {"x", nil, policy.RateLimited},
		{"y", nil, policy.Allowed}, {"x", ptr("s"), policy.Allowed}, {"x", ptr("s"), policy.RateLimited},
		{"x", ptr("x"), policy.RateLimited},                                    // no session asserted counts as the tool's own
		{"a::b", ptr("c"), policy.Allowed}, {"a", ptr("b::c"), policy.Allowed}, // parts do not run together
		{strings.Repeat("n", 5000) + "1", nil, policy.Allowed}, // long names
		{strings.Repeat("n", 5000) + "2", nil, policy.Allowed}, // are told apart
		{strings.Repeat("n", 5000) + "1", nil, policy.RateLimited},
	} {
		if got := ask(c.tool, c.session); got != c.want {
			t.Errorf("step %d: %v, want %v", i, got, c.want)
		}
	}
}

// TestOnlyTheWinnerIsCharged: a rate_limit rule that loses to a deny or to a
// narrower rule counts nothing.
func TestOnlyTheWinnerIsCharged(t *testing.T) {
	s := mustParse(t, "rules: [{id: wide, action: rate_limit, rate: {max: 1, per_seconds: 60}}, {id: narrow, action: allow, tool: x}, {id: nay, action: deny, tool: z}]")
	e := (&clock{}).engine(s)
	decide(e, "x")
	decide(e, "z")
	if got := decide(e, "y")[0].Status; got != policy.Allowed {
		t.Errorf("y: %v", got)
	}
}

// TestBatchIsTakenBack: a refused frame leaves every rate window as it was.
func TestBatchIsTakenBack(t *testing.T) {
	s := mustParse(t, "rules: [{id: rl, action: rate_limit, rate: {max: 2, per_seconds: 60}}, {id: nay, action: deny, tool: z}, {id: ask, action: pending_approval, tool: q}]")
	c := &clock{}
	e := c.engine(s)

	got := decide(e, "x", "x", "x") // the third is over
	if got[0].Status != policy.Allowed || got[1].Status != policy.Allowed || got[2].Status != policy.RateLimited {
		t.Fatalf("one window: %+v", got)
	}
	decide(e, "x", "z")
	if got := decide(e, "x", "q"); got[1].ApprovalID != "apr-ask-q-1-0123456789abcdef" {
		t.Errorf("approval id %q", got[1].ApprovalID)
	}
	// None of that counted, and none of it opened the window: it opens now, at 30 s.
	c.now = 30 * time.Second
	if got := decide(e, "x", "x"); got[0].Status != policy.Allowed || got[1].Status != policy.Allowed {
		t.Errorf("slots were not given back: %+v", got)
	}
	c.now = 89 * time.Second
	if got := decide(e, "x")[0]; got.Status != policy.RateLimited {
		t.Errorf("the window opened before the first admitted call: %+v", got)
	}
	// A window that ended is not restarted by a refused frame.
	c.now = 90 * time.Second
	decide(e, "x", "z")
	c.now = 100 * time.Second
	decide(e, "x")
	c.now = 150 * time.Second
	decide(e, "x")
	if got := decide(e, "x")[0]; got.Status != policy.RateLimited {
		t.Errorf("the window restarted by a refused frame: %+v", got)
	}
	if got := decide(e, "q")[0]; got.ApprovalID != "apr-ask-q-2-0123456789abcdef" {
		t.Errorf("approval id %q", got.ApprovalID)
	}
}

func TestApprovalIDs(t *testing.T) {
	s := mustParse(t, "rules: [{id: gate, action: pending_approval}]")
	form := regexp.MustCompile(`^apr-gate-dream-([0-9]+)-([0-9a-f]{16})$`)
	seen := map[string]bool{}
	for range 2 {
		e := policy.NewEngine(s)
		for n := 1; n <= 3; n++ {
			id := decide(e, "dream")[0].ApprovalID
			if m := form.FindStringSubmatch(id); m == nil || m[1] != fmt.Sprint(n) {
				t.Errorf("approval id %q", id)
			}
			if seen[id] {
				t.Errorf("approval id %q repeats", id)
			}
			seen[id] = true
		}
	}
	long := decide(policy.NewEngine(s), strings.Repeat("é", 1000))[0].ApprovalID
	if len(long) > 500 || !strings.Contains(long, "#sha256:") {
		t.Errorf("%d bytes of approval id", len(long))
	}
}

// TestSwap: quota survives a reload, and the new Set decides from then on.
func TestSwap(t *testing.T) {
	old := mustParse(t, "rules: [{id: rl, action: rate_limit, rate: {max: 2, per_seconds: 60}}, {id: ask, action: pending_approval, tool: q}]")
	next := mustParse(t, "# reloaded\nrules: [{id: rl, action: rate_limit, rate: {max: 3, per_seconds: 60}}, {id: ask, action: pending_approval, tool: q}]")
	e := (&clock{}).engine(old)
	decide(e, "x", "x")
	decide(e, "q")
	e.Swap(next)
	if e.Set() != next || old.Fingerprint() == next.Fingerprint() {
		t.Error("the new Set is not in force")
	}
	if got := decide(e, "x")[0]; got.Status != policy.Allowed {
		t.Errorf("third of three: %+v", got)
	}
	if got := decide(e, "x")[0]; got.Status != policy.RateLimited || got.Reason != "rate limit exceeded for `rl` (3 per 60s)" {
		t.Errorf("fourth of three: %+v", got)
	}
	if got := decide(e, "q")[0].ApprovalID; got != "apr-ask-q-2-0123456789abcdef" {
		t.Errorf("approval id %q", got)
	}
	e.Swap(mustParse(t, "rules: [{id: nay, action: deny}]"))
	if got := decide(e, "x")[0]; got.Status != policy.Denied {
		t.Errorf("after the second swap: %+v", got)
	}
}

// TestNoFrameSeesTwoSets hammers Decide during reloads: every frame is judged
// whole under the Set whose hash it is given.
func TestNoFrameSeesTwoSets(t *testing.T) {
	a := mustParse(t, "rules: [{id: a, action: allow}]")
	b := mustParse(t, "rules: [{id: b, action: deny}]")
	rules := map[string]string{a.Hash().String(): "a", b.Hash().String(): "b"}
	e := policy.NewEngine(a)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				e.Swap(b)
				e.Swap(a)
			}
		}
	})
	reqs, verdicts := make([]policy.Request, 8), make([]policy.Verdict, 8)
	for range 20_000 {
		hash, _ := e.Decide(reqs, verdicts)
		for _, v := range verdicts {
			if v.MatchedRule != rules[hash.String()] {
				t.Fatalf("rule %q under set %q", v.MatchedRule, rules[hash.String()])
			}
		}
	}
	close(stop)
	wg.Wait()
}

// TestRateTableIsBounded: invented tool names cannot grow the table without
// end; beyond it calls are refused until windows end.
func TestRateTableIsBounded(t *testing.T) {
	s := mustParse(t, "rules: [{id: rl, action: rate_limit, rate: {max: 1, per_seconds: 60}}]")
	c := &clock{}
	e := c.engine(s)
	for i := range 1 << 16 {
		if got := decide(e, fmt.Sprint("t", i))[0]; got.Status != policy.Allowed {
			t.Fatalf("tool %d: %+v", i, got)
		}
	}
	if got := decide(e, "one more")[0]; got.Status != policy.RateLimited || !strings.Contains(got.Reason, "table is full") {
		t.Errorf("beyond the table: %+v", got)
	}
	c.now = 60 * time.Second
	if got := decide(e, "one more")[0]; got.Status != policy.Allowed {
		t.Errorf("after the windows ended: %+v", got)
	}
}

func TestNilSetAllowsAll(t *testing.T) {
	e := policy.NewEngine(nil)
	if got := decide(e, "x")[0]; got.Status != policy.Allowed || e.Set().Fingerprint() != "allow-all" {
		t.Errorf("%+v, %s", got, e.Set().Fingerprint())
	}
}

func TestFingerprint(t *testing.T) {
	// 64-bit FNV-1a of the empty string is its offset basis, of "a" is published.
	s := mustParse(t, "default: deny\n")
	if !regexp.MustCompile(`^fnv1a:[0-9a-f]{16}$`).MatchString(s.Fingerprint()) {
		t.Errorf("fingerprint %q", s.Fingerprint())
	}
}
