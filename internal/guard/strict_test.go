package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/interpose"
)

// What a fault holds, and what the result holds that it came of: neither may
// come out anywhere.
const (
	faultText  = "a panic with ghp_" + "Qm31kQpWm3NvBt6LsYc9RfHd2JgAe7Tu0XoI in it"
	resultText = "the text of a result that nobody could inspect"
)

// faults makes the catalog fail at the nth string and those behind it.
func faults(nth int) inspect.Options {
	n := 0
	return inspect.Options{Fault: func() {
		if n++; n >= nth {
			panic(faultText)
		}
	}}
}

// replies is the file that the server `reply` reads from.
func replies(t testing.TB, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "replies")
	must(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

// wantNothingOf checks that nothing of these texts is in any output.
func (s *session) wantNothingOf(texts ...string) {
	s.t.Helper()
	for what, said := range s.outputs() {
		for _, text := range texts {
			if strings.Contains(said, text) {
				s.t.Errorf("%s has %q: %.400s", what, text, said)
			}
		}
	}
}

// A rule that fails lets its frame pass, byte for byte, and says so. The next
// frame is inspected again.
func TestAFailedRulePasses(t *testing.T) {
	odd := ` {"jsonrpc":"2.0", "id":%ID%,"result":{"content":[{"type":"text","text":"` + resultText + `"}],"n":1.50e1}} ` + "\r"
	for _, posture := range []Posture{{}, {RedactSecrets: true}, {AuditOnly: true}} {
		s := start(t, server("reply", replies(t, odd, odd)), setup{catalog: faults(1), posture: posture})
		for _, id := range []string{"1", `"\u0032"`} {
			s.send(call(id, "t"))
			if got, want := s.next(), strings.ReplaceAll(odd, "%ID%", id); got != want {
				t.Errorf("the client got\n%q, want\n%q", got, want)
			}
		}
		s.stdin.Close()
		if err := s.wait(); err != nil {
			t.Error(err)
		}
		findings := s.outputs()["the findings"]
		if n := strings.Count(findings, `"rule_id":"WRD-RES-FRAME-ERROR"`); n != 2 {
			t.Errorf("%d findings of two frames that could not be inspected: %s", n, findings)
		}
		if !strings.Contains(s.record(), `"findings":[{"action":"passed","rule":"WRD-RES-FRAME-ERROR"}]`) {
			t.Errorf("the record does not say that the frame was not inspected: %s", s.record())
		}
		s.wantNothingOf("panic with", "ghp_Qm31", "nobody could inspect")
	}
}

// Under --strict it ends the session: the frame does not pass, nor does any
// behind it, and every open request is answered once, by -32003.
func TestAFailedRuleEndsAStrictSession(t *testing.T) {
	for _, tc := range []struct {
		name, says string
		nth        int
		passed     int // answers that came before
	}{
		{"a frame", textAnswer("2", resultText), 1, 0},
		{"the third of a batch", "[" + textAnswer("1", "a") + "," + textAnswer("2", "b") + "," + textAnswer(`"p"`, resultText) + "]", 1, 0},
		{"a frame behind another", textAnswer("1", "a") + "%LF%" + textAnswer("2", resultText) + "%LF%" + textAnswer("4", "late"), 0, 1},
		{"an answer to nobody", textAnswer("99", resultText), 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			nth := tc.nth
			if tc.passed > 0 {
				nth = stringsIn(t, textAnswer("1", "a")) + 1
			}
			s := start(t, server("reply", replies(t, "{}", "{}", "{}", tc.says)), setup{
				catalog: faults(nth),
				adjust:  func(c *interpose.Config) { c.Strict = true },
			})
			s.send(call("1", "t"), call("2", "t"), "["+strings.TrimSuffix(ping(`"p"`), "\n")+"]\n", call("4", "t"))
			lines := slices.DeleteFunc(s.rest(), func(line string) bool { return line == "{}" })
			if len(lines) < tc.passed {
				t.Fatalf("the client got %q", lines)
			}
			for _, line := range lines[tc.passed:] {
				if !strings.Contains(line, `"error":{"code":-32003,`) || !strings.Contains(line, `"data":{"warden":true,"stage":"strict_abort","rule":"WRD-RES-FRAME-ERROR"`) {
					t.Errorf("the client got %s", line)
				}
			}
			for _, id := range []string{"1", "2", `"p"`, "4"} {
				if n := strings.Count(strings.Join(lines, "\n"), `"id":`+id+`,`); n != 1 {
					t.Errorf("%s is answered %d times in\n%s", id, n, strings.Join(lines, "\n"))
				}
			}
			if err := s.wait(); !isAbort(err) || strings.Contains(err.Error(), "panic") {
				t.Errorf("the session ended with %v", err)
			}
			if strings.Contains(strings.Join(lines, "\n"), resultText) {
				t.Errorf("the client got what could not be inspected: %q", lines)
			}
			s.wantNothingOf("panic with", "ghp_Qm31", "nobody could inspect")
			if findings := s.outputs()["the findings"]; !strings.Contains(findings, `"rule_id":"WRD-RES-FRAME-ERROR"`) {
				t.Errorf("findings %s", findings)
			}
		})
	}
}

