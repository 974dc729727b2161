package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/policy"
)

// Enforcement as a user meets it: policy files, the real wrap, the real recheck.

// The test binary is also the server of these tests: `be-the-server FLOOD LOG`
// writes FLOOD bytes to stderr, then answers every request, writing down every
// byte it reads. FLOOD over 0 and no LOG ends it after the flood.
func init() {
	if len(os.Args) != 4 || os.Args[1] != "be-the-server" {
		return
	}
	n, _ := strconv.Atoi(os.Args[2])
	os.Stderr.WriteString(strings.Repeat("!", n))
	if os.Args[3] == "" {
		os.Exit(3)
	}
	log, err := os.Create(os.Args[3])
	if err != nil {
		os.Exit(90)
	}
	in := bufio.NewReader(io.TeeReader(os.Stdin, log))
	for {
		line, err := in.ReadBytes('\n')
		os.Stdout.Write(answers(line))
		if err != nil {
			os.Exit(0)
		}
	}
}

func answers(line []byte) []byte {
	var batch []jsontext.Value
	if json.Unmarshal(line, &batch) == nil {
		var all [][]byte
		for _, e := range batch {
			all = append(all, bytes.TrimSuffix(answers(e), []byte("\n")))
		}
		return append(append([]byte{'['}, bytes.Join(all, []byte(","))...), "]\n"...)
	}
	var m struct {
		ID jsontext.Value `json:"id"`
	}
	if json.Unmarshal(line, &m) != nil || len(m.ID) == 0 {
		return nil
	}
	return fmt.Appendf(nil, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", m.ID)
}

func serverArgs(flood int, log string) []string {
	return []string{os.Args[0], "be-the-server", strconv.Itoa(flood), log}
}

// limit is how long anything may take before it counts as a hang.
const limit = 30 * time.Second

// workspace is a directory with a key in it.
type workspace struct {
	t   testing.TB
	dir string
}

func newWorkspace(t testing.TB) workspace {
	t.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	w := workspace{t, t.TempDir()}
	if code, _, stderr := w.run("", "keygen", "--out", w.path("key")); code != 0 {
		t.Fatal(stderr)
	}
	return w
}

func (w workspace) path(name string) string { return filepath.Join(w.dir, name) }

func (w workspace) write(name, content string) string {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return w.path(name)
}

func (w workspace) read(name string) string {
	b, _ := os.ReadFile(w.path(name))
	return string(b)
}

// run is a command in this process.
func (w workspace) run(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errw lockedBuffer
	code = Main(args, strings.NewReader(stdin), &out, &errw)
	return code, out.String(), errw.String()
}

// wrapArgs are those of a wrap with a policy, a record and the test's server.
func (w workspace) wrapArgs(policy, record string, flood int, log string) []string {
	return append([]string{"wrap", "--policy", w.path(policy), "--audit", w.path(record), "--signing-key", w.path("key"), "--"}, serverArgs(flood, log)...)
}

// outcomes are those of a record that verifies, in order.
func (w workspace) outcomes(record string) (all []*aar.Outcome) {
	w.t.Helper()
	if code, stdout, stderr := w.run("", "verify", w.path(record)); code != 0 {
		w.t.Fatalf("verify: %s%s", stdout, stderr)
	}
	for row := range strings.Lines(w.read(record)) {
		line, err := aar.ParseLine([]byte(row))
		if err != nil {
			w.t.Fatal(err)
		}
		if o, ok := line.(*aar.Outcome); ok {
			all = append(all, o)
		}
	}
	return all
}

// lockedBuffer may be written to from several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func toolCall(id, tool string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":` + strconv.Quote(tool) + `}}`
}

