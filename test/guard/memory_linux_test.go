package guard

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// A session may last for days: what it holds does not grow with the calls that
// it has seen, each with a finding and on record, nor do its open files.
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("20,000 calls")
	}
	dir := t.TempDir()
	r := harness.NewRecording(t, dir)
	a := answers{"m": textResult(`"a` + ansi + `b ` + phrase + `"`), "b": textResult(`"` + token + `"`)}
	s := startScript(t, dir, serverScript{Answers: a}, "--json", "@f.jsonl", "--sarif", "@f.sarif", "--record", "@t.jsonl", "--audit", r.Path, "--signing-key", r.Key)
	id := 0
	run := func(calls int) {
		const window = 100
		for range calls / window {
			var frames []string
			for range window {
				id++
				frames = append(frames, call(fmt.Sprint(id), []string{"m", "b"}[id%2]))
			}
			s.send(frames...)
			for range window {
				s.next()
			}
		}
	}
	run(4000)
	early, files := s.resident(), s.openFiles()
	run(16_000)
	late := s.resident()
	bound := 24 << 10 // KiB
	if harness.AsTests {
		bound *= 5 // the race detector keeps shadows
	}
	t.Logf("resident after 4,000 calls %d KiB, after 20,000 %d KiB; %d files", early, late, files)
	if late-early > bound {
		t.Errorf("16,000 calls more hold %d KiB more", late-early)
	}
	if now := s.openFiles(); now != files {
		t.Errorf("%d open files, and %d after 16,000 calls more", files, now)
	}
	if _, code := s.finish(); code != 0 {
		t.Errorf("exit %d: %s", code, s.stderr.String())
	}
}

// resident is VmRSS of proc(5), in KiB.
func (s *session) resident() (kib int) {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	must(s.t, err)
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		s.t.Fatal(err)
	}
	return kib
}

func (s *session) openFiles() int {
	s.t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	must(s.t, err)
	return len(entries)
}
