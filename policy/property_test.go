package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/policy"
	"pgregory.net/rapid"
)

// rule is a rule as a property test draws it, before it is spelt as YAML.
type rule struct {
	id, action             string
	tool, capability, role string // "*" is left open
	priority               int
}

var axisValue = rapid.SampledFrom([]string{"*", "*", "a", "b", ""})

func drawRules(t *rapid.T, actions ...string) []rule {
	n := rapid.IntRange(0, 8).Draw(t, "rules")
	rules := make([]rule, n)
	for i := range rules {
		rules[i] = rule{
			id:         fmt.Sprint("r", i),
			action:     rapid.SampledFrom(actions).Draw(t, "action"),
			tool:       axisValue.Draw(t, "tool"),
			capability: axisValue.Draw(t, "capability"),
			role:       axisValue.Draw(t, "role"),
			priority:   rapid.IntRange(-2, 2).Draw(t, "priority"),
		}
	}
	return rules
}

var allActions = []string{"allow", "deny", "rate_limit", "pending_approval"}

func drawRequest(t *rapid.T) policy.Request {
	axis := func(name string) *string {
		return rapid.SampledFrom([]*string{nil, ptr("a"), ptr("b"), ptr(""), ptr("*")}).Draw(t, name)
	}
	return policy.Request{
		Tool:       rapid.SampledFrom([]string{"a", "b", "c", "", "*"}).Draw(t, "call tool"),
		Capability: axis("call capability"), Role: axis("call role"), Session: axis("call session"),
	}
}

func (r rule) members() []string {
	m := []string{"id: " + r.id, "action: " + r.action}
	for _, a := range [][2]string{{"tool", r.tool}, {"capability", r.capability}, {"role", r.role}} {
		if a[1] != "*" {
			m = append(m, fmt.Sprintf("%s: %q", a[0], a[1]))
		}
	}
	if r.priority != 0 {
		m = append(m, fmt.Sprint("priority: ", r.priority))
	}
	if r.action == "rate_limit" {
		m = append(m, "rate: {max: 1, per_seconds: 60}")
	}
	return m
}

func yamlOf(fallback string, rules []rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "default: %s\nrules:\n", fallback)
	for _, r := range rules {
		fmt.Fprintf(&b, "- {%s}\n", strings.Join(r.members(), ", "))
	}
	return b.String()
}

// respelt is the same policy in another formatting.
func respelt(t *rapid.T, fallback string, rules []rule) string {
	var b strings.Builder
	top := func() { fmt.Fprintf(&b, "# c\n\"default\" :   '%s'   # c\n", fallback) }
	first := rapid.Bool().Draw(t, "default first")
	if first {
		top()
	}
	if len(rules) > 0 {
		b.WriteString("rules:\n\n")
		indent := strings.Repeat(" ", rapid.IntRange(0, 4).Draw(t, "indent"))
		for _, r := range rules {
			lead := indent + "-   "
			for _, m := range rapid.Permutation(r.members()).Draw(t, "keys") {
				b.WriteString(lead + m + rapid.SampledFrom([]string{"\n", " # c\n", "\n\n"}).Draw(t, "end"))
				lead = indent + "    "
			}
		}
	}
	if !first {
		top()
	}
	return b.String()
}

func parseDrawn(t *rapid.T, src string) *policy.Set {
	s, err := policy.Parse("p.yaml", []byte(src))
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return s
}

func (r rule) matches(req policy.Request) bool {
	axis := func(want string, got *string) bool { return want == "*" || got != nil && *got == want }
	return axis(r.tool, &req.Tool) && axis(r.capability, req.Capability) && axis(r.role, req.Role)
}

func (r rule) rank() int {
	n := r.priority
	for _, v := range []string{r.tool, r.capability, r.role} {
		if v != "*" {
			n += 1000
		}
	}
	return n
}

