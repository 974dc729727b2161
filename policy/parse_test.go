package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/policy"
)

func mustParse(t testing.TB, src string) *policy.Set {
	t.Helper()
	s, err := policy.Parse("p.yaml", []byte(src))
	if err != nil {
		t.Fatalf("Parse: %v\n%s", err, src)
	}
	return s
}

// TestPublishedHashes holds the policy_set_hash of every published document.
func TestPublishedHashes(t *testing.T) {
	for file, want := range map[string]string{
		"recheck/new_deny.yaml":                      "546fbce1fc1c4d59a33ccb6c23c49b9f1926a6ac2ab1a04d0e7f9ac61b47ddb5",
		"recheck/new_park.yaml":                      "5cf700d5422d942d3b8a21d79d6980ae546394d99ce392d6d0a5d80f4ecbd2a8",
		"recheck/new_park_same.yaml":                 "46e366663e6227e45c93eba285df0c96e0102d54b913eda02f36accc2c7f5d78",
		"recheck/new_rate.yaml":                      "55f0a7c3926ee519c9b114c67d14063897e4e4939a614a0d3df60e1409fb7a06",
		"recheck/unchanged.yaml":                     "7074e704174a5a424596d37b9b377eff0aceb66b6e08c69cfc3ab38f2c5dc89b",
		"policy_yaml/seed-deny-overrides.yaml":       "c360a97618794d1e4cc2a5b37f52918deae76b6be36827a5fd3de36bfad8480c",
		"policy_yaml/seed-dreamd-policy.yaml":        "2a394c6173556a2dd7de7ff9c965ea32e2880eef415cbc89fe075b76e97ba130",
		"policy_yaml/seed-pending-approval.yaml":     "15b20fae76f1fbd73e63de27302bec0fc8439642004f9e7f5f193f2cfb5f0ee6",
		"policy_yaml/seed-rate-limit-with-rate.yaml": "f9634836bda43a491b7cae00c5ab9ca9856448d798c95ae6bf5b02f30d0296e4",
	} {
		s, err := policy.Load(filepath.Join("testdata", file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if got := s.Hash().String(); got != want {
			t.Errorf("%s: hash %s, want %s", file, got, want)
		}
	}
	const allowAll = "5ecac5407c3aefb658f4f734d7f787302004848dcab8e28a22b947a859499c20"
	if got := policy.AllowAll().Hash().String(); got != allowAll {
		t.Errorf("allow-all: hash %s", got)
	}
	if got := mustParse(t, "version: 1").Hash().String(); got != allowAll {
		t.Errorf("version only: hash %s", got)
	}
	exfil := mustParse(t, "rules: [{id: block-exfil, action: deny, tool: exfil, reason: blocked in deny-suite}]")
	if got := exfil.Hash().String(); got != "1a5237ac68addd31a19f625e8e6381737fc82429461c67e5dad00b260c152b2f" {
		t.Errorf("deny-suite: hash %s", got)
	}
}

// TestHashSpelling holds what does and what does not move the hash.
func TestHashSpelling(t *testing.T) {
	base := mustParse(t, "default: allow\nrules:\n- {id: a, action: deny, tool: x}\n- {id: b, action: allow}\n")
	for name, src := range map[string]string{
		"version given":   "version: 1\ndefault: allow\nrules:\n- {id: a, action: deny, tool: x}\n- {id: b, action: allow}\n",
		"default omitted": "rules:\n- {id: a, action: deny, tool: x}\n- {id: b, action: allow}\n",
		"wildcards":       "rules:\n- {id: a, action: deny, tool: x, role: '*', capability: \"*\"}\n- {id: b, action: allow, tool: '*'}\n",
		"key order":       "rules:\n- {tool: x, action: deny, id: a}\n- {action: allow, id: b}\ndefault: allow\n",
		"block, comments": "# c\nrules:\n  - id: a # c\n    action: 'deny'\n    tool: \"x\"\n  - id: b\n    action: allow\n    priority: 0\n    limits: {}\n",
		"nulls":           "version: ~\nrules:\n- {id: a, action: deny, tool: x, reason: null}\n- {id: b, action: allow, limits:, priority: }\n",
		"crlf and bom":    "\ufeffrules:\r\n- {id: a, action: deny, tool: x}\r\n- {id: b, action: allow}\r\n",
	} {
		if got := mustParse(t, src); got.Hash() != base.Hash() {
			t.Errorf("%s moves the hash", name)
		}
	}
	for name, src := range map[string]string{
		"rule order":  "rules:\n- {id: b, action: allow}\n- {id: a, action: deny, tool: x}\n",
		"default":     "default: deny\nrules:\n- {id: a, action: deny, tool: x}\n- {id: b, action: allow}\n",
		"empty axis":  "rules:\n- {id: a, action: deny, tool: x, role: ''}\n- {id: b, action: allow}\n",
		"priority":    "rules:\n- {id: a, action: deny, tool: x, priority: -5}\n- {id: b, action: allow}\n",
		"reason":      "rules:\n- {id: a, action: deny, tool: x, reason: ''}\n- {id: b, action: allow}\n",
		"u64 ceiling": "rules:\n- {id: a, action: deny, tool: x}\n- {id: b, action: allow, limits: {max_wall_ms: 18446744073709551615}}\n",
	} {
		if got := mustParse(t, src); got.Hash() == base.Hash() {
			t.Errorf("%s does not move the hash", name)
		}
	}
}

// TestLoadErrors holds what is refused at load, where, and in which words.
func TestLoadErrors(t *testing.T) {
	rule := func(s string) string { return "rules:\n  - id: a\n    action: allow\n    " + s + "\n" }
	for _, c := range []struct{ name, src, want string }{
		{"misspelt default", "defualt: deny\n", "p.yaml:1:1: policy parse error: unknown key `defualt` in the policy; did you mean `default`?"},
		{"misspelt action", "rules:\n  - id: a\n    acton: deny\n", "p.yaml:3:5: policy parse error: unknown key `acton` in a rule; did you mean `action`?"},
		{"misspelt verb", "rules:\n  - id: a\n    action: dney\n", "p.yaml:3:13: policy parse error: `action` is one of allow, deny, rate_limit, pending_approval, found the text `dney`; did you mean `deny`?"},
		{"unknown narrowing", rule("argz: {path: /srv}"), "p.yaml:4:5: policy parse error: unknown key `argz` in a rule (known: id, action, tool, capability, role, priority, reason, rate, limits)"},
		{"case", rule("Tool: x"), "unknown key `Tool` in a rule; did you mean `tool`?"},
		{"nested too deep", "rules:\n  - - id: a\n      action: deny\n", "p.yaml:2:5: policy parse error: a rule is a mapping, found a list"},
		{"rules a mapping", "rules:\n  id: a\n", "`rules` is a list, found a mapping"},
		{"rate key", "rules:\n- {id: a, action: rate_limit, rate: {max: 1, per_second: 1}}\n", "unknown key `per_second` in `rate`; did you mean `per_seconds`?"},
		{"limits key", rule("limits: {max_wall: 1}"), "unknown key `max_wall` in `limits`; did you mean `max_wall_ms`?"},
		{"empty", "", "the file is empty; an empty policy is not a policy"},
		{"comments", "# nothing\n\n# here\n", "the file is empty; an empty policy is not a policy"},
		{"null", "---\n~\n", "the document is empty; an empty policy is not a policy"},
		{"scalar", "deny\n", "a policy is a mapping, found the text `deny`"},
		{"list", "- deny\n", "a policy is a mapping, found a list"},
		{"duplicate top key", "rules: []\nversion: 1\nrules: []\n", "p.yaml:3:1: policy parse error: duplicate key `rules` on line 3; it was given on line 1"},
		{"duplicate rule key", "rules:\n  - id: a\n    action: deny\n    action: allow\n", "p.yaml:4:5: policy parse error: duplicate key `action` on line 4; it was given on line 3"},
		{"duplicate key quoted", "default: deny\n\"d\\u0065fault\": allow\n", "duplicate key `default` on line 2; it was given on line 1"},
		{"duplicate id", "rules:\n  - {id: a, action: deny}\n  - {id: a, action: rate_limit}\n", "p.yaml:3:5: duplicate rule id `a`; it was given on line 2"},
		{"rate missing", "rules:\n  - {id: a, action: rate_limit}\n", "p.yaml:2:5: invalid rule `a`: rate_limit action requires a `rate` block"},
		{"rate misplaced", "rules:\n  - {id: a, action: allow, rate: {max: 1, per_seconds: 1}}\n", "invalid rule `a`: `rate` is only valid on a rate_limit action"},
		{"rate zero", "rules:\n  - {id: a, action: rate_limit, rate: {max: 0, per_seconds: 1}}\n", "invalid rule `a`: rate.max and rate.per_seconds must be > 0"},
		{"rate incomplete", "rules:\n  - {id: a, action: rate_limit, rate: {max: 1}}\n", "`rate` needs `per_seconds`"},
		{"limits misplaced", "rules:\n  - {id: a, action: deny, limits: {max_wall_ms: 1}}\n", "invalid rule `a`: `limits` is only valid on allow or rate_limit actions"},
		{"no id", "rules:\n  - action: deny\n", "a rule needs `id`"},
		{"no action", "rules:\n  - id: a\n", "a rule needs `action`"},
		{"version", "version: 2\n", "p.yaml:1:10: unsupported policy version 2 (supported: 1)"},
		{"version text", "version: \"1\"\n", "`version` is a number, found the text `1`; remove the quotes"},
		{"version bool", "version: true\n", "`version` is a whole number in plain decimal digits, found `true`"},
		{"default forgotten", "default:\nrules: []\n", "`default` is one of allow, deny, found nothing"},
		{"default case", "default: Deny\n", "found the text `Deny`; did you mean `deny`?"},
		{"alias", "rules:\n  - {id: &x a, action: deny}\n  - {id: *x, action: deny}\n", "p.yaml:3:10: policy parse error: aliases are not supported; write the value out"},
		{"anchor", "default: &x deny\n", "p.yaml:1:10: policy parse error: anchors are not supported"},
		{"merge", "<<: {default: deny}\n", "merge keys are not supported"},
		{"tag", rule("tool: !!str 5"), "tags are not supported"},
		{"two documents", "default: deny\n---\ndefault: allow\n", "p.yaml:2:1: policy parse error: a second document begins here; a policy is one document"},
		{"document then garbage", "default: deny\n...\n[\n", "policy parse error: while parsing a flow node"},
		{"tab", "rules:\n\t- id: a\n", "indent with spaces, not tabs"},
		{"lone star", rule("tool: *"), `a lone * must be quoted: "*"`},
		{"tool no", rule("tool: no"), "p.yaml:4:11: policy parse error: `tool` is text, but `no` may be read as a boolean; quote this: \"no\""},
		{"tool on", rule("tool: on"), "`on` may be read as a boolean"},
		{"tool float", rule("tool: 1e3"), "`1e3` may be read as a number"},
		{"tool octal", rule("tool: 0123456"), "`0123456` may be read as a number"},
		{"tool octal address", rule("tool: 074763617300"), "may be read as a number"},
		{"tool hex", rule("tool: 0x1F"), "may be read as a number"},
		{"tool base 60", rule("tool: 1:30"), "may be read as a number"},
		{"tool date", rule("tool: 2026-01-02"), "`2026-01-02` may be read as a date"},
		{"tool null", rule("tool: null"), "`null` may be read as null"},
		{"tool tilde", rule("tool: ~"), "`~` may be read as null"},
		{"tool forgotten", rule("tool:"), "`tool` has no value; remove the key, or write \"\" for the empty text"},
		{"role forgotten", rule("role:"), "`role` has no value"},
		{"tool list", rule("tool: [a, b]"), "`tool` is text, found a list"},
		{"priority rounded", rule("priority: 9007199254740993"), "`priority` is a number from -2147483648 to 2147483647, found `9007199254740993`"},
		{"priority hex", rule("priority: 0x10"), "`priority` is a whole number in plain decimal digits, found `0x10`"},
		{"priority underscore", rule("priority: 1_000"), "plain decimal digits, found `1_000`"},
		{"priority float", rule("priority: 1.0"), "plain decimal digits, found `1.0`"},
		{"max too large", "rules:\n  - {id: a, action: rate_limit, rate: {max: 4294967296, per_seconds: 1}}\n", "`max` is a number from 0 to 4294967295, found `4294967296`"},
		{"limit too large", rule("limits: {max_wall_ms: 18446744073709551616}"), "`max_wall_ms` is a number from 0 to 18446744073709551615"},
		{"limit negative", rule("limits: {max_wall_ms: -1}"), "found `-1`"},
		{"not UTF-8", "default: deny\n# \xff\n", "p.yaml:2:3: policy parse error: not UTF-8"},
		{"UTF-16", "\xff\xfed\x00", "p.yaml:1:1: policy parse error: not UTF-8"},
		{"hidden line break", "# note\u2028default: allow\n", "p.yaml:1:7: policy parse error: the line separator U+2028, which most editors do not show"},
		{"bare carriage return", "# note\rdefault: allow\n", "a carriage return that ends no line"},
		{"escape in a key", "\"\\e[2Kdefault\": allow\n", `unknown key "\x1b[2Kdefault" in the policy`},
		{"key not text", "[a]: b\n", "a key of the policy is a list, not text"},
		{"unclosed quote", "rules:\n  - id: \"broken\n    action: deny\n", "(it began on line 2)"},
	} {
		s, err := policy.Parse("p.yaml", []byte(c.src))
		if err == nil {
			t.Errorf("%s: loads, want %q", c.name, c.want)
			continue
		}
		if s != nil {
			t.Errorf("%s: a Set beside an error", c.name)
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, err, c.want)
		}
		errs, ok := errors.AsType[policy.LoadErrors](err)
		if !ok || len(errs) == 0 {
			t.Errorf("%s: error is a %T", c.name, err)
			continue
		}
		for _, e := range errs {
			if e.Line < 1 || e.Column < 1 || e.File != "p.yaml" {
				t.Errorf("%s: no position: %+v", c.name, e)
			}
		}
	}
}

// TestFairTextLoads holds names that look odd but are text to every reader.
func TestFairTextLoads(t *testing.T) {
	for _, tool := range []string{`"no"`, `'1e3'`, `"*x"`, "a.b", "1.2.3", "127.0.0.1", "fs:read", "get-sum", "yes_please", "naïve", "工具", "0day", "2026-01-02x", "e3", "a b", "-x", "y", "n", `"null"`} {
		s := mustParse(t, "rules: \n- id: a\n  action: deny\n  tool: "+tool+"\n")
		if got := *s.Rules()[0].Tool; got != strings.Trim(tool, `"'`) {
			t.Errorf("%s read as %q", tool, got)
		}
	}
	s := mustParse(t, "rules:\n- {id: a, action: rate_limit, rate: {max: 4294967295, per_seconds: 18446744073709551615}, priority: -2147483648}")
	if r := s.Rules()[0]; r.Rate.PerSeconds != 1<<64-1 || r.Rate.Max != 1<<32-1 || r.Priority != -1<<31 {
		t.Errorf("numbers were rounded: %+v", r)
	}
}

// TestManyErrors: an author sees several faults at once, but not thousands.
func TestManyErrors(t *testing.T) {
	_, err := policy.Parse("p.yaml", []byte("defualt: deny\nrules:\n- {id: a, acton: deny}\n- {id: b, action: dney}\n"))
	if errs, _ := errors.AsType[policy.LoadErrors](err); len(errs) != 3 {
		t.Errorf("%d errors, want 3:\n%v", len(errs), err)
	}
	_, err = policy.Parse("p.yaml", []byte("rules:\n"+strings.Repeat("- {id: a}\n", 5000)))
	if errs, _ := errors.AsType[policy.LoadErrors](err); len(errs) > 20 || !strings.Contains(err.Error(), "more errors") {
		t.Errorf("%d errors", len(errs))
	}
}

// TestHostileFilesAreRefusedSoon: bombs, deep nesting and large files cost
// less than a second.
func TestHostileFilesAreRefusedSoon(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 8) + "*" + string(c-1) + "]\n"
	}
	var keys strings.Builder
	for i := 0; keys.Len() < 1<<20-100; i++ {
		keys.WriteString("k" + strings.Repeat("x", i%7) + ": 1\n")
	}
	for name, src := range map[string]string{
		"alias bomb":      bomb,
		"10 MB":           strings.Repeat("# x\n", 10<<18),
		"flow nesting":    "rules: " + strings.Repeat("[", 1<<20-10),
		"map nesting":     strings.Repeat("{a: ", 1<<18-1),
		"dash nesting":    strings.Repeat("- ", 1<<19),
		"question marks":  strings.Repeat("? ", 1<<19),
		"many keys":       keys.String(),
		"many bad rules":  "rules:\n" + strings.Repeat("- {id: 1}\n", 100_000),
		"long word":       strings.Repeat("d", 1<<20-10) + ": 1\n",
		"blank lines":     strings.Repeat("\n", 1<<20),
		"many duplicates": strings.Repeat("default: deny\n", 70_000),
	} {
		var took time.Duration
		var err error
		for range 3 { // a busy machine gets another try
			start := time.Now()
			_, err = policy.Parse("p.yaml", []byte(src))
			if took = time.Since(start); took < time.Second || raceDetector {
				break
			}
		}
		if took > time.Second && !raceDetector {
			t.Errorf("%s took %v", name, took)
		}
		if err == nil {
			t.Errorf("%s loads", name)
		} else if len(err.Error()) > 10_000 {
			t.Errorf("%s: %d bytes of message", name, len(err.Error()))
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, []byte(strings.Repeat("# 10 MB\n", 10<<17)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "policy source read error for `" + filepath.Join(dir, "none.yaml") + "`: no such file or directory",
		dir:                             "policy source read error for `" + dir + "`: is a directory",
		big:                             "the file is larger than 1 MiB",
		"testdata/policy_yaml/seed-invalid-rate-limit-without-rate.yaml": "invalid rule `bad`: rate_limit action requires a `rate` block",
		"testdata/recheck/malformed.yaml":                                "policy parse error: ",
	} {
		if _, err := policy.Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name, src string
		want      []policy.WarningCode
	}{
		{"no rules", "version: 1\n", []policy.WarningCode{policy.NoRules}},
		{"default omitted", "rules: [{id: a, action: deny, tool: x}]", []policy.WarningCode{policy.DefaultOmitted}},
		{"clean", "default: deny\nrules: [{id: a, action: allow, tool: x}]", nil},
		{"deny shadows", "default: deny\nrules: [{id: a, action: allow, tool: x}, {id: b, action: deny, tool: x}]", []policy.WarningCode{policy.NeverWins}},
		{"wide deny shadows", "default: deny\nrules: [{id: a, action: pending_approval, tool: x}, {id: b, action: deny}]", []policy.WarningCode{policy.NeverWins}},
		{"same axes", "default: deny\nrules: [{id: a, action: allow, tool: x}, {id: b, action: pending_approval, tool: x}]", []policy.WarningCode{policy.NeverWins}},
		{"priority decides", "default: deny\nrules: [{id: a, action: allow, tool: x}, {id: b, action: pending_approval, tool: x, priority: 1}]", []policy.WarningCode{policy.NeverWins}},
		{"narrower is live", "default: deny\nrules: [{id: a, action: allow}, {id: b, action: pending_approval, tool: x}]", nil},
		{"narrow deny under a wide one is live", "default: allow\nrules: [{id: a, action: deny}, {id: b, action: deny, tool: x}]", nil},
		{"role", "default: deny\nrules: [{id: a, action: allow, role: ops}]", []policy.WarningCode{policy.AxisNotAsserted}},
		{"glob", "default: allow\nrules: [{id: a, action: deny, tool: 'delete_*'}]", []policy.WarningCode{policy.NotAPattern}},
		{"blanks", "default: allow\nrules: [{id: a, action: deny, tool: 'x '}]", []policy.WarningCode{policy.OddName}},
		{"limits", "default: deny\nrules: [{id: a, action: allow, tool: x, limits: {max_wall_ms: 5}}]", []policy.WarningCode{policy.LimitsNotBound}},
	} {
		var got []policy.WarningCode
		for _, w := range mustParse(t, c.src).Warnings() {
			got = append(got, w.Code)
			if w.Line < 1 || w.Column < 1 {
				t.Errorf("%s: no position: %v", c.name, w)
			}
		}
		if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
