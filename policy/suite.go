package policy

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"
)

var (
	suiteKeys = []string{"policy", "cases"}
	caseKeys  = []string{"name", "tool", "arguments", "capability", "role", "session", "expect", "code", "rule", "reason", "steps"}
	stepKeys  = []string{"tool", "arguments", "capability", "role", "session", "expect", "code", "rule", "reason", "after_seconds", "times"}
	statuses  = []string{"allowed", "denied", "rate_limited", "pending_approval"}
)

// Suite is a test file for a policy: calls and the verdicts they must get.
type Suite struct {
	File   string
	Policy string // path of the policy, relative paths resolved against the suite's folder
	Cases  []Case
}

// Case is one named sequence of Calls in a Session of its own: rate windows are
// closed and its clock stands at zero when it begins.
type Case struct {
	Name  string
	Line  int
	Steps []Step
}

// Step is one Call, made Times times in a row, and what each must get.
type Step struct {
	Line    int
	After   uint64 // seconds that pass before the first of them
	Times   uint32
	Request Request
	Expect  Status
	Code    *string // that a refusal must have, or a note of an allowed Call; "" for none; nil for any
	Rule    *string // id of the rule that must decide, "" for the default; nil for any
	Reason  *string
}

// CaseResult is what became of a Case: the last verdict, and the first step
// that went wrong, if one did.
type CaseResult struct {
	Case    *Case
	Verdict Verdict
	Step    *Step  // nil if the case passed
	Failure string // what was wrong; empty if the case passed
}

// Passed reports whether every step got what it must.
func (r CaseResult) Passed() bool { return r.Step == nil }

// LoadSuite reads a policy test file: YAML, or JSON, within the bounds of a
// policy file. The error is [LoadErrors].
func LoadSuite(path string) (*Suite, error) {
	src, err := readFile(path)
	if err != nil {
		return nil, LoadErrors{{File: path, Msg: "policy test " + err.Error()}}
	}
	d := &document{file: path}
	u := &Suite{File: path}
	if top := d.root(src, "policy test"); top != nil {
		d.suite(top, u)
	}
	if len(d.errs) > 0 {
		return nil, d.errs.sorted()
	}
	if !filepath.IsAbs(u.Policy) {
		u.Policy = filepath.Join(filepath.Dir(path), u.Policy)
	}
	return u, nil
}

func (d *document) suite(top *yaml.Node, u *Suite) {
	f := d.fields(top, "a policy test", suiteKeys)
	d.needs(top, f, "a policy test", 0, suiteKeys...)
	if v, ok := f["policy"]; ok {
		u.Policy, _ = d.text(v)
	}
	v, ok := f["cases"]
	if !ok {
		return
	}
	if v.value.Kind != yaml.SequenceNode || len(v.value.Content) == 0 {
		d.malformed(v.value, "cases", "`cases` is a list of one case or more, found %s", kindName(v.value))
		return
	}
	names := make(map[string]int)
	for _, n := range v.value.Content {
		if len(d.errs) > maxLoadErrors {
			return
		}
		before := len(d.errs)
		c := d.testCase(n)
		if len(d.errs) > before {
			continue
		}
		if line, ok := names[c.Name]; ok {
			d.malformed(n, "name", "a case named %s is on line %d already", quoted(c.Name), line)
		}
		names[c.Name] = n.Line
		u.Cases = append(u.Cases, c)
	}
}

func (d *document) testCase(n *yaml.Node) Case {
	c := Case{Line: n.Line}
	before := len(d.errs)
	f := d.fields(n, "a case", caseKeys)
	if f == nil {
		return c
	}
	if v, ok := f["name"]; ok {
		c.Name, _ = d.text(v)
	}
	steps, sequence := f["steps"]
	if !sequence {
		d.needs(n, f, "a case", before, "name", "tool", "expect")
		c.Steps = []Step{d.step(n, f)}
		return c
	}
	d.needs(n, f, "a case", before, "name")
	for name, v := range f {
		if name != "name" && name != "steps" {
			d.malformed(v.key, name, "%s stands in each step of a case with `steps`", quoted(name))
		}
	}
	if steps.value.Kind != yaml.SequenceNode || len(steps.value.Content) == 0 {
		d.malformed(steps.value, "steps", "`steps` is a list of one step or more, found %s", kindName(steps.value))
		return c
	}
	for _, s := range steps.value.Content {
		before := len(d.errs)
		if f := d.fields(s, "a step", stepKeys); f != nil {
			d.needs(s, f, "a step", before, "tool", "expect")
			c.Steps = append(c.Steps, d.step(s, f))
		}
	}
	return c
}