// TestABadPolicyStopsWrap: a policy that does not load stops wrap before
// anything starts. There is no record, the server never ran, the client got
// nothing, and the message says where the fault is and what was meant.
func TestABadPolicyStopsWrap(t *testing.T) {
	rule := func(s string) string { return "rules:\n  - id: a\n    action: allow\n    " + s + "\n" }
	bomb := "a: &a [x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	w := newWorkspace(t)
	if err := os.Mkdir(w.path("directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, text, want string }{
		// What a reader that passes over unknown keys would load as something laxer.
		{"misspelt default", "defualt: deny\n", ":1:1: policy parse error: unknown key `defualt` in the policy; did you mean `default`?"},
		{"misspelt action", "rules:\n  - id: a\n    acton: deny\n", ":3:5: policy parse error: unknown key `acton` in a rule; did you mean `action`?"},
		{"misspelt verb", "rules:\n  - id: a\n    action: dney\n", "found the text `dney`; did you mean `deny`?"},
		{"misspelt narrowing", rule("argz: {path: /srv}"), ":4:5: policy parse error: unknown key `argz` in a rule"},
		{"key with a Cyrillic o", rule("t\u043eol: x"), ":4:5: policy parse error: unknown key `t\u043eol` in a rule; did you mean `tool`?"},
		{"key in capitals", rule("TOOL: x"), "unknown key `TOOL` in a rule; did you mean `tool`?"},
		{"key with a blank that is not seen", "default\u200b: deny\n", `unknown key "default\u200b" in the policy; did you mean`},
		{"nested one level too deep", "rules:\n  - - id: a\n      action: deny\n", ":2:5: policy parse error: a rule is a mapping, found a list"},
		{"argument rules of an unknown shape", "tools: {save: {filesystem_wirte: {}}}\n", "unknown"},
		{"empty", "", ":1:1: policy parse error: the file is empty; an empty policy is not a policy"},
		{"comments", "# nothing\n# here\n", ":1:1: policy parse error: the file is empty"},
		{"nothing but null", "~\n", "the document is empty"},
		// What YAML readers do not agree on.
		{"rules twice", "rules: []\nversion: 1\nrules: []\n", ":3:1: policy parse error: duplicate key `rules` on line 3; it was given on line 1"},
		{"a key of a rule twice", "rules:\n  - id: a\n    action: deny\n    action: allow\n", ":4:5: policy parse error: duplicate key `action` on line 4; it was given on line 3"},
		{"an id twice", "rules:\n  - {id: a, action: deny}\n  - {id: a, action: allow}\n", ":3:5: duplicate rule id `a`; it was given on line 2"},
		{"an alias bomb", bomb, ":1:4: policy parse error: anchors are not supported"},
		{"a shared anchor", "rules:\n  - {id: &x a, action: deny}\n", ":2:10: policy parse error: anchors are not supported"},
		{"a merge key", "<<: {default: deny}\n", "merge keys are not supported"},
		{"a tag", rule("tool: !!str 5"), "tags are not supported"},
		{"no", rule("tool: no"), "`no` may be read as a boolean; quote this"},
		{"on", rule("tool: on"), "`on` may be read as a boolean; quote this"},
		{"yes", rule("tool: yes"), "`yes` may be read as a boolean; quote this"},
		{"1e3", rule("tool: 1e3"), "`1e3` may be read as a number; quote this"},
		{"0123456", rule("tool: 0123456"), "`0123456` may be read as a number; quote this"},
		{"074763617300", rule("tool: 074763617300"), "`074763617300` may be read as a number; quote this"},
		{"2026-01-02", rule("tool: 2026-01-02"), "`2026-01-02` may be read as a date; quote this"},
		{"12:30:45", rule("tool: 12:30:45"), "`12:30:45` may be read as a number; quote this"},
		{"null", rule("tool: null"), "`null` may be read as null; quote this"},
		{"~", rule("tool: ~"), "`~` may be read as null; quote this"},
		{"*", rule("tool: *"), `a lone * must be quoted: "*"`},
		{"a tool that was forgotten", rule("tool:"), "`tool` has no value"},
		{"a number beyond a double", rule("limits: {max_wall_ms: 99999999999999999999}"), "`max_wall_ms` is a number from 0 to 18446744073709551615"},
		{"0x10", rule("priority: 0x10"), "plain decimal digits, found `0x10`"},
		{"1_000", rule("priority: 1_000"), "plain decimal digits, found `1_000`"},
		{"two documents", "default: deny\n---\ndefault: allow\n", ":2:1: policy parse error: a second document begins here"},
		{"tabs", "rules:\n\t- id: a\n", "indent with spaces, not tabs"},
		{"UTF-16", "\xff\xfed\x00e\x00", ":1:1: policy parse error: not UTF-8"},
		{"a line nobody sees", "# note\u2028default: allow\n", "the line separator U+2028"},
		{"2 MiB", "default: deny\n" + strings.Repeat("# far too long\n", 1<<17), "the file is larger than 1 MiB"},
		{"a directory", "directory", "policy source read error for `"},
		{"no file", "none", "no such file or directory"},
	} {
		path := w.path("policy.yaml")
		if tc.text == "directory" || tc.text == "none" {
			path = w.path(tc.text)
		} else {
			w.write("policy.yaml", tc.text)
		}
		for _, audit := range []string{"records/", "record.aarl"} {
			began := time.Now()
			code, stdout, stderr := w.run(toolCall("1", "x")+"\n", append([]string{
				"wrap", "--policy", path, "--audit", w.path("") + "/" + audit, "--signing-key", w.path("key"), "--",
			}, serverArgs(0, w.path("started"))...)...)
			if code != 1 || stdout != "" {
				t.Errorf("%s: exit %d, stdout %q", tc.name, code, stdout)
			}
			if !strings.HasPrefix(stderr, "error: could not load policy `"+path+"`: ") || !strings.Contains(stderr, tc.want) {
				t.Errorf("%s: stderr %q, want %q", tc.name, stderr, tc.want)
			}
			if strings.HasPrefix(tc.want, ":") && !strings.Contains(stderr, "policy.yaml"+tc.want) {
				t.Errorf("%s: %q does not name the file before %q", tc.name, stderr, tc.want)
			}
			if d := time.Since(began); d > limit/3 {
				t.Errorf("%s: took %s", tc.name, d)
			}
		}
		for _, made := range []string{"records", "record.aarl", "started"} {
			if _, err := os.Lstat(w.path(made)); err == nil {
				t.Fatalf("%s: %s was made", tc.name, made)
			}
		}
	}
}

// TestAPolicyWithoutRulesIsLawful: it says aloud what it does, and does it.
func TestAPolicyWithoutRulesIsLawful(t *testing.T) {
	for fallback, want := range map[string]string{"deny": `"code":"POLICY_DENIED"`, "allow": `"result":{}`} {
		w := newWorkspace(t)
		w.write("policy.yaml", "\ufeffdefault: "+fallback+"\r\nrules: []\r\n")
		code, stdout, stderr := w.run(toolCall("1", "x")+"\n", w.wrapArgs("policy.yaml", "r.aarl", 0, w.path("log"))...)
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit %d, %q", fallback, code, stdout)
		}
		if !strings.Contains(stderr, "the policy has no rules: every call is "+map[string]string{"deny": "denied", "allow": "allowed"}[fallback]) {
			t.Errorf("%s: %q", fallback, stderr)
		}
	}
}

