package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"go.yaml.in/yaml/v4"
)

// topLevel names the outermost mapping in messages.
const topLevel = "the policy"

var (
	topKeys      = []string{"version", "default", "rules", "defaults", "tools", "bindings"}
	argumentKeys = []string{"defaults", "tools", "bindings"}
	ruleKeys     = []string{"id", "action", "tool", "capability", "role", "priority", "reason", "rate", "limits"}
	rateKeys     = []string{"max", "per_seconds"}
	limitKeys    = []string{"max_memory_bytes", "max_wall_ms", "max_output_bytes"}

	actions = map[string]Action{"allow": Allow, "deny": Deny, "rate_limit": RateLimit, "pending_approval": PendApproval}
	// verbs lists the action tokens in the order the documentation gives them.
	verbs    = []string{"allow", "deny", "rate_limit", "pending_approval"}
	defaults = []string{"allow", "deny"}
)

// Load reads and parses the policy file at path. It reads no more than 1 MiB
// and one byte. The error is [LoadErrors].
func Load(path string) (*Set, error) {
	src, err := readFile(path)
	if err != nil {
		return nil, LoadErrors{{File: path, Msg: "policy " + err.Error()}}
	}
	return Parse(path, src)
}

func readFile(path string) ([]byte, error) {
	src, err := func() ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, errors.New("is a directory")
		}
		return io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	}()
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return nil, fmt.Errorf("source read error for %s: %w", quoted(path), err)
	}
	return src, nil
}

// Parse reads a policy from src; name stands in messages for the file. The file
// is one YAML document of at most 1 MiB without anchors, aliases, merge keys
// and tags, and holds no key but the documented ones, each once. Anything else
// is an error: a key that was misspelt and passed over would protect nothing.
// The error is [LoadErrors].
func Parse(name string, src []byte) (*Set, error) {
	d := &document{file: name}
	var s *Set
	if top := d.root(src, "policy"); top != nil {
		s = d.policy(top, src)
	}
	if len(d.errs) > 0 {
		return nil, d.errs.sorted()
	}
	return s, nil
}

func (d *document) policy(top *yaml.Node, src []byte) *Set {
	f := d.fields(top, topLevel, topKeys)
	if v, ok := f["version"]; ok && !isNull(v.value) {
		if n, ok := d.unsigned(v, math.MaxUint32); ok && n != 1 {
			d.fail(v.value, "version", "unsupported policy version %d (supported: 1)", n)
		}
	}
	fallback, defaultLine := Allow, 0
	if v, ok := f["default"]; ok {
		defaultLine = v.value.Line
		if token, ok := d.token(v, defaults); ok {
			fallback = actions[token]
		}
	}
	rules := d.rules(f["rules"])
	arguments := d.arguments(f)
	if len(d.errs) > 0 {
		return nil
	}
	s := newSet(d.file, fallback, defaultLine, rules, arguments, fingerprint(src))
	_, s.versioned = f["version"]
	if v, ok := f["rules"]; ok && len(rules) == 0 {
		s.noRules = Edit{Line: v.key.Line, Old: "rules:"}
		if v.value.Kind == yaml.SequenceNode {
			s.noRules.Old = "rules: []"
		}
	}
	s.warnings = s.lint(top)
	return s
}