// TestEvaluateAgreesWithTheSpecification compares the index with the three
// sentences of the specification, read one rule at a time.
func TestEvaluateAgreesWithTheSpecification(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fallback := rapid.SampledFrom([]string{"allow", "deny"}).Draw(t, "default")
		rules := drawRules(t, allActions...)
		req := drawRequest(t)
		var deny, other *rule
		for i := range rules {
			r := &rules[i]
			if !r.matches(req) {
				continue
			}
			if r.action == "deny" {
				if deny == nil || r.rank() > deny.rank() {
					deny = r
				}
			} else if other == nil || r.rank() > other.rank() {
				other = r
			}
		}
		wantID, wantAction := "", fallback
		if deny != nil {
			wantID, wantAction = deny.id, "deny"
		} else if other != nil {
			wantID, wantAction = other.id, other.action
		}
		m := parseDrawn(t, yamlOf(fallback, rules)).Evaluate(req)
		id := ""
		if m.Rule != nil {
			id = m.Rule.ID
		}
		if id != wantID || m.Action.String() != wantAction {
			t.Fatalf("rule %q %v, want %q %s", id, m.Action, wantID, wantAction)
		}
	})
}

// TestDenyAlwaysWins: whatever else matches, a matching deny refuses.
func TestDenyAlwaysWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, req := drawRules(t, allActions...), drawRequest(t)
		m := parseDrawn(t, yamlOf("allow", rules)).Evaluate(req)
		for _, r := range rules {
			if r.action == "deny" && r.matches(req) && m.Action != policy.Deny {
				t.Fatalf("%v although %s denies", m.Action, r.id)
			}
		}
	})
}

// TestAddingADenyNeverAllows: a deny rule at any place refuses what it matches
// and changes nothing else.
func TestAddingADenyNeverAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fallback := rapid.SampledFrom([]string{"allow", "deny"}).Draw(t, "default")
		rules, req := drawRules(t, allActions...), drawRequest(t)
		more := rule{"extra", "deny", axisValue.Draw(t, "tool"), axisValue.Draw(t, "capability"), axisValue.Draw(t, "role"), rapid.IntRange(-9, 9).Draw(t, "priority")}
		at := rapid.IntRange(0, len(rules)).Draw(t, "at")
		with := append(append(append([]rule{}, rules[:at]...), more), rules[at:]...)
		before := parseDrawn(t, yamlOf(fallback, rules)).Evaluate(req).Action
		after := parseDrawn(t, yamlOf(fallback, with)).Evaluate(req).Action
		if after != before && after != policy.Deny || more.matches(req) && after != policy.Deny {
			t.Fatalf("%v became %v", before, after)
		}
	})
}

// TestFormattingChangesNothing: the same rules in another spelling have the
// same hash and the same verdicts.
func TestFormattingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fallback := rapid.SampledFrom([]string{"allow", "deny"}).Draw(t, "default")
		rules, req := drawRules(t, allActions...), drawRequest(t)
		a, b := parseDrawn(t, yamlOf(fallback, rules)), parseDrawn(t, respelt(t, fallback, rules))
		if a.Hash() != b.Hash() {
			t.Fatal("the hash moved")
		}
		x, y := a.Evaluate(req), b.Evaluate(req)
		if x.Action != y.Action || (x.Rule == nil) != (y.Rule == nil) || x.Rule != nil && x.Rule.ID != y.Rule.ID {
			t.Fatalf("%+v became %+v", x, y)
		}
	})
}

// TestRuleOrderDecidesOnlyTies: moving rules about changes which rule wins only
// among rules of equal specificity and priority, and never what a deny refuses.
func TestRuleOrderDecidesOnlyTies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, req := drawRules(t, allActions...), drawRequest(t)
		x := parseDrawn(t, yamlOf("deny", rules)).Evaluate(req)
		y := parseDrawn(t, yamlOf("deny", rapid.Permutation(rules).Draw(t, "order"))).Evaluate(req)
		if (x.Rule == nil) != (y.Rule == nil) || (x.Action == policy.Deny) != (y.Action == policy.Deny) {
			t.Fatalf("%+v became %+v", x, y)
		}
		if x.Rule != nil && (x.Rule.Specificity() != y.Rule.Specificity() || x.Rule.Priority != y.Rule.Priority) {
			t.Fatalf("%+v outranks %+v", x.Rule, y.Rule)
		}
	})
}

