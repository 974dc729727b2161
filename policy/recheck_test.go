package policy_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/policy"
)

func recheck(t testing.TB, s *policy.Set, record string) (stdout string, notes []string, tally policy.Tally) {
	t.Helper()
	var b strings.Builder
	tally, err := policy.Recheck(strings.NewReader(record), s, func(r *policy.Rechecked) error {
		fmt.Fprintf(&b, "call %s session %d seq %d: %s\n", r.CallID, r.Session, r.Seq, r.Clause())
		return nil
	}, func(n policy.Note) { notes = append(notes, fmt.Sprintf("line %d %s", n.Line, n.Msg)) })
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), notes, tally
}

func exit(tally policy.Tally) int {
	switch {
	case tally.Of(policy.Indeterminate) > 0:
		return 3
	case tally.Changed() > 0:
		return 1
	}
	return 0
}

// TestRecheckVectors walks the published records and policies.
func TestRecheckVectors(t *testing.T) {
	expected, err := os.ReadFile("testdata/recheck/expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(expected), "== ")[1:]
	if len(blocks) != 18 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, block := range blocks {
		title, want, _ := strings.Cut(block, "\n")
		policyFile, recordFile, _ := strings.Cut(title, " x ")
		record, err := os.ReadFile(filepath.Join("testdata/recheck", recordFile))
		if err != nil {
			t.Fatal(err)
		}
		s, err := policy.Load(filepath.Join("testdata/recheck", policyFile))
		if err != nil {
			if want != "error: policy …\nexit 2\n" {
				t.Errorf("%s: %v", title, err)
			}
			continue
		}
		stdout, _, tally := recheck(t, s, string(record))
		if got := fmt.Sprintf("%sexit %d\n", stdout, exit(tally)); got != want {
			t.Errorf("%s:\ngot\n%swant\n%s", title, got, want)
		}
	}
}

const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

func outcome(members string) string {
	return `{"line_type":"outcome","schema_version":2,"seq":1,"prev_hash":"` + zeros + `","request_digest":"` + zeros + `",` + members + "}\n"
}

// call is an outcome with what recheck reads: tool, verdict and axes.
func call(tool, verdict, axes string) string {
	return outcome(`"call_id":"c","tool_id":"` + tool + `","policy_set_hash":"` + zeros + `","policy":` + verdict +
		`,"capability":{"status":"denied","reason":"not evaluated"},"execution":{"status":"success"},"decision_axes":{` + axes + `}`)
}

const (
	wasAllowed = `{"status":"allowed"}`
	wasDenied  = `{"status":"denied","reason":"r"}`
	wasLimited = `{"status":"rate_limited","reason":"r"}`
	wasParked  = `{"status":"pending_approval","approval_id":"apr-a-x-1"}`
)

// TestRecheckTable holds every pair of a recorded and a new verdict.
func TestRecheckTable(t *testing.T) {
	allow, deny := mustParse(t, "default: allow"), mustParse(t, "default: deny")
	park := mustParse(t, "rules: [{id: a, action: pending_approval}]")
	rate := mustParse(t, "rules: [{id: a, action: rate_limit, rate: {max: 1, per_seconds: 1}}]")
	for _, c := range []struct {
		was  string
		set  *policy.Set
		want string
	}{
		{wasAllowed, allow, "unchanged allowed"}, {wasAllowed, deny, "newly_blocked was=allowed now=denied"}, {wasAllowed, park, "newly_parked was=allowed"}, {wasAllowed, rate, "indeterminate rate_limit_unevaluable"},
		{wasDenied, allow, "newly_allowed was=denied now=allowed"}, {wasDenied, deny, "unchanged denied"}, {wasDenied, park, "newly_parked was=denied"}, {wasDenied, rate, "indeterminate rate_limit_unevaluable"},
		{wasLimited, allow, "newly_allowed was=rate_limited now=allowed"}, {wasLimited, deny, "unchanged rate_limited"}, {wasLimited, park, "newly_parked was=rate_limited"}, {wasLimited, rate, "indeterminate rate_limit_unevaluable"},
		{wasParked, allow, "newly_allowed was=pending_approval now=allowed"}, {wasParked, deny, "newly_blocked was=pending_approval now=denied"}, {wasParked, park, "unchanged pending_approval"}, {wasParked, rate, "indeterminate rate_limit_unevaluable"},
	} {
		got, notes, _ := recheck(t, c.set, call("x", c.was, ""))
		if want := "call c session 0 seq 1: " + c.want + "\n"; got != want || notes != nil {
			t.Errorf("%s: got %swant %s%v", c.was, got, want, notes)
		}
	}
}

// TestRecheckAxes: the recorded axes are asserted again, and an axis that was
// not recorded is not.
func TestRecheckAxes(t *testing.T) {
	s := mustParse(t, "rules: [{id: a, action: deny, role: ops, capability: fs.read}, {id: b, action: deny, role: ''}]")
	for axes, want := range map[string]string{
		`"role":"ops","capability":"fs.read"`:           "newly_blocked was=allowed now=denied",
		`"role":"\u006fps","c\u0061pability":"fs.read"`: "newly_blocked was=allowed now=denied",
		`"role":"ops"`:                        "unchanged allowed",
		`"Role":"ops","Capability":"fs.read"`: "unchanged allowed", // names are exact
		`"role":""`:                           "newly_blocked was=allowed now=denied",
		``:                                    "unchanged allowed",
		`"role":7`:                            "indeterminate no_binding",
		`"role":null`:                         "indeterminate no_binding",
		`"fs":{"path_raw":"a","path_canonical":"b"},"net":{}`: "unchanged allowed",
		`"derived":[{"axis":"fs.read"}]`:                      "unchanged allowed",
	} {
		got, _, _ := recheck(t, s, call("x", wasAllowed, axes))
		if !strings.HasSuffix(got, ": "+want+"\n") {
			t.Errorf("%s: got %swant %s", axes, got, want)
		}
	}
}

// TestRecheckResumed: a Call that ran because a human approved it would be
// parked and approved again.
func TestRecheckResumed(t *testing.T) {
	park := mustParse(t, "rules: [{id: a, action: pending_approval}]")
	if got, _, _ := recheck(t, park, call("x", wasAllowed, `"approval_ref":"apr-a-x-1"`)); !strings.Contains(got, "unchanged allowed") {
		t.Error(got)
	}
	if got, _, _ := recheck(t, mustParse(t, "default: deny"), call("x", wasAllowed, `"approval_ref":"apr-a-x-1"`)); !strings.Contains(got, "newly_blocked") {
		t.Error(got)
	}
}

// TestRecheckNoTool: a frame that was recorded without a tool is refused under
// any policy; a tool that happens to have that name is judged by the rules.
func TestRecheckNoTool(t *testing.T) {
	const passThrough = "7b30695c7a4df1b6a226bdd591c6d75b9917bb3af078af2d01be295e4df96974"
	unasked := func(line string) string {
		return strings.Replace(line, `"policy_set_hash":"`+zeros, `"policy_set_hash":"`+passThrough, 1)
	}
	for _, c := range []struct{ line, want string }{
		{unasked(call("<unknown>", wasDenied, "")), "unchanged denied"},
		{unasked(call("<unknown>", wasAllowed, "")), "newly_blocked was=allowed now=denied"}, // forwarded unread where nothing was enforced
		{unasked(call("x", wasAllowed, "")), "unchanged allowed"},
		{call("<unknown>", `{"status":"denied","reason":"ambiguous frame: raw CR"}`, ""), "unchanged denied"},
		{call("<unknown>", `{"status":"denied","reason":"no matching rule (default deny)"}`, ""), "newly_allowed was=denied now=allowed"},
		{call("<unknown>", wasDenied, `"matched_rule":"r"`), "newly_allowed was=denied now=allowed"},
		{call("<unknown>", wasAllowed, ""), "unchanged allowed"},
	} {
		if got, _, _ := recheck(t, policy.AllowAll(), c.line); !strings.HasSuffix(got, ": "+c.want+"\n") {
			t.Errorf("%s: got %swant %s", c.line, got, c.want)
		}
	}
}

// TestRecheckOddLines holds what is passed over, what is named, and what must
// never read as unchanged.
func TestRecheckOddLines(t *testing.T) {
	good := call("x", wasAllowed, "")
	for _, c := range []struct{ name, record, want, note string }{
		{"nothing", "", "", ""},
		{"blank lines", "\n  \n\r\n" + good, "call c session 0 seq 1: unchanged allowed\n", ""},
		{"not JSON", "{oops\n" + good, "call c session 0 seq 1: unchanged allowed\n", "line 1 is not JSON, skipped"},
		{"trailing bytes", strings.TrimSpace(good) + " x\n", "", "line 1 is not JSON, skipped"},
		{"torn", good + good[:40], "call c session 0 seq 1: unchanged allowed\n", "line 2 is not JSON, skipped"},
		{"torn in a character", good + "{\"a\":\"\xc3", "call c session 0 seq 1: unchanged allowed\n", "line 2 is not JSON, skipped"},
		{"no line feed", strings.TrimSpace(good), "call c session 0 seq 1: unchanged allowed\n", ""},
		{"other values", "1\n[]\n\"outcome\"\nnull\n{}\n", "", ""},
		{"sessions", `{"line_type":"open"}` + "\n" + good + `{"line_type":"open"}` + "\n" + good, "call c session 0 seq 1: unchanged allowed\ncall c session 1 seq 1: unchanged allowed\n", ""},
		{"later schema", `{"line_type":"outcome","schema_version":3,"call_id":"n","new":true}` + "\n", "call n session 0 seq 0: indeterminate unknown_policy_set_hash\n", ""},
		{"schema 2.0", `{"line_type":"outcome","schema_version":2.0}` + "\n", "call - session 0 seq 0: indeterminate unknown_policy_set_hash\n", ""},
		{"schema text", `{"line_type":"outcome","schema_version":"2"}` + "\n", "call - session 0 seq 0: indeterminate no_binding\n", "line 1 is not a readable outcome record: unreadable `schema_version`"},
		{"missing member", strings.Replace(good, `"tool_id"`, `"tool"`, 1), "call c session 0 seq 1: indeterminate no_binding\n", "line 1 is not a readable outcome record: missing `tool_id`"},
		{"folded member", strings.Replace(good, `"tool_id"`, `"Tool_ID"`, 1), "call c session 0 seq 1: indeterminate no_binding\n", "missing `tool_id`"},
		{"unknown verdict", call("x", `{"status":"maybe"}`, ""), "call c session 0 seq 1: indeterminate no_binding\n", "unreadable `policy`"},
		{"verdict without reason", call("x", `{"status":"denied"}`, ""), "call c session 0 seq 1: indeterminate no_binding\n", "unreadable `policy`"},
		{"bad digest", strings.Replace(good, zeros, zeros[:63]+"F", 1), "call c session 0 seq 1: indeterminate no_binding\n", "unreadable `prev_hash`"},
		{"seq", strings.Replace(good, `"seq":1`, `"seq":-1`, 1), "call c session 0 seq 0: indeterminate no_binding\n", "unreadable `seq`"},
		{"two tools", strings.Replace(good, `"tool_id":"x"`, `"tool_id":"y","tool_id":"x"`, 1), "call c session 0 seq 1: indeterminate no_binding\n", "duplicate"},
		{"two tools, escaped", strings.Replace(good, `"tool_id":"x"`, `"tool_id":"y","tool\u005fid":"x"`, 1), "call c session 0 seq 1: indeterminate no_binding\n", "duplicate"},
		{"two verdicts", call("x", `{"status":"denied","reason":"","status":"allowed"}`, ""), "call c session 0 seq 1: indeterminate no_binding\n", "duplicate"},
		{"hidden outcome", strings.Replace(good, `"line_type":"outcome"`, `"line_type":"outcome","line_type":"intent"`, 1), "call c session 0 seq 1: indeterminate no_binding\n", "duplicate"},
		{"half a surrogate", call(`\ud800`, wasAllowed, ""), "call c session 0 seq 1: indeterminate no_binding\n", "surrogate"},
	} {
		got, notes, _ := recheck(t, policy.AllowAll(), c.record)
		if got != c.want {
			t.Errorf("%s:\ngot\n%swant\n%s", c.name, got, c.want)
		}
		if all := strings.Join(notes, "\n"); (c.note == "") != (all == "") || !strings.Contains(all, c.note) {
			t.Errorf("%s: notes %q, want %q", c.name, all, c.note)
		}
	}
}

func TestCheckRecord(t *testing.T) {
	for record, want := range map[string]string{
		"":                  "",
		"{}\n{}":            "",
		"{}\n\xff\n{}\n":    "line 2 is not UTF-8",
		"{}\n{\"a\":\"\xc3": "", // torn in a character
		"\n" + strings.Repeat("x", 17<<20) + "\n": "line 2 is longer than 16777216 bytes",
	} {
		err := policy.CheckRecord(strings.NewReader(record))
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%.20q: %v, want %q", record, err, want)
		}
	}
}

