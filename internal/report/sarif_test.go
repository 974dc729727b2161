package report

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var testRules = []Rule{
	{ID: "WRD-RES-ANSI", Short: "Control characters in a result.", Help: "Ask the author.", Severity: High},
	{ID: "WRD-RES-SECRET-ECHO", Short: "A secret in a result.", Help: "Rotate it.", Severity: Critical},
	{ID: "WRD-RES-INJECT-PHRASE", Short: "A phrase of the list.", Help: "Read it.", Severity: Medium},
	{ID: "WRD-RES-URL", Short: "A URL.", Help: "Declare it.", Severity: Low},
}

func ansi(id int) Finding {
	return Finding{
		RuleID: "WRD-RES-ANSI", Severity: High, Tier: "block", Action: Modified, Direction: "s2c",
		RPCID: fmt.Append(nil, id), Tool: "show", Block: new(0), Message: "tools/show: 2 disallowed control characters (U+001B, U+0007)",
	}
}

// write makes a document of findings and returns it.
func write(t *testing.T, o Options, findings ...Finding) []byte {
	t.Helper()
	o.Rules = testRules
	return writeFile(t, o, findings...)
}

func writeFile(t *testing.T, o Options, findings ...Finding) []byte {
	t.Helper()
	o.SARIF = filepath.Join(t.TempDir(), "out.sarif")
	o.Version = "1.2.3"
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		s.Report(f)
	}
	if err := s.Close(Summary{Frames: 7}); err != nil {
		t.Fatal(err)
	}
	return read(t, o.SARIF)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSARIFWithoutFindingsIsARun(t *testing.T) {
	t.Parallel()
	log := validSARIF(t, write(t, Options{}))
	run := log.Runs[0]
	if len(run.Results) != 0 || !run.Invocations[0].ExecutionSuccessful || run.Tool.Driver.Name != "aegis" || run.Tool.Driver.Version != "1.2.3" {
		t.Errorf("%+v", run)
	}
	if run.Properties["frames_inspected"] != 7.0 {
		t.Errorf("properties %v", run.Properties)
	}
	scores := ""
	for _, r := range run.Tool.Driver.Rules {
		if r.Help.Text == "" {
			t.Errorf("%s has no help", r.ID)
		}
		scores += fmt.Sprint(r.ID, " ", r.DefaultConfiguration.Level, " ", r.Properties["security-severity"], "\n")
	}
	if want := "WRD-RES-ANSI error 8.0\nWRD-RES-SECRET-ECHO error 9.5\nWRD-RES-INJECT-PHRASE warning 5.5\nWRD-RES-URL note 2.0\n"; scores != want {
		t.Errorf("rules:\n%s", scores)
	}
}

func TestSARIFResult(t *testing.T) {
	t.Parallel()
	f := Finding{
		RuleID: "WRD-RES-SECRET-ECHO", SubRule: "WRD-SEC-GITHUB", Severity: Critical, Tier: "block", Action: Blocked, Direction: "s2c",
		RPCID: []byte(`"a\u0062"`), Tool: "read", Pointer: "/result/structuredContent/x", Message: "a token", Snippet: "ghp_…(len=40)",
		Matched: []string{"you are now"}, File: "trace.jsonl", Line: 12,
	}
	r := validSARIF(t, write(t, Options{}, f)).Runs[0].Results[0]
	if r.RuleID != f.RuleID || *r.RuleIndex != 1 || r.Level != "error" || r.Message.Text != "a token" {
		t.Errorf("%+v", r)
	}
	place := r.Locations[0]
	if uri := place.PhysicalLocation.ArtifactLocation.URI; uri != "internal/report/trace.jsonl" && uri != "trace.jsonl" {
		t.Errorf("uri %q", uri)
	}
	if place.PhysicalLocation.Region.StartLine != 12 || place.LogicalLocations[0].FullyQualifiedName != "tools/read/result/structuredContent/x" {
		t.Errorf("place %+v", place)
	}
	want := map[string]any{
		"kind": "result-finding", "sub_rule": "WRD-SEC-GITHUB", "severity": "critical", "tier": "block", "action": "blocked", "direction": "s2c",
		"rpc_id": "ab", "tool": "read", "pointer": "/result/structuredContent/x", "snippet": "ghp_…(len=40)", "matched_phrases": []any{"you are now"},
	}
	if fmt.Sprint(r.Properties) != fmt.Sprint(want) {
		t.Errorf("properties %v, want %v", r.Properties, want)
	}
}