// TestApprovalIDsOfTwoSessions: they have the documented form and do not repeat
// in a file of two Sessions, which would make the second decision on one of them
// a forgery. A record with them verifies.
func TestApprovalIDsOfTwoSessions(t *testing.T) {
	w := newWorkspace(t)
	w.write("policy.yaml", "default: deny\nrules:\n- {id: ask, action: pending_approval}\n")
	long := strings.Repeat("x", 2000)
	for range 2 {
		w.run(toolCall("1", "publish")+"\n"+toolCall("2", "publish")+"\n"+toolCall("3", "a-1")+"\n"+toolCall("4", long)+"\n",
			w.wrapArgs("policy.yaml", "r.aarl", 0, w.path("log"))...)
	}
	seen := map[string]bool{}
	form := regexp.MustCompile(`^apr-ask-(publish|a-1|x{256}#sha256:[0-9a-f]{64})-([1-4])-[0-9a-f]{16}$`)
	tokens := map[string]bool{}
	for i, o := range w.outcomes("r.aarl") {
		id := o.Policy.ApprovalID
		m := form.FindStringSubmatch(id)
		if o.Policy.Status != aar.PendingApproval || m == nil || m[2] != strconv.Itoa(i%4+1) || seen[id] {
			t.Errorf("outcome %d: %+v", i, o.Policy)
		}
		seen[id] = true
		tokens[id[len(id)-16:]] = true
	}
	if len(seen) != 8 || len(tokens) != 2 || w.read("log") != "" {
		t.Errorf("%d ids, %d sessions, the server got %q", len(seen), len(tokens), w.read("log"))
	}
}

// drawnTools are the tools that the policies and the calls of the tests below
// name: close to each other, and hard on whoever confuses them.
var drawnTools = []string{"a", "b", "A", "a ", "", "*", "<unknown>", "caf\u00e9", "cafe\u0301", "a\x00", strings.Repeat("x", 1025), strings.Repeat("x", 1024)}

