package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/aegis-aar/aegis/policy"
)

func seedPolicies(f *testing.F) {
	for _, dir := range []string{"policy_yaml", "recheck"} {
		files, _ := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	files, _ := filepath.Glob("../examples/policies/*.yaml")
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	for _, src := range []string{argumentPolicy, "tools: {t: {filesystem_read: {allow_paths: ['~/**', '[', '\\'], path_arg: /a~1b}}}", "bindings: {t: {schema_hash: x, arguments: [{arg: a, axis: net}], other: [a]}}",
		"defaults: {http_request: {deny_cidrs: [1.2.3.4, '::/0', 1.2.3.4/8], allow_hosts: ['*', 'a:0']}}", "", "a: &x [*x]", "rules: [{id: nay, action: deny}]", "---\n---\n", "\"\\u0000\": 1", "? [a]\n: b", "{", "%YAML 1.2\n---\n{}"} {
		f.Add([]byte(src))
	}
}

// FuzzParse: a file either loads, and then loads the same again, or is refused
// with positions. Nothing panics.
func FuzzParse(f *testing.F) {
	seedPolicies(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := policy.Parse("p.yaml", src)
		if err != nil {
			errs, ok := errors.AsType[policy.LoadErrors](err)
			if s != nil || !ok || len(errs) == 0 || len(errs) > 20 {
				t.Fatalf("%v, %T of %d", s, err, len(errs))
			}
			return
		}
		again, err := policy.Parse("p.yaml", src)
		if err != nil || again.Hash() != s.Hash() {
			t.Fatalf("reads differently again: %v", err)
		}
		for _, call := range []policy.Request{{Tool: "t"}, {Tool: "t", Arguments: []byte(`{"path":"/a","url":"http://h/","command":"ls","sql":"SELECT 1","a":["x"]}`)}} {
			j := s.Judge(call, nil)
			if (j.Denied != nil || len(j.Params) > 0 || len(j.Notes) > 0) && !s.HasArguments() || len(j.Findings) != len(j.Params) {
				t.Fatalf("%+v", j)
			}
			if x := s.Explain(call); j.Denied != nil && len(x.Edits) == 0 && x.Then != policy.Deny {
				t.Fatalf("%+v", x)
			}
		}
		ids := map[string]bool{}
		for _, r := range s.Rules() {
			if ids[r.ID] {
				t.Fatalf("rule %q twice", r.ID)
			}
			ids[r.ID] = true
			if r.Line < 1 || r.Column < 1 || (r.Action == policy.RateLimit) != (r.Rate != nil) {
				t.Fatalf("%+v", r)
			}
		}
	})
}

// FuzzEvaluate: the winner matches the call, and no matching deny is passed over.
func FuzzEvaluate(f *testing.F) {
	for _, src := range []string{
		"rules: [{id: a, action: deny, tool: x}, {id: b, action: allow}]",
		"default: deny\nrules: [{id: a, action: allow, tool: x, capability: c, role: r}]",
		"rules: [{id: a, action: rate_limit, role: '', rate: {max: 1, per_seconds: 1}}, {id: b, action: pending_approval, tool: '*'}]",
	} {
		f.Add([]byte(src), "x", "c", "r", uint8(3))
		f.Add([]byte(src), "x", "", "", uint8(0))
	}
	f.Fuzz(func(t *testing.T, src []byte, tool, capability, role string, asserted uint8) {
		s, err := policy.Parse("p.yaml", src)
		if err != nil {
			return
		}
		req := policy.Request{Tool: tool}
		if asserted&1 != 0 {
			req.Capability = &capability
		}
		if asserted&2 != 0 {
			req.Role = &role
		}
		matches := func(r policy.Rule) bool {
			axis := func(want, got *string) bool { return want == nil || got != nil && *want == *got }
			return axis(r.Tool, &req.Tool) && axis(r.Capability, req.Capability) && axis(r.Role, req.Role)
		}
		m := s.Evaluate(req)
		if m.Rule != nil && !matches(*m.Rule) {
			t.Fatalf("%+v does not match %+v", m.Rule, req)
		}
		for _, r := range s.Rules() {
			if !matches(r) {
				continue
			}
			if m.Rule == nil || r.Action == policy.Deny && m.Action != policy.Deny {
				t.Fatalf("%+v passed over %+v", m, r)
			}
			if (r.Action == policy.Deny) == (m.Action == policy.Deny) && r.Specificity() > m.Rule.Specificity() {
				t.Fatalf("%+v is narrower than %+v", r, m.Rule)
			}
		}
		var v [1]policy.Verdict
		if _, refused := policy.NewEngine(s).Decide([]policy.Request{req}, v[:]); refused != (v[0].Status != policy.Allowed) {
			t.Fatalf("refused %v: %+v", refused, v[0])
		}
	})
}
