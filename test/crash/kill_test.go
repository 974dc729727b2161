//go:build linux

package crash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

const (
	killRounds = 200
	killSeed   = 20260728
)

// kill -9 at any point leaves a record that is neither tampered with nor
// unreadable, and that has the intent of every call the server ever saw and the
// outcome of every answer the client ever got.
func TestKilledSession(t *testing.T) {
	keyed := harness.NewRecording(t, t.TempDir())
	for round := range killRounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(killSeed, uint64(round)))
			rec := keyed.Beside(t.TempDir())
			if round%2 == 0 {
				killWrap(t, rec, random)
			} else {
				killServer(t, rec, random)
			}
		})
	}
}

func killWrap(t *testing.T, rec *harness.Recording, random *rand.Rand) {
	s := start(t, rec, t.TempDir(), "stubborn", random.Uint64())
	untilRandomPoint(s, random)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The server holds the other end of nothing: wrap's stdout ends with wrap.
	if code := s.end(); code != -1 {
		t.Fatalf("wrap exited with %d before it was killed\n%s", code, &s.stderr)
	}
	gone(t, s.dir, 2*time.Second)

	if !rec.Exists() {
		if n := len(s.received()); n > 0 {
			t.Errorf("the server received %d calls and there is no record", n)
		}
		return
	}
	before := rec.Verify(t)
	if before.Exit != 3 {
		t.Fatalf("verify: exit %d, want 3 for a record that just stops\n%s%s", before.Exit, before.Stdout, before.Stderr)
	}
	recordsAll(t, s, rec.Lines(t))
	chainsOnOrRefuses(t, rec, before)
}

func killServer(t *testing.T, rec *harness.Recording, random *rand.Rand) {
	s := start(t, rec, t.TempDir(), "stubborn", random.Uint64())
	pid := s.awaitPID()
	untilRandomPoint(s, random)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := s.end(); code != 128+9 {
		t.Errorf("wrap exited with %d, want 137 for a server that was killed\n%s", code, &s.stderr)
	}

	before := rec.MustVerify(t)
	lines := rec.Lines(t)
	recordsAll(t, s, lines)
	harness.Calls(t, lines) // also of those that were in flight
	if last := lines[len(lines)-1]; last.Child == nil || last.Child.Signal != "SIGKILL" {
		t.Errorf("the record ends with %+v, want a close line that names SIGKILL", last)
	}
	chainsOnOrRefuses(t, rec, before)
}

// untilRandomPoint keeps calling until a random number of answers has come, and
// a moment longer.
func untilRandomPoint(s *session, random *rand.Rand) {
	s.t.Helper()
	answers, moment := random.IntN(60), time.Duration(random.IntN(3000))*time.Microsecond
	if random.IntN(4) == 0 { // while it starts, most likely
		answers, moment = 0, time.Duration(random.IntN(40_000))*time.Microsecond
	}
	told := make(chan struct{})
	go s.keepCalling(rand.New(rand.NewPCG(random.Uint64(), 0)), told)
	for range answers {
		s.await(told, "an answer")
	}
	time.Sleep(moment) // the randomness, not a wait
}

// recordsAll fails the test unless the lines have an intent for every call that
// the server received and an outcome for every answer that the client got.
func recordsAll(t *testing.T, s *session, lines []harness.Line) {
	t.Helper()
	intents, outcomes := map[string]bool{}, map[string]bool{}
	for _, line := range lines {
		switch line.Type {
		case "intent":
			intents[line.RequestDigest] = true
		case "outcome":
			outcomes[line.ResponseDigest] = true
		}
	}
	for _, digest := range s.received() {
		if !intents[digest] {
			t.Errorf("the server received call %s, which has no intent on record", digest)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, digest := range s.answers {
		if !outcomes[digest] {
			t.Errorf("the client got answer %s, which has no outcome on record", digest)
		}
	}
}

// chainsOnOrRefuses fails the test unless a new session on the same file either
// works, and leaves a record that verifies as a whole, or is refused because the
// last line is torn.
func chainsOnOrRefuses(t *testing.T, rec *harness.Recording, before harness.Verdict) {
	t.Helper()
	torn := strings.Contains(before.Stdout, "torn")
	held := len(rec.Lines(t))
	s := start(t, rec, t.TempDir(), "polite", 1)
	if torn {
		refusedAsTorn(t, s)
		return
	}
	if err := s.call(1, 2, 3); err != nil {
		t.Fatal(err)
	}
	s.await(s.got, "an answer in the session after")
	s.stdin.Close()
	if code := s.end(); code != 0 {
		t.Errorf("the session after ended with %d\n%s", code, &s.stderr)
	}
	rec.MustVerify(t)
	if calls := harness.Calls(t, rec.Lines(t)[held:]); len(calls) != 3 {
		t.Errorf("the session after has %d calls on record, want 3", len(calls))
	}
}

func refusedAsTorn(t *testing.T, s *session) {
	t.Helper()
	if code := s.end(); code != 1 || !strings.Contains(s.stderr.String(), "torn final line") {
		t.Errorf("a session on a torn record ended with %d\n%s", code, &s.stderr)
	}
	if _, err := os.Stat(s.logPath()); err == nil {
		t.Error("the server was started all the same")
	}
}

// A kill in the middle of a write leaves the last line torn, wherever the cut
// falls. That is seldom hit by chance, so here it is made.
func TestTornRecord(t *testing.T) {
	rec := harness.NewRecording(t, t.TempDir())
	s := start(t, rec, t.TempDir(), "polite", 1)
	if err := s.call(1); err != nil {
		t.Fatal(err)
	}
	s.await(s.got, "an answer")
	s.stdin.Close()
	if code := s.end(); code != 0 {
		t.Fatalf("the session ended with %d\n%s", code, &s.stderr)
	}
	whole, err := os.ReadFile(rec.Path)
	if err != nil {
		t.Fatal(err)
	}
	last := strings.LastIndexByte(strings.TrimSuffix(string(whole), "\n"), '\n') + 1

	for _, cut := range []int{last + 1, last + 2, (last + len(whole)) / 2, len(whole) - 2} {
		torn := rec.Beside(t.TempDir())
		if err := os.WriteFile(torn.Path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if v := torn.Verify(t); v.Exit != 3 || !strings.Contains(v.Stdout, "torn write") {
			t.Errorf("cut at %d of %d: verify: exit %d\n%s", cut, len(whole), v.Exit, v.Stdout)
		}
		s := start(t, torn, t.TempDir(), "polite", 1)
		refusedAsTorn(t, s)
		for _, part := range []string{"line 4", fmt.Sprintf("whole up to byte %d", last), fmt.Sprintf("truncate -s %d", last)} {
			if !strings.Contains(s.stderr.String(), part) {
				t.Errorf("cut at %d: the refusal does not say %q: %s", cut, part, &s.stderr)
			}
		}
		if now, err := os.ReadFile(torn.Path); err != nil || !slices.Equal(now, whole[:cut]) {
			t.Errorf("cut at %d: the torn record was changed", cut)
		}
		// The way out that it names leaves a record to chain onto.
		if err := os.Truncate(torn.Path, int64(last)); err != nil {
			t.Fatal(err)
		}
		chainsOnOrRefuses(t, torn, torn.Verify(t))
	}

	// Only the LF is missing: the line is whole, and the session chains on.
	rec = rec.Beside(t.TempDir())
	if err := os.WriteFile(rec.Path, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	chainsOnOrRefuses(t, rec, rec.MustVerify(t))
}