var drawnPolicy = rapid.Custom(func(t *rapid.T) string {
	var b strings.Builder
	fmt.Fprintf(&b, "default: %s\nrules:\n", rapid.SampledFrom([]string{"allow", "deny"}).Draw(t, "default"))
	for i := range rapid.IntRange(1, 6).Draw(t, "rules") {
		action := rapid.SampledFrom([]string{"allow", "deny", "rate_limit", "pending_approval"}).Draw(t, "action")
		fmt.Fprintf(&b, "- {id: r%d, action: %s, priority: %d", i, action, rapid.IntRange(-1, 1).Draw(t, "priority"))
		if tool := rapid.SampledFrom(drawnTools).Draw(t, "tool"); tool != "*" {
			fmt.Fprintf(&b, `, tool: %q`, tool)
		}
		if action == "rate_limit" {
			b.WriteString(", rate: {max: 2, per_seconds: 3600}")
		}
		if rapid.IntRange(0, 9).Draw(t, "role") == 0 {
			b.WriteString(", role: ops")
		}
		b.WriteString("}\n")
	}
	return b.String()
})

var drawnSession = rapid.Custom(func(t *rapid.T) string {
	var b strings.Builder
	one := func() string {
		name, err := json.Marshal(rapid.SampledFrom(drawnTools).Draw(t, "tool"))
		if err != nil {
			t.Fatal(err)
		}
		id := rapid.SampledFrom([]string{`"id":1,`, `"id":"1",`, `"id":2.0,`, ``}).Draw(t, "id")
		return `{` + id + `"method":"tools/call","params":{"name":` + string(name) + `}}`
	}
	for range rapid.IntRange(1, 30).Draw(t, "frames") {
		switch rapid.IntRange(0, 5).Draw(t, "frame") {
		case 0:
			b.WriteString("[" + one() + "," + one() + "]\n")
		case 1:
			b.WriteString(rapid.SampledFrom([]string{
				`{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`, `{"id":1,"method":"tools/call"}`, "words", `{"id":3,"method":"ping"}`,
			}).Draw(t, "other") + "\n")
		default:
			b.WriteString(one() + "\n")
		}
	}
	return b.String()
})

// TestRecheckAgreesWithWrap: a session that wrap recorded is, rechecked under
// the policy it ran with, unchanged call for call; what a rate_limit rule decides
// no record can tell. Under another policy the answer is that policy's.
func TestRecheckAgreesWithWrap(t *testing.T) {
	w := newWorkspace(t)
	for seed := range 25 {
		record := fmt.Sprintf("%d.aarl", seed)
		w.write("policy.yaml", drawnPolicy.Example(seed))
		w.write("other.yaml", drawnPolicy.Example(1000+seed))
		if code, _, stderr := w.run(drawnSession.Example(seed), w.wrapArgs("policy.yaml", record, 0, w.path("log"))...); code != 0 {
			t.Fatalf("seed %d: exit %d: %s", seed, code, stderr)
		}
		outcomes := w.outcomes(record)
		for _, name := range []string{"policy.yaml", "other.yaml"} {
			set, err := policy.Load(w.path(name))
			if err != nil {
				t.Fatal(err)
			}
			var want strings.Builder
			code := 0
			for _, o := range outcomes {
				clause := recheckedBy(set, o)
				if name == "policy.yaml" && !strings.HasPrefix(clause, "indeterminate rate") && clause != "unchanged "+string(o.Policy.Status) {
					t.Errorf("seed %d: %s under the policy it ran with: %s", seed, o.CallID, clause)
				}
				if name == "policy.yaml" && o.PolicySetHash != set.Hash() {
					t.Errorf("seed %d: %s ran under %s", seed, o.CallID, o.PolicySetHash)
				}
				fmt.Fprintf(&want, "call %s session 0 seq %d: %s\n", o.CallID, o.Seq, clause)
				switch {
				case strings.HasPrefix(clause, "indeterminate"):
					code = 3
				case !strings.HasPrefix(clause, "unchanged"):
					code = max(code, 1)
				}
			}
			got, stdout, stderr := w.run("", "recheck", "--policy", w.path(name), w.path(record))
			if got != code || stdout != want.String() || stderr != "" {
				t.Errorf("seed %d, %s: exit %d, want %d\n%s%s\nwant\n%s\n%s", seed, name, got, code, stdout, stderr, want.String(), w.read(name))
			}
		}
	}
}