// stringsIn is how many strings of a frame the catalog inspects.
func stringsIn(t testing.TB, frame string) (n int) {
	t.Helper()
	c, err := inspect.New(inspect.Options{Fault: func() { n++ }})
	must(t, err)
	c.Inspect([]byte(frame), inspect.Declaration{}, inspect.Posture{})
	return n
}

// panics is a Decider that fails at one tool, with the call in its hands.
type panics struct{ allows }

func (p panics) Decide(calls []interpose.ToolCall, verdicts []interpose.Verdict) (aar.PolicySetHash, error) {
	for _, c := range calls {
		if c.Tool == "bad" {
			panic(fmt.Sprintf("%s: %s", faultText, c.Arguments))
		}
	}
	return p.allows.Decide(calls, verdicts)
}

// A policy that fails refuses, and its calls only.
func TestAFailedDecisionRefuses(t *testing.T) {
	s := start(t, server("reply", replies(t, textAnswer("%ID%", "a"), textAnswer("%ID%", "b"))), setup{decider: panics{}})
	bad := strings.Replace(call("1", "bad"), "{}", `{"key":"`+resultText+`"}`, 1)
	s.send(bad)
	if got := s.next(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,`) || !strings.Contains(got, `"stage":"request"`) || strings.Contains(got, "ghp_") {
		t.Errorf("the client got %s", got)
	}
	s.send("[" + strings.TrimSuffix(call("2", "fine"), "\n") + "," + strings.TrimSuffix(bad, "\n") + "]\n")
	if got := s.next(); strings.Count(got, `"code":-32001`) != 2 {
		t.Errorf("the client got %s", got)
	}
	s.send(call("3", "fine"))
	if got := s.next(); got != textAnswer("3", "a") {
		t.Errorf("the client got %s", got)
	}
	s.stdin.Close()
	if err := s.wait(); err != nil {
		t.Error(err)
	}
	if findings := s.outputs()["the findings"]; strings.Count(findings, `"rule_id":"WRD-RES-FRAME-ERROR"`) != 2 {
		t.Errorf("findings %s", findings)
	}
	s.wantNothingOf("panic with", "ghp_Qm31", "nobody could inspect")
}

func TestAFailedDecisionEndsAStrictSession(t *testing.T) {
	s := start(t, server("reply", replies(t, "")), setup{decider: panics{}, adjust: func(c *interpose.Config) { c.Strict = true }})
	s.send(ping(`"p"`))
	if got := s.next(); got != "" {
		t.Fatalf("the client got %s", got)
	}
	s.send("[" + strings.TrimSuffix(call("1", "fine"), "\n") + "," + strings.TrimSuffix(call("2", "bad"), "\n") + "]\n")
	lines := s.rest()
	slices.Sort(lines)
	if len(lines) != 3 {
		t.Fatalf("the client got %q", lines)
	}
	for i, id := range []string{`"p"`, "1", "2"} {
		if !strings.HasPrefix(lines[i], `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32003,`) {
			t.Errorf("the client got %s, want -32003 to %s", lines[i], id)
		}
	}
	if err := s.wait(); !isAbort(err) {
		t.Errorf("the session ended with %v", err)
	}
	s.wantNothingOf("panic with", "ghp_Qm31")
	if strings.Count(s.record(), `"line_type":"outcome"`) != 2 || strings.Contains(s.record(), `"status":"success"`) {
		t.Errorf("the record: %s", s.record())
	}
}

// A lock that fails at a page lets it pass, and ends a strict session.
type brokenSurface struct{}

func (brokenSurface) Declaration(string) inspect.Declaration { panic(faultText) }
func (brokenSurface) Page([]byte, string) ([]Drift, error)   { panic(faultText) }

func TestAFailedLock(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"
	page := `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`
	t.Run("passes", func(t *testing.T) {
		s := start(t, server("reply", replies(t, page, textAnswer("2", "x"))), setup{surface: brokenSurface{}})
		s.send(list)
		if got := s.next(); got != page {
			t.Errorf("the client got %s", got)
		}
		s.send(call("2", "t"))
		if got := s.next(); got != textAnswer("2", "x") {
			t.Errorf("the client got %s", got)
		}
		s.stdin.Close()
		s.wait()
		s.wantNothingOf("panic with", "ghp_Qm31")
	})
	t.Run("ends a strict session", func(t *testing.T) {
		s := start(t, server("reply", replies(t, page)), setup{surface: brokenSurface{}, adjust: func(c *interpose.Config) { c.Strict = true }})
		s.send(list)
		if lines := s.rest(); len(lines) != 1 || !strings.Contains(lines[0], `"code":-32003`) {
			t.Errorf("the client got %q", lines)
		}
		if err := s.wait(); !isAbort(err) {
			t.Errorf("the session ended with %v", err)
		}
		s.wantNothingOf("panic with", "ghp_Qm31")
	})
}