// A run that could not go on says so, and why.
func TestFailedRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options{JSON: filepath.Join(dir, "x.jsonl"), SARIF: filepath.Join(dir, "x.sarif"), Rules: testRules}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Report(ansi(1))
	if err := s.Close(Summary{Frames: 1, Failure: "line 4: no JSON value", Dropped: 5}); err != nil {
		t.Fatal(err)
	}
	run := validSARIF(t, read(t, o.SARIF)).Runs[0]
	told := run.Invocations[0].ToolExecutionNotifications
	if run.Invocations[0].ExecutionSuccessful || len(told) != 2 || told[1].Message.Text != "Answers had 5 findings more than are told of one answer." || told[0].Message.Text != "The run ended before its time: line 4: no JSON value" {
		t.Errorf("%+v", run.Invocations)
	}
	if !strings.Contains(string(read(t, o.JSON)), `{"kind":"run-summary","frames_inspected":1,"failure":"line 4: no JSON value","findings":1,`) || !strings.Contains(string(read(t, o.JSON)), `"findings_dropped":5}`) {
		t.Errorf("%s", read(t, o.JSON))
	}
}

// A rule that was not announced still gives a result that is taken.
func TestSARIFUnknownRule(t *testing.T) {
	t.Parallel()
	r := validSARIF(t, write(t, Options{}, Finding{RuleID: "POL-OTHER", Severity: Low})).Runs[0].Results[0]
	if r.RuleID != "POL-OTHER" || r.RuleIndex != nil || r.Level != "note" || r.Message.Text != "POL-OTHER" {
		t.Errorf("%+v", r)
	}
}

// The fingerprints are of what was found where; order, time, ids, messages and
// the file's name have no part in it.
func TestFingerprintsAreStable(t *testing.T) {
	t.Parallel()
	one, two := ansi(1), ansi(2)
	other := ansi(3)
	other.Tool = "list"
	prints := func(subject string, findings ...Finding) map[string]bool {
		out := map[string]bool{}
		for _, r := range validSARIF(t, write(t, Options{Subject: subject}, findings...)).Runs[0].Results {
			out[r.PartialFingerprints["primaryLocationLineHash"]] = true
		}
		return out
	}
	first := prints("a.json", one, two, other)
	one.RPCID, one.Message, one.Action = []byte(`"x"`), "other words", Shadowed
	again := prints("b.json", other, two, one)
	if len(first) != 3 || fmt.Sprint(first) != fmt.Sprint(again) {
		t.Errorf("%v\n%v", first, again)
	}
}

func TestRelativeURI(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	in := func(elem ...string) string { return filepath.Join(append([]string{root}, elem...)...) }
	for _, c := range []struct{ path, want string }{
		{"", NoSubject},
		{in("warden.lock"), "warden.lock"},
		{in("a b", "50%#1?.lock"), "a%20b/50%25%231%3F.lock"},
		{in("é", "工.lock"), "%C3%A9/%E5%B7%A5.lock"},
		{in("git:x"), "git%3Ax"},
		{in("\x1b[2J\u202e"), "%1B%5B2J%E2%80%AE"},
		{filepath.Join(filepath.Dir(root), "elsewhere", "secret-place.lock"), "secret-place.lock"},
		{root, filepath.Base(root)},
		{string(filepath.Separator), NoSubject},
	} {
		if got := relativeURI(c.path, root); got != c.want {
			t.Errorf("relativeURI(%q) = %q, want %q", c.path, got, c.want)
		}
	}
	checkURI(t, relativeURI(in(strings.Repeat("長い/", 100), "名前.lock"), root))
}

func TestURIIsOfTheCheckout(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".git", "sub"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(root, "sub"))
	for path, want := range map[string]string{"warden.lock": "sub/warden.lock", "../top.lock": "top.lock", filepath.Join(root, "sub", "x"): "sub/x"} {
		if got := relativeURI(path, sourceRoot()); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}

// worst is a finding whose every text is over its bound in the dearest script.
func worst() Finding {
	long := strings.Repeat("\x1b\U000e0041\"", 10_000)
	return Finding{
		Kind: long, RuleID: long, SubRule: long, Severity: long, Level: "error", Tier: long, Action: Action(long), Direction: long,
		RPCID: []byte(`"` + strings.Repeat("x", 60_000) + `"`), Tool: long, Block: new(1 << 62), Pointer: long, Message: long, Snippet: long,
		Matched: slicesOf(long, 100), DriftClass: long, Target: long, File: long, Line: 1 << 62,
	}
}