// recheckedBy is the specification of recheck for records of wrap, where one tool
// has a name that is recorded in a shorter form.
func recheckedBy(set *policy.Set, o *aar.Outcome) string {
	was := string(o.Policy.Status)
	blocked := was == "denied" || was == "rate_limited"
	if strings.HasPrefix(o.Policy.Reason, "ambiguous frame: ") {
		return "unchanged denied"
	}
	tool := o.ToolID
	if strings.Contains(tool, "#sha256:") {
		tool = strings.Repeat("x", 1025)
	}
	switch set.Evaluate(policy.Request{Tool: tool}).Action {
	case policy.RateLimit:
		return "indeterminate rate_limit_unevaluable"
	case policy.Allow:
		if was != "allowed" {
			return "newly_allowed was=" + was + " now=allowed"
		}
	case policy.Deny:
		if !blocked {
			return "newly_blocked was=" + was + " now=denied"
		}
	case policy.PendApproval:
		if was != "pending_approval" {
			return "newly_parked was=" + was
		}
	}
	return "unchanged " + was
}

// TestQuotaSurvivesReload: a reload must not hand out fresh quota, and neither
// must a rule that is widened and narrowed again.
func TestQuotaSurvivesReload(t *testing.T) {
	w := newWorkspace(t)
	rate := func(n int, more string) string {
		return fmt.Sprintf("default: deny\nrules:\n- {id: slow, action: rate_limit, tool: t, rate: {max: %d, per_seconds: 3600}}\n%s", n, more)
	}
	w.write("policy.yaml", rate(3, ""))
	var told strings.Builder
	g, err := newGate(gateFlags{policy: w.path("policy.yaml")}, func(format string, a ...any) { fmt.Fprintf(&told, format+"\n", a...) })
	if err != nil {
		t.Fatal(err)
	}
	decide := func() policy.Verdict {
		var v [1]policy.Verdict
		g.engine.Decide([]policy.Request{{Tool: "t"}}, v[:])
		return v[0]
	}
	admitted := 0
	for i, text := range []string{rate(3, ""), rate(3, "# again\n"), rate(3, "- {id: b, action: allow, tool: b}\n"), "defualt: deny\n", rate(4, ""), rate(3, ""), rate(2, "")} {
		w.write("policy.yaml", text)
		told.Reset()
		g.reload()
		if bad := strings.HasPrefix(text, "defualt"); bad != strings.Contains(told.String(), "policy not reloaded") || bad == strings.Contains(told.String(), "policy reloaded: ") {
			t.Errorf("%d: %q", i, told.String())
		}
		if decide().Status == policy.Allowed {
			admitted++
		}
	}
	if admitted != 4 {
		t.Errorf("%d calls were admitted, want 3 and the one that max: 4 added", admitted)
	}
}

// TestReloadTellsBothSets: what was, what is, and the hash that the record will
// carry from now on; of a set that does not load, where the fault is.
func TestReloadTellsBothSets(t *testing.T) {
	w := newWorkspace(t)
	w.write("policy.yaml", "default: deny\nrules: []\n")
	var told strings.Builder
	g, err := newGate(gateFlags{policy: w.path("policy.yaml")}, func(format string, a ...any) { fmt.Fprintf(&told, format+"\n", a...) })
	if err != nil {
		t.Fatal(err)
	}
	first := g.engine.Set()
	w.write("policy.yaml", "default: allow\nrules: [{id: a, action: deny, tool: x}]\n")
	g.reload()
	second := g.engine.Set()
	if want := fmt.Sprintf("policy reloaded: %s replaces %s; policy_set_hash %s\n", second.Fingerprint(), first.Fingerprint(), second.Hash()); told.String() != want {
		t.Errorf("%q, want %q", told.String(), want)
	}
	w.write("policy.yaml", "default: allow\nrules: [{id: a, action: deny, tol: x}]\n")
	told.Reset()
	g.reload()
	if want := fmt.Sprintf("policy not reloaded, %s stays in force: %s:2:31: policy parse error: unknown key `tol` in a rule; did you mean `tool`?\n", second.Fingerprint(), w.path("policy.yaml")); told.String() != want || g.engine.Set() != second {
		t.Errorf("%q, want %q", told.String(), want)
	}
}
