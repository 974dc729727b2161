package interop

import (
	"path/filepath"
	"testing"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// realServer is a server as npm installs it.
type realServer struct {
	name string // also of its scenario
	args func(work string) []string
	env  func(work string) []string
}

func none(string) []string { return nil }

var realServers = []realServer{
	{"everything", none, none},
	{"filesystem", func(work string) []string { return []string{work} }, none},
	{"memory", none, func(work string) []string {
		return []string{"MEMORY_FILE_PATH=" + filepath.Join(work, "memory.jsonl")}
	}},
}

func (s realServer) argv(t *testing.T, work string) []string {
	t.Helper()
	dist, err := filepath.Abs(filepath.FromSlash("node_modules/@modelcontextprotocol/server-" + s.name + "/dist/index.js"))
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"node", dist}, s.args(work)...)
}

var clients = []struct {
	name string
	play func(t *testing.T, scenario, work string, argv, env []string) transcript
}{
	{"go", func(t *testing.T, scenario, work string, argv, env []string) transcript {
		return playGo(t, scenario, work, stateful, argv, env)
	}},
	{"typescript", playTypeScript},
}

// A real server behind wrap is, to a real client, the server itself; and the
// record holds every call of the session.
func TestRealServersThroughWrap(t *testing.T) {
	needNPM(t)
	for _, server := range realServers {
		for _, client := range clients {
			t.Run(server.name+"/"+client.name, func(t *testing.T) {
				t.Parallel()
				work := filepath.Join(t.TempDir(), "work")
				steps := loadScenario(t, server.name, work)
				play := func(r route) (transcript, *session) {
					s := newSession(t, work)
					return client.play(t, server.name, work, r.build(t, s, server.argv(t, work)), server.env(work)), s
				}

				without, _ := play(direct)
				without.meets(t, steps)

				through, s := play(wrapped)
				through.equals(t, "wrapped", without)
				s.MustVerify(t)
				s.endedInOrder(t)
				if got, want := len(harness.Calls(t, s.Lines(t))), calls(steps); got != want {
					t.Errorf("%d calls are on record, the client made %d", got, want)
				}

				through, s = play(tapped)
				through.equals(t, "tapped", without)
				s.taps.passedUnchanged(t)
				s.endedInOrder(t)
				unanswered := 0
				for _, call := range s.recordsWhatPassed(t) {
					if call.Outcome.ResponseDigest == "" {
						unanswered++
					}
				}
				if unanswered != cancels(steps) {
					t.Errorf("%d calls are without an answer, %d were cancelled", unanswered, cancels(steps))
				}
			})
		}
	}
}