func slicesOf(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

func TestResultFitsABlock(t *testing.T) {
	t.Parallel()
	f := worst()
	s := &SARIF{rules: map[string]int{f.RuleID: 1 << 62}, root: "/"}
	if n := len(s.appendResult([]byte(",\n"), &f)); n > blockSize {
		t.Errorf("%d bytes", n)
	}
	s.skipped = 1 << 62
	sum := Summary{Frames: 1 << 62, Failure: f.Message, Dropped: 1 << 62}
	if n := max(len(s.suffix(nil, nil)), len(s.suffix(&sum, new(newTally())))); n > blockSize {
		t.Errorf("suffix of %d bytes", n)
	}
	validSARIF(t, write(t, Options{}, f))
}

// Whatever the texts are, the document is valid and may be shown on a terminal.
func TestHostileTextStaysInItsString(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.String(),
			rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) }),
			rapid.SampledFrom([]string{"\x1b[2J", "\u202e", "</script>", `"}]}`, "\u2028", "[a](https://evil.example)", "{0}"}),
		)
		f := Finding{
			RuleID: "WRD-RES-ANSI", Severity: High, Message: text.Draw(t, "message"), Tool: text.Draw(t, "tool"), Pointer: text.Draw(t, "pointer"),
			Snippet: text.Draw(t, "snippet"), Matched: []string{text.Draw(t, "phrase")}, RPCID: []byte(text.Draw(t, "id")), Target: text.Draw(t, "target"),
		}
		path := filepath.Join(dir, "x")
		s, err := Open(Options{JSON: path + ".jsonl", SARIF: path + ".sarif", Rules: testRules})
		if err != nil {
			t.Fatal(err)
		}
		s.Report(f)
		if err := s.Close(Summary{}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{".jsonl", ".sarif"} {
			out, err := os.ReadFile(path + name)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range string(out) {
				if unsafeRune(r) && r != '\n' {
					t.Fatalf("%s holds %U", name, r)
				}
			}
			for line := range bytes.Lines(out) {
				if name == ".jsonl" && !json.Valid(line) {
					t.Fatalf("%q is not JSON", line)
				}
			}
		}
		var log sarifLog
		out, _ := os.ReadFile(path + ".sarif")
		if err := json.Unmarshal(out, &log); err != nil {
			t.Fatal(err)
		}
		if m := log.Runs[0].Results[0].Message.Text; strings.Contains(m, "](") {
			t.Fatalf("a link in %q", m)
		}
		if got := log.Runs[0].Results[0].Properties["tool"]; len(f.Tool) < 20 && utf8.ValidString(f.Tool) && f.Tool != "" && got != f.Tool {
			t.Fatalf("tool %q became %q", f.Tool, got)
		}
	})
}

// At the bound of results the document stops, says so, and one note is told.
func TestSARIFIsBounded(t *testing.T) {
	t.Parallel()
	var notes []string
	path := filepath.Join(t.TempDir(), "out.sarif")
	s, err := Open(Options{SARIF: path, Rules: testRules, Note: func(n string) { notes = append(notes, n) }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range MaxResults + 5000 {
		s.Report(ansi(i))
	}
	live := validJSON(t, read(t, path))
	if err := s.Close(Summary{}); err != nil {
		t.Fatal(err)
	}
	log := validJSON(t, read(t, path))
	if n := len(log.Runs[0].Results); n != MaxResults || len(live.Runs[0].Results) != n {
		t.Errorf("%d results, %d before the end", n, len(live.Runs[0].Results))
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "25000 results") {
		t.Errorf("notes %q", notes)
	}
	told := log.Runs[0].Invocations[0].ToolExecutionNotifications
	if len(told) != 1 || told[0].Message.Text != "The first 25000 findings are results; 5000 more are not." {
		t.Errorf("notifications %v", told)
	}
	if log.Runs[0].Properties["findings"] != 30_000.0 {
		t.Errorf("properties %v", log.Runs[0].Properties)
	}
	if n := len(live.Runs[0].Invocations[0].ToolExecutionNotifications); n != 2 {
		t.Errorf("%d notifications while the run goes on", n)
	}
}

// validJSON is validSARIF without the schema, which is slow on long documents.
func validJSON(t *testing.T, text []byte) (log sarifLog) {
	t.Helper()
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatalf("%v; ends with %q", err, text[max(0, len(text)-80):])
	}
	return log
}

// Between any two findings the file is a valid document of all before, that does
// not claim to be all there is.
func TestSARIFIsWholeAtAnyTime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out.sarif")
	s, err := Open(Options{SARIF: path, Rules: testRules})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		run := validJSON(t, read(t, path)).Runs[0]
		if len(run.Results) != i || run.Invocations[0].ExecutionSuccessful {
			t.Fatalf("%d results after %d findings, successful %t", len(run.Results), i, run.Invocations[0].ExecutionSuccessful)
		}
		f := ansi(i)
		f.Message = strings.Repeat("x", i*7%1500)
		s.Report(f)
	}
	if err := s.Close(Summary{}); err != nil {
		t.Fatal(err)
	}
	validSARIF(t, read(t, path))
}

