package confine

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// onKernel are the facts on a kernel with this Landlock ABI where all went well.
func onKernel(abi, errata int) *facts {
	l := LandlockFacts{ABI: abi, Errata: errata}
	switch {
	case abi == 0:
		l.Fault = "this kernel is built without Landlock"
	case abi >= devicesABI:
		l.HandledFS = 1<<16 - 1
	default:
		l.HandledFS = 1<<15 - 1
	}
	if abi >= signalsABI && errata&2 != 0 {
		l.Scoped = landlockScopeSignal
	}
	return &facts{Landlock: l}
}

// What each kernel comes to, and whether the server starts there.
func TestJudgement(t *testing.T) {
	gone := onKernel(7, 3)
	gone.Landlock.Missing = []string{"/gone (no such file or directory)"}
	fault := func(change func(*facts)) *facts { f := onKernel(7, 3); change(f); return f }
	for _, c := range []struct {
		name    string
		f       *facts
		level   Level
		not     string // controls that are not enforced
		refused string
	}{
		{"no Landlock", onKernel(0, 0), LevelPartial, "files devices signals", "files: this kernel is built without Landlock"},
		{"Linux 5.13", onKernel(1, 0), LevelPartial, "files devices signals", "files: this kernel has Landlock ABI 1; below 3 truncate(2) empties files that were not granted"},
		{"Linux 6.1", onKernel(2, 0), LevelPartial, "files devices signals", "files: this kernel has Landlock ABI 2; below 3 truncate(2) empties files that were not granted"},
		{"Linux 6.2", onKernel(3, 0), LevelPartial, "devices signals", ""},
		{"Linux 6.7", onKernel(4, 0), LevelPartial, "devices signals", ""},
		{"Linux 6.10", onKernel(5, 0), LevelPartial, "signals", ""},
		{"Linux 6.12 as it came", onKernel(6, 1), LevelPartial, "signals", ""},
		{"Linux 6.12 mended", onKernel(6, 3), LevelFull, "", ""},
		{"Linux 6.15", onKernel(7, 3), LevelFull, "", ""},
		{"a later one", onKernel(12, 0xff), LevelFull, "", ""},
		{"no seccomp", fault(func(f *facts) { f.Seccomp = "none" }), LevelPartial, "network syscalls", "network: none; syscalls: none"},
		{"capabilities stay", fault(func(f *facts) { f.Capability = "no" }), LevelPartial, "capabilities", "capabilities: no"},
		{"privileges stay", fault(func(f *facts) { f.Privileges = "no" }), LevelPartial, "privileges", "privileges: no"},
		{"descriptors stay", fault(func(f *facts) { f.Descriptors = "no" }), LevelPartial, "descriptors", "descriptors: no"},
		{"nothing at all", fault(func(f *facts) { f.Seccomp, f.Landlock = "no", LandlockFacts{Fault: "no"} }), LevelNone, "files network syscalls devices signals", "files: no; network: no; syscalls: no"},
		{"a path is gone", gone, LevelPartial, "", "a granted path could not be opened: /gone (no such file or directory)"},
	} {
		r := newReport(&Plan{}, c.f)
		var not []string
		for _, control := range r.Controls {
			if !control.Enforced {
				not = append(not, control.Name)
			}
		}
		if r.Level != c.level || strings.Join(not, " ") != c.not {
			t.Errorf("%s: %s, not enforced %v", c.name, r.Level, not)
		}
		if got := strings.Join(c.f.refusal(), "; "); got != c.refused {
			t.Errorf("%s: refused: %s", c.name, got)
		}
		if r.LandlockFullyEnforced && slices.Contains(not, ControlFiles) || r.SeccompNetworkDenied == slices.Contains(not, ControlNetwork) {
			t.Errorf("%s: the short members say otherwise: %s", c.name, r.JSON())
		}
	}
}

// Whatever the facts: a level never claims more than its controls, and what is
// not enforced says why.
func TestReportNeverClaimsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "", "a fault"})
		f := &facts{
			Seccomp: text.Draw(t, "seccomp"), Privileges: text.Draw(t, "privileges"), Descriptors: text.Draw(t, "descriptors"), Capability: text.Draw(t, "capability"),
			Landlock: LandlockFacts{
				ABI: rapid.IntRange(0, 10).Draw(t, "abi"), Errata: rapid.IntRange(0, 7).Draw(t, "errata"),
				HandledFS: rapid.Uint64Range(0, 1<<17-1).Draw(t, "handled"), Scoped: rapid.Uint64Range(0, 3).Draw(t, "scoped"), Fault: text.Draw(t, "landlock"),
			},
		}
		r := newReport(&Plan{}, f)
		all := true
		for _, c := range r.Controls {
			if !c.Enforced && c.Why == "" {
				t.Fatalf("%s is not enforced, and nothing says why", c.Name)
			}
			all = all && c.Enforced
		}
		if (r.Level == LevelFull) != all {
			t.Fatalf("level %s of %+v", r.Level, r.Controls)
		}
		if len(f.refusal()) == 0 && r.Level == LevelNone {
			t.Fatal("a server would start with nothing enforced")
		}
		if brief := r.Brief(); brief.Level != string(r.Level) || brief.Controls != nil {
			t.Fatalf("the outcome says %+v", brief)
		}
	})
}