// TestNeverWinsIsTrue: a rule that lint says can never win never does.
func TestNeverWinsIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := parseDrawn(t, yamlOf("allow", drawRules(t, allActions...)))
		m := s.Evaluate(drawRequest(t))
		if m.Rule == nil {
			return
		}
		for _, w := range s.Warnings() {
			if w.Code == policy.NeverWins && w.Line == m.Rule.Line {
				t.Fatalf("%s won: %s", m.Rule.ID, w)
			}
		}
	})
}

// TestRefusedFramesLeaveNoTrace: an engine that saw refused frames answers
// every later frame like one that did not.
func TestRefusedFramesLeaveNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := parseDrawn(t, "rules: [{id: rl, action: rate_limit, rate: {max: 3, per_seconds: 10}}, {id: nay, action: deny, tool: z}]")
		now := &clock{}
		with, without := now.engine(s), now.engine(s)
		admitted, opened := 0, time.Duration(-10*time.Second)
		for range rapid.IntRange(1, 40).Draw(t, "frames") {
			now.now += rapid.SampledFrom([]time.Duration{0, time.Second, 3 * time.Second, 11 * time.Second}).Draw(t, "pause")
			tools := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "x", "y", "z"}), 1, 4).Draw(t, "frame")
			refused := false
			for _, v := range decide(with, tools...) {
				refused = refused || v.Status != policy.Allowed
			}
			if refused {
				continue
			}
			for i, v := range decide(without, tools...) {
				if v.Status != policy.Allowed {
					t.Fatalf("a refused frame gave quota away: %+v", v)
				}
				if tools[i] == "x" {
					if now.now-opened >= 10*time.Second {
						admitted, opened = 0, now.now
					}
					if admitted++; admitted > 3 {
						t.Fatal("four in one window")
					}
				}
			}
		}
	})
}

// TestRecheckUnderTheSamePolicyIsUnchanged: a Session decided by a policy and
// rechecked under it is unchanged call for call, but for what a rate_limit rule
// decided, which no record can answer for.
func TestRecheckUnderTheSamePolicyIsUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := parseDrawn(t, yamlOf(rapid.SampledFrom([]string{"allow", "deny"}).Draw(t, "default"), drawRules(t, allActions...)))
		e := policy.NewEngine(s)
		var record strings.Builder
		var want []string
		for range rapid.IntRange(1, 10).Draw(t, "calls") {
			req := drawRequest(t)
			var v [1]policy.Verdict
			e.Decide([]policy.Request{req}, v[:])
			verdict := map[policy.Status]string{policy.Allowed: wasAllowed, policy.Denied: wasDenied, policy.RateLimited: wasLimited, policy.PendingApproval: wasParked}[v[0].Status]
			var axes []string
			for name, value := range map[string]*string{"capability": req.Capability, "role": req.Role, "session": req.Session} {
				if value != nil {
					axes = append(axes, fmt.Sprintf("%q:%q", name, *value))
				}
			}
			record.WriteString(call(req.Tool, verdict, strings.Join(axes, ",")))
			if s.Evaluate(req).Action == policy.RateLimit {
				want = append(want, "indeterminate rate_limit_unevaluable")
			} else {
				want = append(want, "unchanged "+v[0].Status.String())
			}
		}
		var got []string
		_, err := policy.Recheck(strings.NewReader(record.String()), s, func(r *policy.Rechecked) error {
			got = append(got, r.Clause())
			return nil
		}, func(n policy.Note) { t.Fatal(n) })
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v\n got %q\nwant %q", err, got, want)
		}
	})
}
