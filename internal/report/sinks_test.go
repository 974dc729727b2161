package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A sink that cannot be opened is an error before anything starts, and leaves
// no file open behind it.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, o := range map[string]Options{
		"a folder":      {JSON: dir},
		"no folder":     {JSON: filepath.Join(dir, "none", "x")},
		"SARIF as well": {JSON: filepath.Join(dir, "x"), SARIF: dir},
		"one for both":  {JSON: filepath.Join(dir, "x"), SARIF: filepath.Join(dir, "x")},
	} {
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNewFilesAreTheUsersOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options{JSON: filepath.Join(dir, "new.jsonl"), SARIF: filepath.Join(dir, "new.sarif")}
	kept := Options{JSON: filepath.Join(dir, "old.jsonl"), SARIF: filepath.Join(dir, "old.sarif")}
	for _, path := range []string{kept.JSON, kept.SARIF} {
		if err := os.WriteFile(path, []byte("what was there before"), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []Options{o, kept} {
		s, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Report(ansi(1))
		if err := s.Close(Summary{}); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(append(read(t, o.JSON), read(t, o.SARIF)...), []byte("before")) {
			t.Error("the old content is still there")
		}
	}
	if os.PathSeparator == '\\' {
		return // no modes there
	}
	for path, want := range map[string]os.FileMode{o.JSON: 0o600, o.SARIF: 0o600, kept.JSON: 0o640, kept.SARIF: 0o640} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The file a link points to is written; the link stays.
func TestSARIFThroughALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, target := filepath.Join(dir, "link.sarif"), filepath.Join(dir, "target.sarif")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target.sarif", link); err != nil {
		t.Skip(err)
	}
	s, err := Open(Options{SARIF: link})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(Summary{}); err != nil {
		t.Fatal(err)
	}
	validSARIF(t, read(t, target))
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
}

// failing is an output that fails from some finding on.
type failing struct {
	after   int
	dropped bool
	closed  bool
}

var errDisk = errors.New("no space left")

func (f *failing) write(*Finding) error {
	if f.after--; f.after < 0 {
		return errDisk
	}
	return nil
}

func (f *failing) close(Summary, *tally) error { f.closed = true; return nil }

func (f *failing) drop() { f.dropped = true }

// An output that fails is told once and left alone; the others go on.
func TestAFailureIsToldOnce(t *testing.T) {
	t.Parallel()
	var notes []string
	bad, good := &failing{after: 1}, &failing{after: 100}
	s := &Sinks{note: func(n string) { notes = append(notes, n) }, tally: newTally(), sinks: []*sink{{path: "bad", to: bad}, {path: "good", to: good}}}
	for i := range 5 {
		s.Report(ansi(i))
	}
	err := s.Close(Summary{})
	if !errors.Is(err, errDisk) || !slices.Equal(notes, []string{"bad is not written any more: no space left"}) {
		t.Errorf("%v, notes %q", err, notes)
	}
	if !bad.dropped || bad.closed || good.dropped || !good.closed || good.after != 95 {
		t.Errorf("bad %+v, good %+v", bad, good)
	}
}

// Two directions report at the same time.
func TestReportFromSeveralGoroutines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := Options{JSON: filepath.Join(dir, "x.jsonl"), SARIF: filepath.Join(dir, "x.sarif"), Rules: testRules}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 50 {
				s.Report(ansi(n*50 + i))
			}
		})
	}
	all.Wait()
	if err := s.Close(Summary{}); err != nil {
		t.Fatal(err)
	}
	if n := len(validSARIF(t, read(t, o.SARIF)).Runs[0].Results); n != 200 {
		t.Errorf("%d results", n)
	}
	if n := bytes.Count(read(t, o.JSON), []byte{'\n'}); n != 201 {
		t.Errorf("%d lines", n)
	}
}

func ExampleOpen() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	s, err := Open(Options{JSON: filepath.Join(dir, "findings.jsonl"), Note: func(text string) { fmt.Println("note:", text) }})
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Report(Finding{RuleID: "WRD-RES-URL", Severity: Low, Tier: "note", Action: Passed, Direction: "s2c", Tool: "search", Message: "a URL"})
	if err := s.Close(Summary{Frames: 1}); err != nil {
		fmt.Println(err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "findings.jsonl"))
	fmt.Printf("%s", text)
	// Output:
	// {"kind":"result-finding","rule_id":"WRD-RES-URL","level":"note","severity":"low","tier":"note","action":"passed","direction":"s2c","tool":"search","message":"a URL"}
	// {"kind":"run-summary","frames_inspected":1,"findings":1,"inject_phrase_findings":0,"actions":{"passed":1},"rules":{"WRD-RES-URL":1}}
}