func TestRecheckStops(t *testing.T) {
	stop := errors.New("stop")
	_, err := policy.Recheck(strings.NewReader(call("x", wasAllowed, "")), policy.AllowAll(), func(*policy.Rechecked) error { return stop }, nil)
	if !errors.Is(err, stop) {
		t.Error(err)
	}
	_, err = policy.Recheck(io.MultiReader(strings.NewReader("{}\n"), failing{stop}), policy.AllowAll(), nil, nil)
	if !errors.Is(err, stop) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// FuzzRecheck: no record panics, and every answer is one of the written ones.
func FuzzRecheck(f *testing.F) {
	record, err := os.ReadFile("testdata/recheck/session.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(record)
	for line := range bytes.Lines(record) {
		f.Add(line)
	}
	f.Add([]byte(call("x", wasParked, `"role":"\ud83d\ude00"`)))
	for _, derived := range []string{`[]`, `null`, `[{"axis":"fs.read","arg":"/path","path_raw":"~/a","path":"/a","resolved":"at-decision"},{"axis":"net","arg":"/l/0/url","host":"127.1","port":0}]`,
		`[{"axis":"exec","words":[],"metachar":true},{"axis":"sql","kinds":["UNKNOWN"],"stacked":true},{"truncated":true},{"axis":"net","redacted":true}]`} {
		f.Add([]byte(call("t", wasAllowed, `"derived":`+derived)))
	}
	set, err := policy.Load("testdata/policy_yaml/seed-dreamd-policy.yaml")
	if err != nil {
		f.Fatal(err)
	}
	arguments := mustParse(f, argumentPolicy+"bindings: {t: {arguments: [{arg: path, axis: fs.read}], other: [x]}}\n")
	f.Fuzz(func(t *testing.T, record []byte) {
		for _, s := range []*policy.Set{set, arguments} {
			var answers int
			tally, err := policy.Recheck(bytes.NewReader(record), s, func(r *policy.Rechecked) error {
				answers++
				if (r.Why == "") != (r.Change != policy.Indeterminate) {
					t.Fatalf("%+v", r)
				}
				return nil
			}, func(policy.Note) {})
			if err != nil || tally.Calls() != answers {
				t.Fatalf("%v, %d of %d", err, answers, tally.Calls())
			}
		}
	})
}

// TestRecheckMemoryIsFlat rechecks a record of some 60 MB that is never held.
func TestRecheckMemoryIsFlat(t *testing.T) {
	line := []byte(call("x", wasAllowed, `"role":"ops"`))
	const calls = 100_000
	r, w := io.Pipe()
	go func() {
		for range calls {
			w.Write(line)
		}
		w.Close()
	}()
	var most, stats = uint64(0), runtime.MemStats{}
	n := 0
	tally, err := policy.Recheck(r, policy.AllowAll(), func(*policy.Rechecked) error {
		if n++; n%10_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
		}
		return nil
	}, func(n policy.Note) { t.Error(n) })
	if err != nil || tally.Of(policy.Unchanged) != calls {
		t.Fatalf("%v, %+v", err, tally)
	}
	if most > 32<<20 {
		t.Errorf("%d bytes of heap", most)
	}
}