const killedWriter = "AEGIS_TEST_KILLED_WRITER"

// TestMain is also the writer that TestSARIFSurvivesAKill kills: it writes
// findings for ever and a byte on stdout for each.
func TestMain(m *testing.M) {
	path := os.Getenv(killedWriter)
	if path == "" {
		os.Exit(m.Run())
	}
	s, err := Open(Options{SARIF: path, Rules: testRules})
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		f := ansi(i)
		f.Message = strings.Repeat("x", i*37%900)
		s.Report(f)
		os.Stdout.Write([]byte{'.'})
	}
}

func TestSARIFSurvivesAKill(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	random := mrand.New(mrand.NewPCG(1, 2))
	for range 12 {
		path := filepath.Join(t.TempDir(), "out.sarif")
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), killedWriter+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		told := 1 + random.IntN(400)
		_, err = io.CopyN(io.Discard, out, int64(told))
		cmd.Process.Kill()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if n := len(validSARIF(t, read(t, path)).Runs[0].Results); n < told {
			t.Fatalf("%d results of %d that were written", n, told)
		}
	}
}

// A folder that holds the file but takes no other: the document grows in place.
func TestSARIFInAFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out.sarif")
	for _, size := range []int{0, 1, 100, 500} {
		if err := os.WriteFile(path, []byte(strings.Repeat("old", 100_000)), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := open(path)
		if err != nil {
			t.Fatal(err)
		}
		d := &paged{file: file, path: filepath.Join(path, "no folder"), at: 1, text: []byte("\n]\n")}
		if err := d.rewrite(strings.NewReader("["), firstRoom); err != nil {
			t.Fatal(err)
		}
		for i := range size {
			text, _ := json.Marshal(strings.Repeat("x", i*7%1500))
			if i > 0 {
				text = append([]byte(","), text...)
			}
			if err := d.add(text); err != nil {
				t.Fatal(err)
			}
			if i%50 == 0 && !json.Valid(read(t, path)) {
				t.Fatalf("not JSON after %d of %d", i, size)
			}
		}
		if err := d.end([]byte("\n ]\n")); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(read(t, path)) {
			t.Fatal("not JSON with another end")
		}
		if err := d.finish([]byte("]")); err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := json.Unmarshal(read(t, path), &got); err != nil || len(got) != size {
			t.Fatalf("%d of %d: %v", len(got), size, err)
		}
	}
}

// 100,000 findings: what the run keeps is a fingerprint for each result.
func TestMemoryIsFlat(t *testing.T) {
	s, err := Open(Options{JSON: filepath.Join(t.TempDir(), "out.jsonl"), SARIF: filepath.Join(t.TempDir(), "out.sarif"), Rules: testRules})
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	for i := range 100_000 {
		f := ansi(i)
		f.Snippet = rand.Text()
		s.Report(f)
	}
	if grown := heap() - before; grown > 6<<20 {
		t.Errorf("the heap has grown by %d KiB", grown>>10)
	}
	if err := s.Close(Summary{}); err != nil {
		t.Fatal(err)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkSARIF(b *testing.B) {
	s, err := Open(Options{SARIF: filepath.Join(b.TempDir(), "out.sarif"), Rules: testRules})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%MaxResults == MaxResults-1 {
			b.StopTimer()
			s.Close(Summary{})
			if s, err = Open(Options{SARIF: filepath.Join(b.TempDir(), "out.sarif"), Rules: testRules}); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		s.Report(ansi(i))
	}
}

func BenchmarkJSONL(b *testing.B) {
	s, err := Open(Options{JSON: filepath.Join(b.TempDir(), "out.jsonl")})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Report(ansi(i))
	}
}