func (d *document) step(n *yaml.Node, f map[string]field) Step {
	s := Step{Line: n.Line, Times: 1}
	if v, ok := f["tool"]; ok {
		s.Request.Tool, _ = d.text(v)
	}
	if v, ok := f["expect"]; ok {
		token, _ := d.token(v, statuses)
		for status, t := range statusTokens {
			if t == token {
				s.Expect = Status(status)
			}
		}
	}
	s.Request.Capability, s.Request.Role, s.Request.Session = d.optionalText(f["capability"]), d.optionalText(f["role"]), d.optionalText(f["session"])
	s.Code, s.Rule, s.Reason = d.optionalText(f["code"]), d.optionalText(f["rule"]), d.optionalText(f["reason"])
	if v, ok := f["arguments"]; ok {
		if v.value.Kind != yaml.MappingNode {
			d.malformed(v.value, "arguments", "`arguments` is a mapping, found %s", kindName(v.value))
		}
		s.Request.Arguments = d.appendJSON(nil, v.value)
	}
	if v, ok := f["after_seconds"]; ok {
		s.After, _ = d.unsigned(v, math.MaxInt32)
	}
	if v, ok := f["times"]; ok {
		u, ok := d.unsigned(v, maxTimes)
		if ok && u == 0 {
			d.malformed(v.value, "times", "`times` is at least 1")
		}
		s.Times = uint32(u)
	}
	return s
}

// appendJSON appends the JSON of a YAML value. Numbers stand as they are written;
// what a YAML reader may take for something else must be quoted.
func (d *document) appendJSON(b []byte, n *yaml.Node) []byte {
	switch {
	case n.Kind == yaml.MappingNode:
		b = append(b, '{')
		lines := make(map[string]int)
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if line, twice := lines[k.Value]; k.Kind != yaml.ScalarNode || twice {
				d.malformed(k, k.Value, "a name of an argument is text, and given once (line %d)", line)
				continue
			}
			lines[k.Value] = k.Line
			b = appendKey(b, i, k.Value)
			b = d.appendJSON(b, n.Content[i+1])
		}
		return append(b, '}')
	case n.Kind == yaml.SequenceNode:
		b = append(b, '[')
		for i, c := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = d.appendJSON(b, c)
		}
		return append(b, ']')
	case isNull(n):
		return append(b, "null"...)
	case isPlain(n) && (n.Value == "true" || n.Value == "false" || jsonNumber().MatchString(n.Value)):
		return append(b, n.Value...)
	case isPlain(n) && otherThanText(n.Value) != "":
		d.malformed(n, n.Value, "%s may be read as %s; quote this: %q", quoted(n.Value), otherThanText(n.Value), n.Value)
	}
	return appendString(b, n.Value)
}

var jsonNumber = lazyRegexp(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// says reports whether the verdict has the code, or "" if it has none.
func (v *Verdict) says(c Code) bool {
	return v.Code == c && (c != "" || len(v.Notes) == 0) || v.Code == "" && slices.Contains(v.Notes, c)
}

// maxTimes bounds what one step of a test may cost.
const maxTimes = 1_000_000

// Run judges every case under s.
func (u *Suite) Run(s *Set) []CaseResult {
	results := make([]CaseResult, len(u.Cases))
	for i := range u.Cases {
		results[i] = u.Cases[i].run(s)
	}
	return results
}

func (c *Case) run(s *Set) CaseResult {
	var now time.Duration
	e := NewEngine(s, WithClock(func() time.Duration { return now }))
	r := CaseResult{Case: c}
	var reqs [1]Request
	var verdicts [1]Verdict
	for i := range c.Steps {
		step := &c.Steps[i]
		now += time.Duration(step.After) * time.Second
		for n := range step.Times {
			reqs[0] = step.Request
			e.Decide(reqs[:], verdicts[:])
			r.Verdict = verdicts[0]
			if failure := step.check(r.Verdict); failure != "" {
				if step.Times > 1 {
					failure = fmt.Sprintf("call %d of %d: %s", n+1, step.Times, failure)
				}
				r.Step, r.Failure = step, failure
				return r
			}
		}
	}
	return r
}

// check says what is wrong with a verdict, or "".
func (s *Step) check(v Verdict) string {
	by := "the default"
	if v.MatchedRule != "" {
		by = "rule " + quoted(v.MatchedRule)
	}
	switch {
	case v.Status != s.Expect:
		return fmt.Sprintf("want %s, got %s by %s", s.Expect, v.Status, by)
	case s.Code != nil && !v.says(Code(*s.Code)):
		got := string(v.Code)
		if v.Code == "" {
			got = fmt.Sprint(v.Notes)
		}
		return fmt.Sprintf("%s as wanted, but with code %s, want %s", v.Status, quoted(got), quoted(*s.Code))
	case s.Rule != nil && *s.Rule != v.MatchedRule:
		want := "the default"
		if *s.Rule != "" {
			want = "rule " + quoted(*s.Rule)
		}
		return fmt.Sprintf("%s as wanted, but by %s, want %s", v.Status, by, want)
	case s.Reason != nil && *s.Reason != v.Reason:
		return fmt.Sprintf("%s as wanted, but with reason %s, want %s", v.Status, quoted(v.Reason), quoted(*s.Reason))
	}
	return ""
}