func (d *document) rules(f field) []Rule {
	if f.value == nil || isNull(f.value) {
		return nil
	}
	if f.value.Kind != yaml.SequenceNode {
		d.malformed(f.value, "rules", "`rules` is a list, found %s", kindName(f.value))
		return nil
	}
	rules := make([]Rule, 0, len(f.value.Content))
	lines := make(map[string]int)
	for _, n := range f.value.Content {
		if len(d.errs) > maxLoadErrors {
			break
		}
		if r, ok := d.rule(n, lines); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// rule reads one rule. lines holds where each id was first used.
func (d *document) rule(n *yaml.Node, lines map[string]int) (Rule, bool) {
	before := len(d.errs)
	f := d.fields(n, "a rule", ruleKeys)
	if f == nil {
		return Rule{}, false
	}
	r := Rule{Line: n.Line, Column: n.Column, lastLine: lastLine(n)}
	d.needs(n, f, "a rule", before, "id", "action")
	if v, ok := f["id"]; ok {
		r.ID, _ = d.text(v)
	}
	if v, ok := f["action"]; ok {
		r.ActionLine = v.value.Line
		token, _ := d.token(v, verbs)
		r.Action = actions[token]
	}
	r.Tool, r.Capability, r.Role = d.axis(f, "tool"), d.axis(f, "capability"), d.axis(f, "role")
	if v, ok := f["priority"]; ok && !isNull(v.value) {
		r.Priority, _ = d.int32(v)
	}
	r.Reason = d.optionalText(f["reason"])
	rate, rateGiven := f["rate"]
	if rateGiven = rateGiven && !isNull(rate.value); rateGiven {
		r.Rate = d.rate(rate)
	}
	if v, ok := f["limits"]; ok && !isNull(v.value) {
		r.Limits = d.limits(v)
	}
	if len(d.errs) > before {
		return r, false
	}
	d.checkRule(n, &r, lines)
	return r, len(d.errs) == before
}

// lastLine is where the last node below n begins.
func lastLine(n *yaml.Node) int {
	for len(n.Content) > 0 {
		n = n.Content[len(n.Content)-1]
	}
	return n.Line
}

// checkRule holds what the specification demands of a rule that reads well. A
// rule is told one fault, in the specification's order.
func (d *document) checkRule(n *yaml.Node, r *Rule, lines map[string]int) {
	if line, ok := lines[r.ID]; ok {
		d.fail(n, r.ID, "duplicate rule id %s; it was given on line %d", quoted(r.ID), line)
		return
	}
	lines[r.ID] = n.Line
	fault := ""
	switch {
	case r.Rate != nil && (r.Rate.Max == 0 || r.Rate.PerSeconds == 0):
		fault = "rate.max and rate.per_seconds must be > 0"
	case r.Action == RateLimit && r.Rate == nil:
		fault = "rate_limit action requires a `rate` block"
	case r.Action != RateLimit && r.Rate != nil:
		fault = "`rate` is only valid on a rate_limit action"
	case r.Limits != nil && r.Action != Allow && r.Action != RateLimit:
		fault = "`limits` is only valid on allow or rate_limit actions"
	}
	if fault != "" {
		d.fail(n, r.ID, "invalid rule %s: %s", quoted(r.ID), fault)
	}
}

// axis reads a match axis. Left out or "*" it matches anything. A null is a
// fault: a value that was forgotten would widen the rule to everything.
func (d *document) axis(f map[string]field, name string) *string {
	v, ok := f[name]
	if !ok {
		return nil
	}
	s, ok := d.text(v)
	if !ok || s == "*" {
		return nil
	}
	return &s
}

func (d *document) rate(f field) *Rate {
	before := len(d.errs)
	m := d.fields(f.value, "`rate`", rateKeys)
	d.needs(f.key, m, "`rate`", before, rateKeys...)
	var r Rate
	if v, ok := m["max"]; ok {
		u, _ := d.unsigned(v, math.MaxUint32)
		r.Max = uint32(u)
	}
	if v, ok := m["per_seconds"]; ok {
		r.PerSeconds, _ = d.unsigned(v, math.MaxUint64)
	}
	return &r
}

func (d *document) limits(f field) *Limits {
	m := d.fields(f.value, "`limits`", limitKeys)
	var l Limits
	for _, axis := range []struct {
		name string
		into **uint64
	}{{"max_memory_bytes", &l.MaxMemoryBytes}, {"max_wall_ms", &l.MaxWallMS}, {"max_output_bytes", &l.MaxOutputBytes}} {
		if v, ok := m[axis.name]; ok && !isNull(v.value) {
			if u, ok := d.unsigned(v, math.MaxUint64); ok {
				*axis.into = &u
			}
		}
	}
	if l == (Limits{}) {
		return nil // `limits: {}` is no limits
	}
	return &l
}
